//! Page faults that a thread of the same program resolves (userfaultfd(2)).

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use measure::CaseError;
use platform::cpu::pin_thread;
use platform::memory::{Region, page_size};

/// Byte with which the handler fills each page.
pub const CONTENT: u8 = 0x5a;

/// Flag for faults in user mode only, which is permitted without privileges (linux/userfaultfd.h).
const UFFD_USER_MODE_ONLY: libc::c_int = 1;
const UFFD_API: u64 = 0xaa;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_COPY: libc::c_ulong = 0xc028_aa03;
const REGISTER_MISSING: u64 = 1;
const EVENT_PAGEFAULT: u8 = 0x12;

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Copy {
    to: u64,
    from: u64,
    len: u64,
    mode: u64,
    copied: i64,
}

/// The faults of a region.
#[derive(Debug)]
pub struct Userfaults {
    events: File,
}

/// Makes the missing pages of `region` wait for this program: see [`Userfaults::supply`].
pub fn register(region: &Region) -> Result<Userfaults, CaseError> {
    let flags = libc::O_CLOEXEC | UFFD_USER_MODE_ONLY;
    // SAFETY: the call has no pointers.
    let mut fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if fd < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL) {
        // Linux before 5.11 has no such flag. SAFETY: as above.
        fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
    }
    if fd < 0 {
        return Err(CaseError::last_os_error("userfaultfd"));
    }
    // SAFETY: the descriptor was just opened and is ours alone.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) };
    let mut api = Api { api: UFFD_API, features: 0, ioctls: 0 };
    // SAFETY: the structure is that of the request.
    if unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API as _, &mut api) } != 0 {
        return Err(CaseError::last_os_error("UFFDIO_API"));
    }
    let (start, len) = (region.start() as u64, region.len() as u64);
    let mut range = Register { start, len, mode: REGISTER_MISSING, ioctls: 0 };
    // SAFETY: the structure is that of the request, and the range a region of this process.
    if unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_REGISTER as _, &mut range) } != 0 {
        return Err(CaseError::last_os_error("UFFDIO_REGISTER"));
    }
    Ok(Userfaults { events: File::from(fd) })
}

impl Userfaults {
    /// Waits for the next fault, supplies a copy of `page`, and returns the faulting address.
    ///
    pub fn supply(&self, page: &[u8]) -> Result<usize, CaseError> {
        assert_eq!(page.len(), page_size(), "a fault is resolved with a whole page");
        let mut event = [0u8; 32]; // size of struct uffd_msg
        let read = (&self.events).read(&mut event);
        match read {
            Ok(32) if event[0] == EVENT_PAGEFAULT => {}
            Ok(_) => return Err(CaseError::Failed("an event that is no page fault".into())),
            Err(error) => return Err(CaseError::from_io("reading a page fault", &error)),
        }
        let address = u64::from_ne_bytes(event[16..24].try_into().expect("eight bytes"));
        let to = address & !(page.len() as u64 - 1);
        let (from, len) = (page.as_ptr() as u64, page.len() as u64);
        let mut copy = Copy { to, from, len, mode: 0, copied: 0 };
        // SAFETY: the structure is that of the request; the kernel copies to a missing page of the region.
        let done = unsafe { libc::ioctl(self.events.as_raw_fd(), UFFDIO_COPY as _, &mut copy) };
        if done != 0 {
            return Err(CaseError::last_os_error("UFFDIO_COPY"));
        }
        Ok(address as usize)
    }
}

/// Supplies pages until one is requested after `stop`. If it fails, the descriptor is closed, and the system resolves all further
/// faults itself: no reader waits forever, and each reads wrong contents.
pub fn handle(faults: Userfaults, cpu: usize, stop: &AtomicBool) -> Result<(), CaseError> {
    pin_thread(cpu)?;
    let page = vec![CONTENT; page_size()];
    loop {
        faults.supply(&page)?;
        if stop.load(Ordering::Acquire) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use platform::memory::Pages;

    use super::*;

    #[test]
    fn a_missing_page_is_supplied() {
        let region = Region::new(4 * page_size(), Pages::Base).unwrap();
        let faults = match register(&region) {
            Ok(faults) => faults,
            Err(CaseError::Unsupported(reason)) => return testing::skip(&reason),
            Err(error) => panic!("{error}"),
        };
        let page = vec![0x5a; page_size()];
        std::thread::scope(|scope| {
            let supplied = scope.spawn(|| faults.supply(&page).unwrap());
            let place = region.start().wrapping_add(2 * page_size() + 7);
            // SAFETY: the address is within the region.
            assert_eq!(unsafe { place.read_volatile() }, 0x5a);
            assert_eq!(supplied.join().unwrap() & !(page_size() - 1), place as usize - 7);
        });
    }
}
