//! Tests of launchers on Linux; see `main.rs`.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirEntryExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use libtest_mimic::{Arguments, Failed, Trial};
use platform::process::control_group::ControlGroup;
use systems::{Running, System, SystemError, SystemsFile};

use crate::docker;

/// Variable with the file of systems, set for a copy of this test that starts a system and waits to be killed.
const STARTER: &str = "OSCOST_TEST_STARTER";
/// The path of the dynamic linker in a program.
const LINKER: &str = if cfg!(target_arch = "aarch64") {
    "/lib/ld-linux-aarch64.so.1"
} else {
    "/lib64/ld-linux-x86-64.so.2"
};
/// Time limit for a system's answer.
const LONGEST: Duration = Duration::from_secs(120);

/// Runs the tests, or the task of a copy of this program.
pub fn main() -> ExitCode {
    if let Some(file) = std::env::var_os(STARTER) {
        return start_and_wait(Path::new(&file));
    }
    // SAFETY: no thread was started yet.
    unsafe { docker::use_own_daemon() };
    let launchers =
        ["native", "command", "chroot", "bwrap", "gvisor", "uml", "qemu", "podman", "docker"];
    let exchanges = launchers.into_iter().chain(["console"]).map(|name| {
        Trial::test(format!("{name}_exchanges_lines_and_leaves_nothing"), move || {
            exchange(name, Linkage::Static)
        })
    });
    let kills = launchers
        .into_iter()
        .map(|name| Trial::test(format!("{name}_leaves_nothing_after_a_kill"), move || kill(name)));
    let mut tests: Vec<Trial> = exchanges.chain(kills).collect();
    for name in ["chroot", "bwrap"] {
        tests.push(Trial::test(format!("{name}_covers_the_linker_of_its_directory"), move || {
            cover(name)
        }));
    }
    tests.push(Trial::test("ssh_copies_the_program_once_and_leaves_nothing_else", over_ssh));
    tests.push(Trial::test("the_last_words_are_the_errors", last_words));
    tests.push(Trial::test("what_cannot_start_says_why", cannot_start));
    let mut arguments = Arguments::from_args();
    // Tests run one at a time: on two CPUs, a virtual machine and another one beside it are slower than both in turn.
    arguments.test_threads = Some(1);
    let conclusion = libtest_mimic::run(&arguments, tests);
    if IMAGE.get() == Some(&true) {
        let _ = Command::new("podman").args(["rmi", IMAGE_NAME]).output();
    }
    docker::end();
    conclusion.exit_code()
}

/// How a program is linked.
#[derive(Clone, Copy)]
enum Linkage {
    Static,
    Libraries,
}

/// The program, compiled once; the reason if it cannot be compiled.
fn agent(linkage: Linkage) -> Result<&'static Path, String> {
    static AGENTS: [OnceLock<Result<PathBuf, String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let compile = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent.c");
        let (name, options) = match linkage {
            Linkage::Static => ("agent", &["-static"][..]),
            // A library besides the C library, which the program does not use.
            Linkage::Libraries => ("agent-linked", &["-Wl,--no-as-needed", "-lm"][..]),
        };
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let compiler = Command::new("gcc")
            .args([Path::new("-O1"), Path::new("-o"), &program, &source])
            .args(options)
            .output()
            .map_err(|e| format!("systems: gcc: {e}"))?;
        match compiler.status.success() {
            true => Ok(program),
            false => Err(format!("systems: gcc: {}", String::from_utf8_lossy(&compiler.stderr))),
        }
    };
    AGENTS[linkage as usize].get_or_init(compile).as_deref().map_err(Clone::clone)
}

/// A kernel image for QEMU, if there is one.
fn kernel() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("OSCOST_TEST_KERNEL") {
        return Some(PathBuf::from(path));
    }
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kernels");
    let entries = std::fs::read_dir(kernels).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.to_string_lossy().contains("vmlinuz")).min()
}

/// Whether podman could make the image; empty until it was tried.
static IMAGE: OnceLock<bool> = OnceLock::new();
const IMAGE_NAME: &str = "localhost/oscost-test-empty";

/// An empty image; `None` if podman cannot make one.
fn image() -> Option<&'static str> {
    let made = IMAGE.get_or_init(|| {
        let empty = tempfile::tempdir().expect("a directory");
        let archive = empty.path().join("empty.tar");
        // A tar archive ends with two blocks of zeros.
        std::fs::write(&archive, [0; 10_240]).expect("a file");
        let import = Command::new("podman").arg("import").arg(&archive).arg(IMAGE_NAME).output();
        import.is_ok_and(|output| output.status.success())
    });
    made.then_some(IMAGE_NAME)
}

