//! Duties of a system's first process: a kernel that starts this program as `init` offers nothing but a console.

/// Whether this is the first process of a system or container.
pub fn is_first_process() -> bool {
    std::process::id() == 1
}

/// Whether the kernel has started this program as the `/init` of an initramfs. A container's first process has the name
/// that the user gave.
pub fn is_init_of_kernel() -> bool {
    is_first_process() && std::env::args_os().next().is_some_and(|name| name == "/init")
}

/// Mounts /proc, /sys, /dev, and tmpfs on /tmp and /dev/shm, and sets the loopback interface up. Returns a message for each
/// step that failed, and carries out all others.
pub use os::set_up;

/// Opens the agent's connection with its coordinator: the terminal or port at `path`, else a virtio port named `oscost`.
/// `None` if neither exists or can be opened: then standard input and output, the console, serve. Sets terminals, also the
/// console, to raw mode.
pub use os::open_port;

/// Reaps all ended children; for the first process of a system also processes whose parent has ended. Does nothing in other
/// processes. Must not be called while another call waits for a child.
pub fn reap() {
    if is_first_process() {
        os::reap();
    }
}

/// Turns the machine off, if this is its first process. Returns only if that is not possible.
pub fn power_off() {
    if is_first_process() {
        os::power_off();
    }
}

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::ffi::CStr;
    use std::fs::{File, OpenOptions, read_dir, read_to_string};
    use std::io::Error;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    /// Name that the host gives to the virtio port for the agent.
    const PORT_NAME: &str = "oscost";

    /// Source, target, type and options of each mount; the directories are made if they are missing.
    const MOUNTS: [(&CStr, &CStr, &CStr); 5] = [
        (c"proc", c"/proc", c""),
        (c"sysfs", c"/sys", c""),
        (c"devtmpfs", c"/dev", c""),
        (c"tmpfs", c"/tmp", c"mode=1777"),
        (c"tmpfs", c"/dev/shm", c"mode=1777"),
    ];

    pub fn set_up() -> Vec<String> {
        let mut problems = Vec::new();
        for (kind, target, options) in MOUNTS {
            if let Err(error) = mount(kind, target, options) {
                problems.push(format!("mounting {}: {error}", target.to_string_lossy()));
            }
        }
        if let Err(error) = loopback_up() {
            problems.push(format!("setting lo up: {error}"));
        }
        problems
    }

    fn mount(kind: &CStr, target: &CStr, options: &CStr) -> Result<(), Error> {
        // SAFETY: all strings are NUL-terminated and outlive the calls. A directory may exist already.
        let done = unsafe {
            libc::mkdir(target.as_ptr(), 0o755);
            libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast())
        };
        match (done, Error::last_os_error()) {
            (0, _) => Ok(()),
            // The kernel has mounted it already.
            (_, error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
            (_, error) => Err(error),
        }
    }

    fn loopback_up() -> Result<(), Error> {
        // SAFETY: an all-zero ifreq is valid; the name is shorter than its field; the descriptor is closed.
        unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if socket < 0 {
                return Err(Error::last_os_error());
            }
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
                *to = *from as libc::c_char;
            }
            request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
            let done = libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request);
            let error = Error::last_os_error();
            libc::close(socket);
            if done == 0 { Ok(()) } else { Err(error) }
        }
    }

    pub fn open_port(path: Option<&Path>) -> Option<File> {
        make_raw(libc::STDIN_FILENO);
        let path = path.map(Path::to_owned).or_else(virtio_port)?;
        let port = OpenOptions::new().read(true).write(true).open(path).ok()?;
        make_raw(port.as_raw_fd());
        Some(port)
    }

    fn virtio_port() -> Option<PathBuf> {
        let ports = read_dir("/sys/class/virtio-ports").ok()?.flatten();
        let named = ports.filter(|port| {
            let name = read_to_string(port.path().join("name")).unwrap_or_default();
            name.trim() == PORT_NAME
        });
        named.map(|port| Path::new("/dev").join(port.file_name())).next()
    }

    /// Sets a terminal to raw mode: no echo, no line editing with its limit of 4,095 characters, no changed line breaks.
    /// Does nothing for other files.
    fn make_raw(descriptor: libc::c_int) {
        // SAFETY: an all-zero termios is a valid place; the calls only read or write it.
        unsafe {
            let mut terminal: libc::termios = std::mem::zeroed();
            if libc::tcgetattr(descriptor, &mut terminal) == 0 {
                libc::cfmakeraw(&mut terminal);
                libc::tcsetattr(descriptor, libc::TCSANOW, &terminal);
            }
        }
    }

    pub fn reap() {
        // SAFETY: no status is stored; the call does not block.
        while unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) } > 0 {}
    }

    pub fn power_off() {
        // SAFETY: plain calls without memory.
        unsafe {
            libc::sync();
            libc::reboot(libc::RB_POWER_OFF);
        }
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::File;
    use std::path::Path;

    pub fn set_up() -> Vec<String> {
        vec!["only Linux starts this program as its first process".to_owned()]
    }

    pub fn open_port(path: Option<&Path>) -> Option<File> {
        File::options().read(true).write(true).open(path?).ok()
    }

    pub fn reap() {}

    pub fn power_off() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_process_is_not_the_first_one() {
        assert!(!is_first_process() && !is_init_of_kernel());
        // Both calls do nothing in an ordinary process.
        reap();
        power_off();
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_port_that_does_not_exist_leaves_the_console() {
        assert!(open_port(Some(std::path::Path::new("/nowhere/port"))).is_none());
    }
}
