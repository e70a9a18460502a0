//! Memory from the system in whole pages, which it provides when they are first written to.

use std::fs::File;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::CaseError;

/// Private mapped pages, unmapped when dropped.
#[derive(Debug)]
pub struct Pages {
    first: *mut u8,
    bytes: usize,
}

// SAFETY: the memory belongs to no thread, and one that has only a shared reference writes to it by atomic stores.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

/// The permitted access to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No access.
    Forbidden,
    /// Read access.
    Read,
    /// Read and write access.
    Write,
}

/// Changes the access to whole pages; returns whether that succeeded.
pub use os::protect;

impl Pages {
    /// Maps `bytes` of new memory, all of it zero; `None` if the system refuses.
    #[inline(always)]
    pub fn new(bytes: usize) -> Option<Self> {
        let first = os::map(bytes)?;
        Some(Self { first, bytes })
    }

    /// Maps the first `bytes` of a file, shared with all processes that map it.
    ///
    /// # Errors
    /// The error of mmap(2); `Unsupported` on Windows.
    #[inline(always)]
    pub fn of_file(file: &File, bytes: usize) -> Result<Self, CaseError> {
        let first = os::map_file(file, bytes)?;
        Ok(Self { first, bytes })
    }

    /// Address of the first byte.
    #[inline(always)]
    pub fn first(&self) -> *mut u8 {
        self.first
    }

    /// Writes to the first byte of each page of `page` bytes.
    #[inline(always)]
    pub fn touch(&self, page: usize) {
        for at in (0..self.bytes).step_by(page.max(1)) {
            self.store(at, 1);
        }
    }

    /// Makes all pages read-only, then writable again, and writes to the first byte; returns whether that succeeded.
    #[inline(always)]
    pub fn protect_and_write(&mut self) -> bool {
        let done = protect(self.first, self.bytes, Access::Read)
            && protect(self.first, self.bytes, Access::Write);
        if done {
            self.store(0, 2);
        }
        done
    }

    #[inline(always)]
    fn store(&self, at: usize, value: u8) {
        // SAFETY: the byte is part of the mapping, which is writable except during a call with an exclusive reference.
        unsafe { AtomicU8::from_ptr(self.first.add(at)) }.store(value, Ordering::Relaxed);
    }

    /// Unmaps the pages; returns whether that succeeded.
    #[inline(always)]
    pub fn free(self) -> bool {
        let pages = std::mem::ManuallyDrop::new(self);
        os::unmap(pages.first, pages.bytes)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        os::unmap(self.first, self.bytes);
    }
}

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    use super::Access;
    use crate::CaseError;

    const WRITABLE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

    #[inline(always)]
    pub fn map(bytes: usize) -> Option<*mut u8> {
        mapped(bytes, libc::MAP_PRIVATE | libc::MAP_ANON, -1)
    }

    #[inline(always)]
    pub fn map_file(file: &File, bytes: usize) -> Result<*mut u8, CaseError> {
        let first = mapped(bytes, libc::MAP_SHARED, file.as_raw_fd());
        first.ok_or_else(|| CaseError::last_os_error("mmap"))
    }

    #[inline(always)]
    fn mapped(bytes: usize, kind: libc::c_int, fd: libc::c_int) -> Option<*mut u8> {
        // SAFETY: a new mapping touches nothing that exists.
        let first = unsafe { libc::mmap(std::ptr::null_mut(), bytes, WRITABLE, kind, fd, 0) };
        (first != libc::MAP_FAILED).then_some(first.cast())
    }

    #[inline(always)]
    pub fn protect(first: *mut u8, bytes: usize, access: Access) -> bool {
        let access = match access {
            Access::Forbidden => libc::PROT_NONE,
            Access::Read => libc::PROT_READ,
            Access::Write => WRITABLE,
        };
        // SAFETY: the caller has this mapping for itself.
        unsafe { libc::mprotect(first.cast(), bytes, access) == 0 }
    }

    #[inline(always)]
    pub fn unmap(first: *mut u8, bytes: usize) -> bool {
        // SAFETY: the caller has this mapping for itself and gives it up.
        unsafe { libc::munmap(first.cast(), bytes) == 0 }
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::fs::File;

    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READONLY, PAGE_READWRITE,
        VirtualAlloc, VirtualFree, VirtualProtect,
    };

    use super::Access;
    use crate::CaseError;

    #[inline(always)]
    pub fn map(bytes: usize) -> Option<*mut u8> {
        let kind = MEM_COMMIT | MEM_RESERVE;
        // SAFETY: a new allocation touches nothing that exists.
        let first = unsafe { VirtualAlloc(std::ptr::null(), bytes, kind, PAGE_READWRITE) };
        (!first.is_null()).then_some(first.cast())
    }

    pub fn map_file(_file: &File, _bytes: usize) -> Result<*mut u8, CaseError> {
        Err(CaseError::Unsupported("measured on Unix-like systems only".into()))
    }

    #[inline(always)]
    pub fn protect(first: *mut u8, bytes: usize, access: Access) -> bool {
        let access = match access {
            Access::Forbidden => PAGE_NOACCESS,
            Access::Read => PAGE_READONLY,
            Access::Write => PAGE_READWRITE,
        };
        let mut before = 0;
        // SAFETY: the caller has this memory for itself; `before` is valid for writes.
        unsafe { VirtualProtect(first.cast(), bytes, access, &mut before) != 0 }
    }

    #[inline(always)]
    pub fn unmap(first: *mut u8, _bytes: usize) -> bool {
        // SAFETY: the caller has this memory for itself and gives it up.
        unsafe { VirtualFree(first.cast(), 0, MEM_RELEASE) != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::page_size;

    #[test]
    fn pages_are_written_protected_and_given_back() {
        let page = page_size();
        assert!(page >= 4096 && page.is_power_of_two());
        let mut pages = Pages::new(4 * page).unwrap();
        pages.touch(page);
        assert!(pages.protect_and_write());
        // SAFETY: the memory is mapped and nobody writes to it now.
        let bytes = unsafe { std::slice::from_raw_parts(pages.first, pages.bytes) };
        assert_eq!([bytes[0], bytes[1], bytes[page], bytes[3 * page]], [2, 0, 1, 1]);
        assert!(pages.free());
        assert!(Pages::new(0).is_none());
    }

    #[test]
    #[cfg(unix)]
    fn what_is_written_to_a_mapped_file_is_in_the_file() {
        use std::io::{Read, Seek};

        let path = std::env::temp_dir().join(format!("oscost-test-pages-{}", std::process::id()));
        let options = || File::options().read(true).write(true).create(true).truncate(true).clone();
        let mut file = options().open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let page = page_size();
        file.set_len(2 * page as u64).unwrap();
        Pages::of_file(&file, 2 * page).unwrap().touch(page);
        let mut content = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut content).unwrap();
        assert_eq!((content.len(), content[0], content[page]), (2 * page, 1, 1));
    }
}
