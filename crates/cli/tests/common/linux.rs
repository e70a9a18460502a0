//! Environments of a user on Linux: few rights, few resources, other processes.

use std::ffi::CString;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

/// Id of a user without any rights.
pub const NOBODY: u32 = 65_534;

/// Runs `prepare` in the forked child before the program of `command` starts. `prepare` may make plain system calls
/// only.
pub fn before(
    command: &mut Command,
    prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> &mut Command {
    // SAFETY: the caller promises that `prepare` makes plain system calls only.
    unsafe { command.pre_exec(prepare) }
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Runs the command as a user without rights. Needs root.
pub fn as_nobody(command: &mut Command) -> &mut Command {
    before(command, || {
        // SAFETY: the calls take numbers only; the empty list is not read.
        unsafe {
            done(libc::setgroups(0, std::ptr::null()))?;
            done(libc::setgid(NOBODY))?;
            done(libc::setuid(NOBODY))
        }
    })
}

/// Closes a connection without notifying the peer: neither by an end nor by a reset. Needs root.
pub fn close_silently(connection: TcpStream) {
    let (yes, size) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the socket is open, and pointer and size describe `yes`.
    let set = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_REPAIR);
        libc::setsockopt(connection.as_raw_fd(), level, option, (&raw const yes).cast(), size)
    };
    done(set).expect("a socket in repair mode sends nothing when it is closed");
}

/// Sets the mode of a file or folder of our own.
pub fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("our own file");
}

/// Starts the command with this stream closed.
pub fn closed(command: &mut Command, stream: libc::c_int) -> &mut Command {
    // SAFETY: takes a number only.
    before(command, move || done(unsafe { libc::close(stream) }))
}

/// Restricts the command to one CPU, the first that we may use.
pub fn on_one_cpu(command: &mut Command) -> &mut Command {
    before(command, || {
        // SAFETY: an all-zero set is empty, and the size given is its own.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            done(libc::sched_getaffinity(0, size_of_val(&set), &mut set))?;
            let first = (0..libc::CPU_SETSIZE as usize).find(|&cpu| libc::CPU_ISSET(cpu, &set));
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(first.unwrap_or(0), &mut set);
            done(libc::sched_setaffinity(0, size_of_val(&set), &set))
        }
    })
}

/// Limits a resource of the command, soft and hard.
pub fn limited(
    command: &mut Command,
    resource: libc::__rlimit_resource_t,
    most: u64,
) -> &mut Command {
    before(command, move || {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: `limit` is a valid buffer.
        done(unsafe { libc::setrlimit(resource, &limit) })
    })
}

/// Limits the command to this number of descriptors.
pub fn with_descriptors(command: &mut Command, count: u64) -> &mut Command {
    limited(command, libc::RLIMIT_NOFILE, count)
}

/// Limits the size of files, so that writes fail as on a full disk: with the signal ignored (setrlimit(2)).
pub fn with_file_size(command: &mut Command, bytes: u64) -> &mut Command {
    limited(with_signal(command, libc::SIGXFSZ, libc::SIG_IGN), libc::RLIMIT_FSIZE, bytes)
}

/// Starts the command with this action for a signal.
pub fn with_signal(
    command: &mut Command,
    signal: libc::c_int,
    action: libc::sighandler_t,
) -> &mut Command {
    before(command, move || {
        // SAFETY: both are valid numbers.
        unsafe { libc::signal(signal, action) };
        Ok(())
    })
}

