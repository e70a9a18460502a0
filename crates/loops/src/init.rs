//! Duties of the first process of a kernel.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;

use crate::agent;

/// The variable with the path of the device over which a kernel's first process is asked.
const CHANNEL: &str = "OSCOST_CHANNEL";
/// File systems that loops need, and where they are mounted.
const MOUNTS: [(&CStr, &CStr); 4] =
    [(c"proc", c"/proc"), (c"devtmpfs", c"/dev"), (c"tmpfs", c"/tmp"), (c"tmpfs", c"/dev/shm")];

/// Serves requests as [`agent::serve`] does. As the first process of a kernel it sets the system up before, speaks over the device
/// that the kernel's command line names, and turns the machine off at the end.
///
/// # Errors
/// If the input cannot be read or the output cannot be written.
pub fn serve(input: impl Read, output: impl Write) -> io::Result<()> {
    // The first process of a container has another name.
    let is_named_init = std::env::args_os().next().is_some_and(|name| name == "/init");
    if std::process::id() != 1 || !is_named_init {
        return agent::serve(input, output);
    }
    set_up();
    let served = match channel() {
        Some(device) => agent::serve(&device, &device),
        None => agent::serve(input, output),
    };
    power_off();
    served
}

/// Mounts file systems and sets the loopback interface up. What fails is missed by the loops that need it, which then say so.
fn set_up() {
    for (kind, target) in MOUNTS {
        // SAFETY: all strings end with NUL.
        unsafe {
            libc::mkdir(target.as_ptr(), 0o755);
            libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null());
        }
    }
    // SAFETY: an all-zero request is valid; its name is shorter than the field.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[..2].copy_from_slice(&[b'l' as libc::c_char, b'o' as libc::c_char]);
        request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
        libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request);
        libc::close(socket);
    }
}

/// Opens the device over which this process is asked; `None` if that is the console, its standard input and output. Both are set
/// to raw mode: without echo, and without line editing with its limit of 4,095 characters.
fn channel() -> Option<File> {
    let device = std::env::var_os(CHANNEL)
        .and_then(|path| File::options().read(true).write(true).open(path).ok());
    let descriptor = device.as_ref().map_or(libc::STDIN_FILENO, File::as_raw_fd);
    // SAFETY: an all-zero termios is a valid place; the calls only read or write it.
    unsafe {
        let mut terminal: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(descriptor, &mut terminal) == 0 {
            libc::cfmakeraw(&mut terminal);
            libc::tcsetattr(descriptor, libc::TCSANOW, &terminal);
        }
    }
    device
}

/// Turns the machine off.
fn power_off() {
    // SAFETY: plain calls without memory.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
}
