//! Whether a process is running.

/// Whether the process `pid` is running, as far as this process may find out. A zombie is not.
pub use os::is_alive;

/// Whether the process `pid` is running and, as far as the system reports it, executes this program: pids are reused.
pub fn is_alive_and_ours(pid: u32) -> bool {
    is_alive(pid) && os::runs_our_program(pid)
}

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    pub fn is_alive(pid: u32) -> bool {
        // SAFETY: the call has no pointers; signal 0 is not delivered.
        let result = unsafe { libc::kill(pid as libc::pid_t, 0) };
        let exists =
            result == 0 || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
        exists && !has_ended(pid)
    }

    /// Whether the process is a zombie, by the state in /proc/PID/stat, which follows the name.
    fn has_ended(pid: u32) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, fields)| fields.chars().next());
        matches!(state, Some('Z' | 'X'))
    }

    /// Whether the process has this one's name in /proc; true on systems without it.
    pub fn runs_our_program(pid: u32) -> bool {
        let name = |who: &str| std::fs::read_to_string(format!("/proc/{who}/comm")).ok();
        match (name("self"), name(&pid.to_string())) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => true,
        }
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use windows_sys::Win32::Foundation::{CloseHandle, STILL_ACTIVE};
    use windows_sys::Win32::System::Threading::{
        GetExitCodeProcess, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION,
    };

    pub fn is_alive(pid: u32) -> bool {
        // SAFETY: the handle is checked, used for one query, and closed.
        unsafe {
            let process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, 0, pid);
            if process.is_null() {
                return false;
            }
            let mut code = 0;
            let result = GetExitCodeProcess(process, &mut code);
            CloseHandle(process);
            result != 0 && code == STILL_ACTIVE as u32
        }
    }

    pub fn runs_our_program(_pid: u32) -> bool {
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_a_reaped_child_is_not() {
        assert!(is_alive(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(!is_alive(pid));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_zombie_is_not_alive() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let began = std::time::Instant::now();
        while is_alive(child.id()) {
            assert!(began.elapsed().as_secs() < 60, "it never ends");
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn a_process_of_another_program_is_not_ours() {
        assert!(is_alive_and_ours(std::process::id()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let ours = is_alive_and_ours(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!ours || !std::path::Path::new("/proc/self/comm").exists());
    }
}