/// The text of a file of systems with the system `name`; the reason if it cannot be tested here.
fn description(name: &str, linkage: Linkage, directory: &Path) -> Result<String, String> {
    let agent = agent(linkage)?.display();
    let root = testing::is_root();
    let text = match name {
        "native" => format!("launcher = 'native'\nbinary = '{agent}'\n"),
        "command" => {
            format!("launcher = 'command'\nline = 'env A=b {{oscost}} agent'\nbinary = '{agent}'\n")
        }
        "chroot" | "gvisor" if !root => return Err(format!("root: needed by {name}")),
        "chroot" => {
            let inside = directory.join("root");
            std::fs::create_dir_all(inside.join("proc")).map_err(|e| e.to_string())?;
            format!("launcher = 'chroot'\ndirectory = '{}'\nbinary = '{agent}'\n", inside.display())
        }
        "qemu" | "console" => {
            let kernel = kernel()
                .ok_or("systems: qemu needs a kernel image: scripts/test-kernels fetches one")?;
            let channel = if name == "qemu" { "serial" } else { "console" };
            format!(
                "launcher = 'qemu'\nkernel = '{}'\nchannel = '{channel}'\nbinary = '{agent}'\nappend = 'quiet'\n",
                kernel.display()
            )
        }
        "podman" => {
            let image =
                image().ok_or("systems: podman is not installed, or cannot import an image")?;
            // Podman's usual limits exceed root's in some containers and machines, and crun refuses some cgroups.
            let limits = "'--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=1024:1024', '--runtime', 'runc'";
            format!(
                "launcher = 'podman'\nimage = '{image}'\nargs = [{limits}]\nbinary = '{agent}'\n"
            )
        }
        "docker" => {
            let image = docker::image()?;
            format!("launcher = 'docker'\nimage = '{image}'\nbinary = '{agent}'\n")
        }
        launcher => format!("launcher = '{launcher}'\nbinary = '{agent}'\n"),
    };
    Ok(format!("[{}]\n{text}", in_file(name)))
}

/// The name of a system in its file, where `native` cannot be given.
fn in_file(name: &str) -> &str {
    if name == "native" { "here" } else { name }
}

/// The system and its file of systems, if this machine can start it.
fn system(
    name: &str,
    linkage: Linkage,
    directory: &Path,
) -> Result<Option<(System, PathBuf)>, Failed> {
    let text = match description(name, linkage, directory) {
        Ok(text) => text,
        Err(why) => {
            testing::skip(&why);
            return Ok(None);
        }
    };
    let path = directory.join("systems.toml");
    std::fs::write(&path, text)?;
    let system = System::parse(in_file(name), &SystemsFile::read(&path)?)?;
    match system.check() {
        Err(SystemError::Missing { .. })
            if name == "gvisor" && std::env::var_os("OSCOST_TEST_NO_RUNSC").is_some() =>
        {
            testing::not_applicable("runsc could not be built");
            Ok(None)
        }
        Err(SystemError::Missing { program, remedy, .. }) => {
            testing::skip(&format!("systems: {name} needs {program}: {remedy}"));
            Ok(None)
        }
        checked => checked.map(|()| Some((system, path))).map_err(Failed::from),
    }
}

/// Lines of a system's output, read by a thread.
fn lines(
    running: &mut Running,
) -> impl FnMut(Duration) -> Result<String, RecvTimeoutError> + use<> {
    let output = running.take_output();
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
    move |limit| receiver.recv_timeout(limit)
}

