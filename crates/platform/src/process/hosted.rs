//! Long-running processes beside this one, on given CPUs, that end with it: sandboxes and virtual machines.
//!
//! After a kill of the process that started them, a text in their command line or environment finds them.

/// Starts `command` in a process group of its own. It and the processes it starts run on `cpus` only (all systems but
/// macOS), and it is killed when this process ends (Linux). It joins `group` first, if given; if the kernel refuses, it
/// starts outside the group, which [`ControlGroup::has`](super::control_group::ControlGroup::has) shows.
///
/// # Errors
/// If the command cannot be started, or there is no such CPU.
pub use os::spawn;

/// Sends SIGTERM to the process group of `leader`. Does nothing on Windows.
pub use os::ask_group_to_end;

/// Processes of this user, other than this one, that have the path or name `text` in their command line or environment, as a whole:
/// no letter, digit, `-`, `_` or `.` beside it. None where the system does not report them (all but Linux).
pub use os::mentioning;

/// Processes, other than this one, in the process group of `leader`; none where the system does not report them (all but
/// Linux).
pub use os::in_group;

/// Kills a process of this user.
pub fn kill(pid: u32) {
    kill_if(pid, || true);
}

/// Kills a process of this user, if `is_it` confirms, once no other process can get its pid, that it is the one that was found.
pub use os::kill_if;

/// An identity that no other process with the same pid has, also after a restart of the machine; `None` if the process has
/// ended or the system does not report it.
pub use os::identity;

/// Unmounts everything mounted below `directory`; does nothing on systems other than Linux.
///
/// # Errors
/// If something remains mounted.
pub use os::unmount_below;

/// Creates a directory that only this user can enter.
///
/// # Errors
/// Errors of mkdir(2).
pub use crate::file::private::create_directory as private_directory;

/// Whether `path` is a directory, not a link to one, that belongs to this user.
pub use os::is_own_directory;