/// Mounts an empty file system of this size over `folder` in a private namespace. Needs root.
pub fn with_file_system<'a>(
    command: &'a mut Command,
    folder: &Path,
    options: &str,
) -> &'a mut Command {
    let folder = CString::new(folder.to_str().expect("a plain path")).expect("without NUL");
    let options = CString::new(options).expect("without NUL");
    before(command, move || {
        let none = std::ptr::null();
        // SAFETY: all strings end with NUL and live as long as the closure.
        unsafe {
            done(libc::unshare(libc::CLONE_NEWNS))?;
            let private = libc::MS_REC | libc::MS_PRIVATE;
            done(libc::mount(c"none".as_ptr(), c"/".as_ptr(), none, private, none.cast()))?;
            let kind = c"tmpfs".as_ptr();
            done(libc::mount(kind, folder.as_ptr(), kind, 0, options.as_ptr().cast()))
        }
    })
}

/// Starts the command in a new network namespace, whose loopback is down. Needs root.
pub fn without_network(command: &mut Command) -> &mut Command {
    // SAFETY: takes a number only.
    before(command, || done(unsafe { libc::unshare(libc::CLONE_NEWNET) }))
}

/// Denies these system calls to the command, as a sandbox does: they fail with EPERM.
pub fn denied<'a>(command: &'a mut Command, calls: &[libc::c_long]) -> &'a mut Command {
    answered(command, calls, libc::EPERM)
}

/// Makes these system calls of the command report success without effect.
pub fn pretended<'a>(command: &'a mut Command, calls: &[libc::c_long]) -> &'a mut Command {
    answered(command, calls, 0)
}

fn answered<'a>(command: &'a mut Command, calls: &[libc::c_long], error: i32) -> &'a mut Command {
    let step = |code: u32, jt: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let load_number = step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);
    let give = |what: u32| step(libc::BPF_RET | libc::BPF_K, 0, what);
    let mut program = vec![load_number];
    for (nth, &call) in calls.iter().enumerate() {
        // If the call matches, the filter jumps over the rest and the permission to the refusal.
        let over = (calls.len() - nth) as u8;
        program.push(step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, over, call as u32));
    }
    program.push(give(libc::SECCOMP_RET_ALLOW));
    program.push(give(libc::SECCOMP_RET_ERRNO | error as u32));
    before(command, move || {
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: `filter` describes `program`, which the kernel copies.
        unsafe {
            done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            let mode = libc::SECCOMP_MODE_FILTER;
            done(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const filter))
        }
    })
}

/// The processes that descend from `ancestor`.
pub fn descendants(ancestor: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = pids().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![ancestor];
    let mut next = 0;
    while let Some(&of) = found.get(next) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The field of /proc/pid/stat after the name, which may itself have spaces and brackets, and after the state.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process handles this signal, by a handler or by waiting for it, instead of ending.
pub fn handles(pid: u32, signal: libc::c_int) -> bool {
    has_signal(pid, &["SigCgt:", "SigBlk:"], signal)
}

/// Whether this signal was sent to a process that has not taken it yet.
pub fn is_pending(pid: u32, signal: libc::c_int) -> bool {
    has_signal(pid, &["SigPnd:", "ShdPnd:"], signal)
}

/// Whether one of these sets of proc_pid_status(5) has the signal.
fn has_signal(pid: u32, sets: &[&str], signal: libc::c_int) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let sets = status.lines().filter_map(|line| sets.iter().find_map(|set| line.strip_prefix(set)));
    let mut sets = sets.filter_map(|set| u64::from_str_radix(set.trim(), 16).ok());
    sets.any(|set| set >> (signal - 1) & 1 == 1)
}

/// Whether a process has a TCP socket that listens.
pub fn is_listening(pid: u32) -> bool {
    const LISTEN: &str = "0A";
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    // State and inode are fields of proc_pid_net(5).
    let listening: Vec<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(3) == Some(&LISTEN))
        .filter_map(|fields| Some(format!("socket:[{}]", fields.get(9)?)))
        .collect();
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut targets = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets.any(|target| listening.iter().any(|socket| target.as_os_str() == socket.as_str()))
}

/// The processes that were started with this folder for temporary files.
pub fn users_of(temp: &Path) -> Vec<u32> {
    let wanted = format!("TMPDIR={}", temp.display());
    let uses = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    pids().filter(uses).collect()
}