/// Waits for a line that contains `text`; other lines may come before it, such as a console's.
fn await_line(
    next: &mut impl FnMut(Duration) -> Result<String, RecvTimeoutError>,
    text: &str,
    running: &mut Running,
) -> Result<(), Failed> {
    let began = Instant::now();
    while let Some(left) = LONGEST.checked_sub(began.elapsed()) {
        match next(left) {
            Ok(line) if line.contains(text) => return Ok(()),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Err(format!("no line {text:?}; its last error is {:?}", running.last_words()).into())
}

/// Pids of processes with `text` in their command line or environment.
fn mentioning(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let has = |pid: &String| {
        let read = ["cmdline", "environ"].map(|file| std::fs::read(format!("/proc/{pid}/{file}")));
        let bytes = read.into_iter().flatten().flatten().collect::<Vec<u8>>();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    pids.filter(|pid| pid.parse::<u32>().is_ok()).filter(has).collect()
}

/// State directories, processes and mounts of systems that `pid` started.
fn left(pid: u32) -> BTreeMap<&'static str, Vec<String>> {
    let name = format!("oscost-system-{pid}-");
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path().display().to_string());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let containers =
        Command::new("podman").args(["ps", "--all", "--format", "{{.Names}}"]).output();
    let containers = containers.map(|output| output.stdout).unwrap_or_default();
    let containers = String::from_utf8_lossy(&containers).into_owned();
    let with_name = |lines: &str| {
        lines.lines().filter(|line| line.contains(&name)).map(str::to_owned).collect::<Vec<_>>()
    };
    let processes = mentioning(&name);
    let groups = ControlGroup::path_of("x").ok().and_then(|path| {
        let entries = std::fs::read_dir(path.parent()?).ok()?.flatten();
        Some(entries.map(|entry| entry.path().display().to_string()).collect::<Vec<_>>().join("\n"))
    });
    let left = [
        ("directories", paths.filter(|path| path.contains(&name)).collect::<Vec<_>>()),
        ("processes", processes),
        ("mounts", with_name(&mounts)),
        ("containers", [with_name(&containers), docker::containers(&name)].concat()),
        ("control groups", with_name(&groups.unwrap_or_default())),
    ];
    left.into_iter().filter(|(_, found)| !found.is_empty()).collect()
}

fn nothing_left(pid: u32, directory: &Path) -> Result<(), Failed> {
    let left = left(pid);
    if !left.is_empty() {
        return Err(format!("left: {left:?}").into());
    }
    let root = directory.join("root");
    let files = std::fs::read_dir(root).into_iter().flatten().flatten();
    let files: Vec<_> =
        files.map(|entry| entry.file_name()).filter(|name| name != "proc").collect();
    if files.is_empty() { Ok(()) } else { Err(format!("left in the directory: {files:?}").into()) }
}

fn cpu() -> usize {
    *platform::cpu::allowed().last().expect("there is a CPU")
}

/// Whether the system cannot run here: User-Mode Linux aborts on some processors, with a message.
fn is_denied(name: &str, running: &mut Running) -> bool {
    name == "uml" && running.has_ended() && {
        let words = running.last_words();
        testing::not_applicable(&format!("User-Mode Linux on this processor: {words}"));
        true
    }
}

fn exchange(name: &str, linkage: Linkage) -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let Some((system, _)) = system(name, linkage, directory.path())? else { return Ok(()) };
    let mut running = system.start(&[cpu()], true)?;
    let mut next = lines(&mut running);
    let mut input = running.take_input();
    if let Err(failed) = await_line(&mut next, "ready as agent", &mut running) {
        return if is_denied(name, &mut running) { Ok(()) } else { Err(failed) };
    }
    let mut exchange = |number: u32, running: &mut Running| -> Result<(), Failed> {
        writeln!(input, "line {number}")?;
        input.flush()?;
        await_line(&mut next, &format!("got line {number}"), running)
    };
    let before = running.host_counts();
    for number in 0..3 {
        exchange(number, &mut running)?;
    }
    match before {
        Ok(before) => {
            let counts = running.host_counts()?.since(before);
            // Each line is written on this machine, whatever runs the agent; the first read may have begun before counting.
            assert!((5..1_000_000).contains(&counts.syscalls) && counts.switches > 0, "{counts:?}");
            running.end_counting();
            exchange(3, &mut running)?;
            assert!(running.host_counts().is_err() && running.is_counted().is_err());
        }
        Err(reason) if name == "podman" => assert!(reason.contains("control group"), "{reason}"),
        Err(reason) if name == "docker" => assert!(reason.contains("daemon"), "{reason}"),
        Err(reason) => testing::skip(&format!("root: {reason}")),
    }
    let affinity = std::fs::read_to_string(format!("/proc/{}/status", running.pid()))?;
    let cpus = affinity.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
    assert_eq!(cpus, Some(cpu().to_string().as_str()));
    drop(input);
    running.end();
    nothing_left(std::process::id(), directory.path())
}

/// Starts a system, in a process that will be killed.
fn start_and_wait(file: &Path) -> ExitCode {
    let systems = SystemsFile::read(file).expect("a file of systems");
    let name = systems.names().next().expect("a system").to_owned();
    let mut running =
        System::parse(&name, &systems).expect("a system").start(&[cpu()], true).expect("it starts");
    let mut next = lines(&mut running);
    match await_line(&mut next, "ready as agent", &mut running) {
        Ok(()) => println!("started"),
        Err(_) if is_denied(&name, &mut running) => return ExitCode::SUCCESS,
        Err(failed) => panic!("{failed:?}"),
    }
    // The input ends with the test, should that be killed first.
    let _ = std::io::stdin().read_line(&mut String::new());
    ExitCode::FAILURE
}