/// Lets this user execute a file.
///
/// # Errors
/// Errors of chmod(2).
pub use os::make_executable;

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs;
    use std::io;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;
    use std::process::{Child, Command};

    #[cfg(target_os = "linux")]
    pub use super::linux::{identity, in_group, kill_if, mentioning, unmount_below};
    #[cfg(not(target_os = "linux"))]
    pub use super::without_proc::{identity, in_group, kill_if, mentioning, unmount_below};
    use crate::process::control_group::ControlGroup;

    /// More CPUs than the CPU set of some systems has.
    const MOST_CPUS: usize = 8_192;

    pub fn spawn(
        command: Command,
        cpus: &[usize],
        group: Option<&ControlGroup>,
    ) -> io::Result<Child> {
        let most = cpus.iter().max().copied().unwrap_or_default();
        if cpus.is_empty() || most >= MOST_CPUS {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no CPUs {cpus:?}")));
        }
        start(command, cpus.to_vec(), group)
    }

    #[cfg(target_os = "linux")]
    fn start(
        command: Command,
        cpus: Vec<usize>,
        group: Option<&ControlGroup>,
    ) -> io::Result<Child> {
        super::linux::spawn(command, cpus, group.and_then(ControlGroup::members))
    }

    #[cfg(not(target_os = "linux"))]
    fn start(
        mut command: Command,
        cpus: Vec<usize>,
        _group: Option<&ControlGroup>,
    ) -> io::Result<Child> {
        use std::os::unix::process::CommandExt;

        command.process_group(0);
        // SAFETY: between fork and exec the child makes one plain system call, where there is one.
        unsafe {
            command.pre_exec(move || {
                let _ = crate::cpu::pin_thread_to_any(&cpus);
                Ok(())
            });
        }
        command.spawn()
    }

    pub fn ask_group_to_end(leader: u32) {
        let Some(leader) = libc::pid_t::try_from(leader).ok().filter(|&pid| pid > 1) else {
            return;
        };
        // SAFETY: a plain call. While the group has processes, no other process or group gets its number.
        unsafe { libc::kill(-leader, libc::SIGTERM) };
    }

    pub fn is_own_directory(path: &Path) -> bool {
        let own = crate::user::own_user();
        fs::symlink_metadata(path).is_ok_and(|data| data.is_dir() && data.uid() == own)
    }

    pub fn make_executable(path: &Path) -> io::Result<()> {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755))
    }
}

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
pub(crate) mod linux {
    use std::collections::BTreeSet;
    use std::ffi::CString;
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command};
    use std::sync::OnceLock;
    use std::sync::mpsc::{Sender, channel};
    use std::time::{Duration, Instant};

    use crate::linux::tree::unescaped;

    type Started = io::Result<Child>;
    /// A command, its CPUs, the file of a control group's members, and where to send the result.
    type Order = (Command, Vec<usize>, Option<File>, Sender<Started>);

    /// The thread that starts all such processes: the kernel sends a child its parent's death signal when the thread that
    /// started it ends.
    static STARTER: OnceLock<Sender<Order>> = OnceLock::new();

    pub fn spawn(command: Command, cpus: Vec<usize>, members: Option<File>) -> Started {
        let starter = STARTER.get_or_init(|| {
            let (orders, received) = channel::<Order>();
            // Without the thread the channel is closed, which is the error below.
            let _ = std::thread::Builder::new().name("starter".to_owned()).spawn(move || {
                for (command, cpus, members, answer) in received {
                    let _ = answer.send(spawn_here(command, cpus, members));
                }
            });
            orders
        });
        let (answer, started) = channel();
        let gone = || io::Error::other("the thread that starts processes has ended");
        starter.send((command, cpus, members, answer)).map_err(|_| gone())?;
        started.recv().map_err(|_| gone())?
    }

    fn spawn_here(mut command: Command, cpus: Vec<usize>, members: Option<File>) -> Started {
        let parent = std::process::id();
        command.process_group(0);
        // SAFETY: between fork and exec the child makes plain system calls; the error is made without allocation.
        unsafe {
            command.pre_exec(move || {
                if crate::cpu::pin_thread_to_any(&cpus).is_err() {
                    return Err(io::Error::last_os_error());
                }
                if let Some(members) = &members {
                    // The pid 0 means the calling process. If the kernel refuses, the caller finds that it is no member.
                    libc::write(members.as_raw_fd(), c"0".as_ptr().cast(), 1);
                }
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // The parent may have died before the request was made.
                if libc::getppid() as u32 != parent {
                    libc::_exit(1);
                }
                Ok(())
            });
        }
        command.spawn()
    }

    /// The pids in /proc, without this process.
    fn pids() -> impl Iterator<Item = u32> {
        let own = std::process::id();
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(move |&pid| pid != own)
    }

    pub fn mentioning(text: &str) -> Vec<u32> {
        /// Time limit for execve(2) of all processes: a busy machine may not run one of low priority for many seconds.
        const BETWEEN_PROGRAMS: Duration = Duration::from_secs(30);
        /// Time limit for execve(2) where the system reports no addresses: there a process without an environment looks as if it
        /// never left execve(2).
        const WITHOUT_ADDRESSES: Duration = Duration::from_secs(5);
        if text.is_empty() {
            return Vec::new();
        }
        let has_addresses = program_addresses(std::process::id()).is_some();
        let limit = if has_addresses { BETWEEN_PROGRAMS } else { WITHOUT_ADDRESSES };
        let began = Instant::now();
        let mut between_programs: Vec<u32> = pids().collect();
        let mut found = Vec::new();
        loop {
            between_programs.retain(|&pid| {
                let mentions = mentions(pid, text, has_addresses);
                found.extend(mentions.filter(|&does| does).map(|_| pid));
                mentions.is_none()
            });
            if between_programs.is_empty() || began.elapsed() > limit {
                return found;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether the command line or the environment of `pid` contains `text`; `None` during execve(2), when a process has
    /// neither. `has_addresses` says whether the system reports [`program_addresses`].
    fn mentions(pid: u32, text: &str, has_addresses: bool) -> Option<bool> {
        if !is_own(pid) {
            return Some(false);
        }
        let has = |bytes: &Vec<u8>| has_whole(bytes, text.as_bytes());
        let before = program_addresses(pid);
        let files = ["cmdline", "environ"];
        let read = files.map(|file| fs::read(format!("/proc/{pid}/{file}")));
        if read.iter().flatten().any(has) {
            return Some(true);
        }
        // The environment of another user's process cannot be read.
        let [Ok(arguments), Ok(environment)] = &read else { return Some(false) };
        // Text that is read in parts ends early if the program changes meanwhile, so that it may look complete.
        let is_of_one_program = if has_addresses {
            before.is_some() && before == program_addresses(pid)
        } else {
            !arguments.is_empty() && !environment.is_empty()
        };
        (is_of_one_program || !is_program(pid)).then_some(false)
    }

    /// Whether `text` is in `bytes` with nothing beside it that could belong to a longer name.
    pub fn has_whole(bytes: &[u8], text: &[u8]) -> bool {
        let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let mut places = bytes.windows(text.len()).enumerate();
        places.any(|(at, window)| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            let beside = [before, bytes.get(at + text.len())];
            window == text && !beside.into_iter().flatten().any(is_of_name)
        })
    }

    /// Whether the process runs with this one's effective user.
    fn is_own(pid: u32) -> bool {
        let user = |who: &str| {
            let status = fs::read_to_string(format!("/proc/{who}/status")).ok()?;
            let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
            line.split_whitespace().nth(1).map(str::to_owned)
        };
        let own = user("self");
        own.is_some() && own == user(&pid.to_string())
    }

    pub fn kill_if(pid: u32, is_it: impl FnOnce() -> bool) {
        let Some(number) = libc::pid_t::try_from(pid).ok().filter(|&pid| pid > 1) else { return };
        // SAFETY: the calls take numbers only; a new descriptor has no other owner.
        unsafe {
            let opened = libc::syscall(libc::SYS_pidfd_open, number, 0);
            // Kernels before Linux 5.3 have no such descriptors.
            let process = (opened >= 0).then(|| OwnedFd::from_raw_fd(opened as libc::c_int));
            if !is_own(pid) || !is_it() {
                return;
            }
            match process {
                Some(process) => {
                    let (fd, nothing) = (process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
                    libc::syscall(libc::SYS_pidfd_send_signal, fd, libc::SIGKILL, nothing, 0);
                }
                None => {
                    libc::kill(number, libc::SIGKILL);
                }
            }
        }
    }

    /// Addresses of a program's arguments and environment; `None` during execve(2), and where the system does not report
    /// them. Programs are loaded at random addresses, so two of them hardly ever have the same.
    fn program_addresses(pid: u32) -> Option<[String; 4]> {
        let addresses = stat(pid, [48, 49, 50, 51])?;
        addresses.iter().all(|address| address != "0").then_some(addresses)
    }

    /// Whether the process is neither a kernel thread nor a zombie.
    fn is_program(pid: u32) -> bool {
        const OF_KERNEL: u32 = 0x0020_0000;
        let of_kernel = stat(pid, [9]).and_then(|[flags]| flags.parse::<u32>().ok());
        of_kernel.is_some_and(|flags| flags & OF_KERNEL == 0) && is_alive(pid)
    }

    /// Whether the process exists and is no zombie.
    fn is_alive(pid: u32) -> bool {
        stat(pid, [3]).is_some_and(|[state]| state != "Z" && state != "X")
    }

    /// Fields of /proc/PID/stat at one moment, counted from 3, the state (proc_pid_stat(5)).
    fn stat<const N: usize>(pid: u32, fields: [usize; N]) -> Option<[String; N]> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, from_state) = stat.rsplit_once(") ")?;
        let all: Vec<&str> = from_state.split_whitespace().collect();
        let chosen =
            fields.map(|field| all.get(field.checked_sub(3)?).map(|&text| text.to_owned()));
        let chosen: Option<Vec<String>> = chosen.into_iter().collect();
        chosen?.try_into().ok()
    }

    pub fn in_group(leader: u32) -> Vec<u32> {
        let group = leader.to_string();
        let is_in = |pid: &u32| stat(*pid, [5]).is_some_and(|[of]| of == group) && is_alive(*pid);
        pids().filter(is_in).collect()
    }

    /// The boot's id, and the start time of the process since then.
    pub fn identity(pid: u32) -> Option<String> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let [begun] = stat(pid, [22])?;
        Some(format!("{} {begun}", boot.trim()))
    }

    pub fn unmount_below(directory: &Path) -> io::Result<()> {
        let table = fs::read("/proc/self/mountinfo")?;
        // The latest mounts are unmounted first.
        let points = mount_points(&table);
        let below = points.iter().rev().filter(|point| point.starts_with(directory));
        let mut failed = None;
        let mut seen = BTreeSet::new();
        for point in below {
            let first = seen.insert(point);
            let path = CString::new(point.as_os_str().as_bytes())?;
            // SAFETY: the path ends with NUL. No link is followed, so that only what the table has is unmounted.
            let done =
                unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) };
            if done != 0 && first {
                failed = Some(io::Error::last_os_error());
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// The mount points in a table of mounts (proc_pid_mountinfo(5)), in its order.
    pub fn mount_points(table: &[u8]) -> Vec<PathBuf> {
        let lines = table.split(|&byte| byte == b'\n');
        let fifth = |line: &[u8]| line.split(|&byte| byte == b' ').nth(4).map(unescaped);
        lines.filter_map(fifth).filter(|path| path.is_absolute()).collect()
    }
}

