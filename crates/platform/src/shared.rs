//! Memory that threads and forked processes of one round have in common.

use std::ops::Deref;

use crate::Refusal;

/// A value in memory that a forked child shares with its parent. It lives until the process ends:
/// a round is one short process, and a child may still be looking at it.
#[derive(Debug)]
pub struct Shared<T: 'static>(&'static T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T> Shared<T> {
    /// The value, for as long as the process lives.
    pub fn get(self) -> &'static T {
        self.0
    }
}

impl<T: Sync> Shared<T> {
    /// Moves `value` into fresh shared memory, on a page of its own.
    pub fn new(value: T) -> Result<Self, Refusal> {
        assert!(align_of::<T>() <= 4096, "a page is as aligned as memory gets here");
        let place = os::map(size_of::<T>().max(1))?.cast::<T>();
        // SAFETY: `place` is fresh, large enough, page-aligned, and never unmapped.
        unsafe {
            place.write(value);
            Ok(Self(&*place))
        }
    }
}

#[cfg(unix)]
mod os {
    use crate::Refusal;

    pub fn map(bytes: usize) -> Result<*mut u8, Refusal> {
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANON,
                -1,
                0,
            )
        };
        if place == libc::MAP_FAILED {
            return Err(Refusal::last_os_error("mmap of shared memory"));
        }
        Ok(place.cast())
    }
}

#[cfg(windows)]
mod os {
    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc,
    };

    use crate::Refusal;

    /// Windows has no fork: workers are threads, and any memory is common to them.
    pub fn map(bytes: usize) -> Result<*mut u8, Refusal> {
        // SAFETY: a new allocation touches nothing that exists.
        let place = unsafe {
            VirtualAlloc(std::ptr::null(), bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)
        };
        if place.is_null() {
            return Err(Refusal::last_os_error("VirtualAlloc"));
        }
        Ok(place.cast())
    }
}