fn kill(name: &str) -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let Some((_, file)) = system(name, Linkage::Libraries, directory.path())? else {
        return Ok(());
    };
    let mut starter = Command::new(std::env::current_exe()?)
        .env(STARTER, &file)
        .stdout(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()?;
    let output = starter.stdout.take().expect("it is piped");
    let started =
        BufReader::new(output).lines().map_while(Result::ok).any(|line| line == "started");
    let pid = starter.id();
    let found = left(pid);
    starter.kill()?;
    let status = starter.wait()?;
    if !started && status.success() {
        return Ok(());
    }
    assert!(started, "the starter ended with {status}");
    assert!(found.contains_key("directories"), "{found:?}");
    // The next start removes everything.
    let text =
        format!("[next]\nlauncher = 'native'\nbinary = '{}'\n", agent(Linkage::Static)?.display());
    let systems = SystemsFile::parse(&text, Path::new("systems.toml"))?;
    System::parse("next", &systems)?.start(&[cpu()], false)?.end();
    nothing_left(pid, directory.path())
}

/// A program with libraries starts in a directory whose dynamic linker is another one, or is not there.
fn cover(name: &str) -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let agent = agent(Linkage::Libraries)?.display();
    let root = directory.path().join("root");
    let text = format!(
        "[{name}]\nlauncher = '{name}'\ndirectory = '{}'\nbinary = '{agent}'\n",
        root.display()
    );
    let system = System::parse(name, &SystemsFile::parse(&text, Path::new("systems.toml"))?)?;
    for below in ["proc", "dev", "tmp", "other", "usr"] {
        std::fs::create_dir_all(root.join(below))?;
    }
    if testing::skip_unless(name == "bwrap" || testing::is_root(), "root: needed by chroot")
        || testing::skip_unless(system.check().is_ok(), "systems: needs bubblewrap")
    {
        return Ok(());
    }
    if name == "bwrap" {
        let error = system.start(&[cpu()], false).err().ok_or("it has started without a linker")?;
        assert!(error.to_string().contains("takes a static oscost"), "{error}");
    }
    let (above, linker) = LINKER.rsplit_once('/').expect("a path");
    std::fs::create_dir(root.join(format!("usr{above}")))?;
    symlink(format!("usr{above}"), root.join(&above[1..]))?;
    symlink("/other/linker", root.join(format!("usr{above}/{linker}")))?;
    std::fs::write(root.join("other/linker"), "another")?;
    let mut running = system.start(&[cpu()], false)?;
    let mut next = lines(&mut running);
    await_line(&mut next, "ready as agent", &mut running)?;
    running.end();
    assert_eq!(std::fs::read_to_string(root.join("other/linker"))?, "another");
    let mut names: Vec<_> =
        std::fs::read_dir(&root)?.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["dev", &above[1..], "other", "proc", "tmp", "usr"]);
    Ok(())
}

/// An ssh server on the loopback interface with its own keys.
struct SshServer(std::process::Child);