/// Sends a signal to a process if it still descends from `ancestor`. Returns whether it did.
pub fn signal_descendant(ancestor: u32, pid: u32, signal: libc::c_int) -> bool {
    // SAFETY: the calls take numbers only. The descriptor refers to one process even if its number is reused, so that no other
    // process gets the signal.
    unsafe {
        let process = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        if process < 0 {
            return false;
        }
        let sent = descendants(ancestor).contains(&pid)
            && libc::syscall(libc::SYS_pidfd_send_signal, process, signal, 0, 0) == 0;
        libc::close(process as libc::c_int);
        sent
    }
}

/// Sends a signal to our own child.
pub fn signal(child: &Child, signal: libc::c_int) {
    // SAFETY: takes numbers only; the process is our child and has not been waited for.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
}

/// Starts a command as the leader of a process group.
pub fn started_apart(command: &mut Command) -> Child {
    super::started(command.process_group(0))
}

/// Sends a signal to our own child and its whole process group.
pub fn signal_group(leader: u32, signal: libc::c_int) {
    // SAFETY: takes numbers only; the leader is our child and has not been waited for.
    assert_eq!(unsafe { libc::kill(-(leader as libc::pid_t), signal) }, 0);
}

/// Kills one of the processes that descend from `ancestor`, if there are at least this many; returns whether it did.
pub fn kill_any_descendant(ancestor: u32, least: usize) -> bool {
    let all = descendants(ancestor);
    all.len() >= least.max(1)
        && signal_descendant(ancestor, all[super::random(all.len())], libc::SIGKILL)
}

/// Waits until no process uses the temporary folder of a bench, which must then be empty.
#[track_caller]
pub fn nothing_is_left(bench: &super::Bench) {
    nobody_is_left(bench);
    assert_eq!(super::entries(&bench.temp()), Vec::<String>::new());
}

/// Waits until no process uses the temporary folder of a bench.
#[track_caller]
pub fn nobody_is_left(bench: &super::Bench) {
    super::until("no process is left", || users_of(&bench.temp()).is_empty());
}

/// Named semaphores and POSIX message queues, if their file system is mounted; System V sets and queues such as workers make, which
/// no living process has used. Those of other tests are there for a moment.
pub fn left_in_system() -> Vec<String> {
    let named = |folder: &str, prefix: &str| {
        let names = super::entries(Path::new(folder)).into_iter();
        names.filter(|name| name.starts_with(prefix)).collect::<Vec<_>>()
    };
    let mut left = named("/dev/shm", "sem.oscost-worker-");
    if Path::new("/dev/mqueue").is_dir() {
        left.extend(named("/dev/mqueue", "oscost-worker-"));
    }
    let dead = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
    let mut add = |kind: &str, users: fn(&[u32]) -> Option<Vec<u32>>| {
        let list = std::fs::read_to_string(format!("/proc/sysvipc/{kind}")).unwrap_or_default();
        for line in list.lines() {
            let words = line.split_whitespace().map(|word| word.parse().ok());
            // The heading has no numbers.
            let Some(words) = words.collect::<Option<Vec<u32>>>() else { continue };
            let is_private = words[0] != 0 && words[2] == 600;
            if is_private && users(&words).is_some_and(|pids| pids.into_iter().all(dead)) {
                left.push(format!("{kind} {line}"));
            }
        }
    };
    // Columns of sysvipc(5): key, number, mode, and number of semaphores or pids of the last sender and receiver.
    add("sem", |words| {
        let set = words[1] as libc::c_int;
        // SAFETY: takes numbers only.
        let pid = |number| unsafe { libc::semctl(set, number, libc::GETPID) };
        (words[3] == 2).then(|| [pid(0), pid(1)].map(|pid| pid.unsigned_abs()).to_vec())
    });
    add("msg", |words| Some(words[5..7].to_vec()));
    left
}