/// Systems on which processes cannot be found again.
#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod without_proc {
    use std::io;
    use std::path::Path;

    pub fn mentioning(_text: &str) -> Vec<u32> {
        Vec::new()
    }

    pub fn in_group(_leader: u32) -> Vec<u32> {
        Vec::new()
    }

    pub fn kill_if(_pid: u32, _is_it: impl FnOnce() -> bool) {}

    pub fn identity(_pid: u32) -> Option<String> {
        None
    }

    pub fn unmount_below(_directory: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs;
    use std::io;
    use std::os::windows::io::AsRawHandle;
    use std::os::windows::process::CommandExt;
    use std::path::Path;
    use std::process::{Child, Command};

    use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, SetProcessAffinityMask};

    pub use super::without_proc::{identity, in_group, kill_if, mentioning, unmount_below};
    use crate::process::control_group::ControlGroup;

    pub fn spawn(
        mut command: Command,
        cpus: &[usize],
        _group: Option<&ControlGroup>,
    ) -> io::Result<Child> {
        if cpus.is_empty() || cpus.iter().any(|&cpu| cpu >= usize::BITS as usize) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no CPUs {cpus:?}")));
        }
        let mut child = command.creation_flags(CREATE_NEW_PROCESS_GROUP).spawn()?;
        let mask = cpus.iter().fold(0usize, |mask, cpu| mask | 1 << cpu);
        // SAFETY: the handle is open until `child` is dropped; a wrong mask is an error.
        if unsafe { SetProcessAffinityMask(child.as_raw_handle(), mask) } == 0 {
            let error = io::Error::last_os_error();
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(child)
    }

    pub fn ask_group_to_end(_leader: u32) {}

    pub fn is_own_directory(path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
    }

    pub fn make_executable(_path: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::path::Path;
    use std::process::Stdio;
    use std::process::{Child, Command};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn it_runs_where_it_may_and_in_a_group_of_its_own() {
        let cpu = crate::cpu::allowed()[0];
        let mut command = Command::new("sh");
        command.args(["-c", "taskset -cp $$; cut -d' ' -f5 /proc/$$/stat; echo $$"]);
        command.stdout(Stdio::piped());
        let output = spawn(command, &[cpu], None).unwrap().wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let [affinity, group, pid] = text.lines().collect::<Vec<_>>()[..] else {
            panic!("{text}");
        };
        assert!(affinity.ends_with(&format!(": {cpu}")), "{affinity}");
        assert_eq!(group, pid);
        assert!(spawn(Command::new("true"), &[100_000], None).is_err());
        assert!(spawn(Command::new("true"), &[], None).is_err());
        assert!(spawn(Command::new("/nosuch/program"), &[cpu], None).is_err());
    }

    #[test]
    fn it_is_found_by_text_and_by_group_and_killed() {
        let text = format!("oscost-test-mention-{}", std::process::id());
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60; true", &text]);
        let mut child = spawn(command, &crate::cpu::allowed(), None).unwrap();
        let pid = child.id();
        let identity = identity(pid).unwrap();
        let began = std::time::Instant::now();
        while !(mentioning(&text).contains(&pid) && in_group(pid).len() == 2) {
            assert!(began.elapsed().as_secs() < 60, "{:?} {:?}", mentioning(&text), in_group(pid));
            std::thread::yield_now();
        }
        assert_eq!(super::identity(pid), Some(identity));
        kill_if(pid, || false);
        assert!(in_group(pid).contains(&pid), "it was not confirmed");
        for member in in_group(pid) {
            kill(member);
        }
        child.wait().unwrap();
        assert_eq!(super::identity(pid), None);
        // The second process may take a moment to end; it has the same text until it has executed its own program.
        while !mentioning(&text).is_empty() {
            assert!(began.elapsed().as_secs() < 60, "{:?}", mentioning(&text));
            std::thread::yield_now();
        }
        assert!(mentioning("").is_empty());
    }

    #[test]
    fn a_name_with_more_beside_it_is_another_one() {
        let path = b"/tmp/oscost-system-7-ab";
        for with in [
            "X=/tmp/oscost-system-7-ab",
            "--root=/tmp/oscost-system-7-ab/r,x",
            "/tmp/oscost-system-7-ab",
        ] {
            assert!(linux::has_whole(with.as_bytes(), path), "{with}");
        }
        for without in [
            "/tmp/oscost-system-7-abc",
            "/var/tmp/oscost-system-7-ab.old",
            "a/tmp/oscost-system-7-ab",
            "",
        ] {
            assert!(!linux::has_whole(without.as_bytes(), path), "{without}");
        }
    }

    #[test]
    fn processes_of_others_are_neither_found_nor_killed() {
        let text = format!("oscost-test-other-{}", std::process::id());
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"]);
        command.env("OSCOST_TEST", &text).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let is_sleep = |id| {
            std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|name| name == "sleep\n")
        };
        testing::until(|| is_sleep(child.id()) || child.try_wait().unwrap().is_some());
        let runs = child.try_wait().unwrap().is_none();
        let found = mentioning(&text);
        kill(child.id());
        let goes_on = child.try_wait().unwrap().is_none();
        let _ = child.kill();
        child.wait().unwrap();
        if testing::skip_unless(runs, "needs root") {
            return;
        }
        assert!(found.is_empty() && goes_on, "{found:?}");
    }

    /// A sandbox's process that had left its group was missed in the midst of execve(2).
    #[test]
    fn it_is_found_by_text_while_it_executes_another_program() {
        /// A script that executes itself again and again. At a low priority beside a busy thread, some of its instances
        /// stop for a second within execve(2).
        const AGAIN: &str = "exec nice -n 19 sh -c \"$0\" \"$0\"";
        const INSTANCES: usize = 40;
        const TIMES: usize = 6;
        let text = format!("oscost-test-exec-{}", std::process::id());
        let cpu = crate::cpu::allowed()[0];
        let start = || {
            let mut command = Command::new("sh");
            command.args(["-c", AGAIN, AGAIN]).env("OSCOST_TEST", &text);
            spawn(command, &[cpu], None).unwrap()
        };
        let mut children: Vec<Child> = (0..INSTANCES).map(|_| start()).collect();
        let is_over = AtomicBool::new(false);
        let found: Vec<usize> = std::thread::scope(|threads| {
            threads.spawn(|| {
                crate::cpu::pin_thread_to_any(&[cpu]).unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let found = (0..TIMES).map(|_| mentioning(&text).len()).collect();
            is_over.store(true, Ordering::Relaxed);
            found
        });
        for child in &mut children {
            kill(child.id());
            child.wait().unwrap();
        }
        assert_eq!(found, vec![INSTANCES; TIMES]);
    }

    #[test]
    fn mount_points_are_read_with_their_escapes() {
        let table = b"36 35 98:0 / /mnt/a\\040b rw - ext4 /dev/x rw\nbroken\n\n1 2 3 4\n\
                      37 36 0:4 net:[4026532] /mnt/a\\040b/c\\134 rw - nsfs nsfs rw\n1 1 1 1 rel\\9 x\n";
        let found = linux::mount_points(table);
        assert_eq!(found, [Path::new("/mnt/a b"), Path::new("/mnt/a b/c\\")]);
    }

    #[test]
    fn directories_are_private_and_links_are_not_directories() {
        let path = std::env::temp_dir().join(format!("oscost-test-private-{}", std::process::id()));
        let link = path.with_extension("link");
        private_directory(&path).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let own = (is_own_directory(&path), is_own_directory(&link));
        std::fs::remove_file(&link).unwrap();
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(own, (true, false));
        assert!(!is_own_directory(&path));
        assert!(unmount_below(&path).is_ok());
    }
}