impl SshServer {
    /// Starts a server in `directory`, whose users have the home directory `home`. Also returns the clients' configuration,
    /// which names the host `there`.
    fn start(directory: &Path, home: &Path) -> Result<(Self, PathBuf), Failed> {
        let path = |name: &str| directory.join(name).display().to_string();
        for key in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f", &path(key)];
            assert!(Command::new("ssh-keygen").args(words).status()?.success());
        }
        std::fs::create_dir_all("/run/sshd")?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let home = home.display();
        let server = format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PermitRootLogin yes\nPidFile none\n\
             ForceCommand cd {home} && HOME={home} PATH=\"{home}/bin:$PATH\" sh -c \"$SSH_ORIGINAL_COMMAND\"\n",
            path("host"),
            path("user.pub")
        );
        std::fs::write(path("sshd_config"), server)?;
        let client = format!(
            "Host there\nHostName 127.0.0.1\nPort {port}\nIdentityFile {}\nIdentitiesOnly yes\n\
             StrictHostKeyChecking no\nUserKnownHostsFile {}\nLogLevel ERROR\n",
            path("user"),
            path("known")
        );
        std::fs::write(path("ssh_config"), client)?;
        let mut started = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f", &path("sshd_config")])
            .stderr(Stdio::piped())
            .spawn()?;
        let mut errors = BufReader::new(started.stderr.take().expect("it is piped"));
        let server = Self(started);
        let mut said = String::new();
        while !said.contains("listening") {
            assert!(errors.read_line(&mut said)? > 0, "{said}");
        }
        std::thread::spawn(move || errors.lines().for_each(drop));
        Ok((server, PathBuf::from(path("ssh_config"))))
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn over_ssh() -> Result<(), Failed> {
    let has_server = Path::new("/usr/sbin/sshd").exists();
    if testing::skip_unless(testing::is_root(), "root: needed by sshd")
        || testing::skip_unless(has_server, "systems: needs openssh-server")
    {
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let home = directory.path().join("home");
    std::fs::create_dir(&home)?;
    let (server, config) = SshServer::start(directory.path(), &home)?;
    let text = format!(
        "[there]\nlauncher = 'ssh'\nhost = 'there'\nargs = ['-F', '{}']\nbinary = '{}'\ncpus = [{}]\n",
        config.display(),
        agent(Linkage::Static)?.display(),
        cpu()
    );
    let systems = SystemsFile::parse(&text, Path::new("systems.toml"))?;
    let system = System::parse("there", &systems)?;
    let cache = home.join(".cache/oscost");
    // A lost connection ends the input early.
    let cut = home.join("bin/cat");
    std::fs::create_dir(home.join("bin"))?;
    std::fs::write(&cut, "#!/bin/sh\nexec head -c 1000\n")?;
    std::fs::set_permissions(&cut, Permissions::from_mode(0o755))?;
    let error = system.start(&[cpu()], false).err().ok_or("it has started from a part")?;
    assert_eq!(error.to_string(), "there: copying oscost there failed: the copy is not complete");
    assert_eq!(std::fs::read_dir(&cache)?.count(), 0);
    std::fs::remove_file(&cut)?;
    let ages = [("unused", 32), ("used", 20)];
    for (name, days) in ages {
        let file = std::fs::File::create(cache.join(name))?;
        file.set_modified(SystemTime::now() - Duration::from_secs(days * 86_400))?;
    }
    let mut copied = Vec::new();
    for _ in 0..2 {
        let mut running = system.start(&platform::cpu::allowed(), true)?;
        let mut next = lines(&mut running);
        let mut input = running.take_input();
        await_line(&mut next, "ready as agent", &mut running)?;
        writeln!(input, "a line")?;
        await_line(&mut next, "got a line", &mut running)?;
        drop(input);
        running.end();
        nothing_left(std::process::id(), directory.path())?;
        let files = std::fs::read_dir(&cache)?.flatten();
        // A copy is another file; its use changes only its times.
        let mut files: Vec<_> = files.map(|entry| (entry.file_name(), entry.ino())).collect();
        files.sort();
        assert!(files.len() == 2 && files[1].0 == "used", "{files:?}");
        copied.push(files);
        let copy = std::fs::File::options().append(true).open(cache.join(&copied[0][0].0))?;
        assert!(copy.metadata()?.modified()?.elapsed()? < Duration::from_secs(3_600));
        copy.set_modified(SystemTime::now() - Duration::from_secs(86_400))?;
    }
    assert_eq!(copied[0], copied[1], "it was copied twice");
    drop(server);
    let error = system.start(&[cpu()], false).err();
    let error = error.ok_or("it has started without a server")?.to_string();
    assert!(error.starts_with("there: ssh failed: ") && error.contains("refused"), "{error}");
    Ok(())
}

fn last_words() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let Some((system, _)) = system("native", Linkage::Static, directory.path())? else {
        return Ok(());
    };
    let mut running = system.start(&[cpu()], false)?;
    drop(running.take_input());
    while !running.has_ended() {
        std::thread::yield_now();
    }
    assert_eq!(running.last_words(), "an error");
    Ok(())
}

fn cannot_start() -> Result<(), Failed> {
    let file = SystemsFile::default();
    for (text, message) in [
        ("x=./nosuch {oscost} agent", "command needs the program ./nosuch"),
        ("chroot:/nosuch/directory", "/nosuch/directory: there is no such directory"),
        ("qemu:/nosuch/vmlinuz", "/nosuch/vmlinuz: there is no such file"),
        ("podman:-v", "\"-v\" is not the name of an image"),
        ("ssh:-oProxyCommand=x", "\"-oProxyCommand=x\" is not the name of a host"),
    ] {
        let error = match System::parse(text, &file)?.start(&[cpu()], false) {
            Err(SystemError::Missing { remedy, .. }) if remedy.starts_with("apt-get") => continue,
            Err(error) => error.to_string(),
            Ok(_) => return Err(format!("{text} has started").into()),
        };
        assert!(error.contains(message), "{text}: {error}");
    }
    Ok(())
}
