//! Memory that threads and forked processes share.

use std::ops::Deref;
use std::sync::atomic::AtomicU64;

use crate::CaseError;

/// A value in memory that a forked child shares with its parent. It is never freed: a child may still use it, and a process
/// has few such values or ends soon.
#[derive(Debug)]
pub struct Shared<T: ?Sized + 'static>(&'static T);

impl<T: ?Sized> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Shared<T> {}

impl<T: ?Sized> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0
    }
}

impl<T: ?Sized> Shared<T> {
    /// The value, for as long as the process lives.
    pub fn get(self) -> &'static T {
        self.0
    }
}

impl<T: Sync> Shared<T> {
    /// Moves `value` into new shared memory.
    pub fn new(value: T) -> Result<Self, CaseError> {
        assert!(align_of::<T>() <= 4096, "a page is as aligned as memory gets here");
        let place = os::map(size_of::<T>().max(1))?.cast::<T>();
        // SAFETY: `place` is new, large enough, page-aligned, and never unmapped.
        unsafe {
            place.write(value);
            Ok(Self(&*place))
        }
    }
}

impl Shared<[AtomicU64]> {
    /// `count` zeros in new shared memory, of which only pages that are used take memory.
    pub fn zeros(count: usize) -> Result<Self, CaseError> {
        let first = os::map((count * size_of::<AtomicU64>()).max(1))?.cast::<AtomicU64>();
        // SAFETY: new memory is zero on all systems, page-aligned, large enough for `count` values, and never unmapped.
        Ok(Self(unsafe { std::slice::from_raw_parts(first, count) }))
    }
}

impl<T: Sync> Shared<[T]> {
    /// `count` values in new shared memory, each constructed in place.
    pub fn list(count: usize, make: impl Fn() -> T) -> Result<Self, CaseError> {
        assert!(align_of::<T>() <= 4096, "a page is as aligned as memory gets here");
        let bytes = size_of::<T>().checked_mul(count);
        let bytes = bytes.ok_or_else(|| CaseError::Failed("too much shared memory".into()))?;
        let first = os::map(bytes.max(1))?.cast::<T>();
        for at in 0..count {
            // SAFETY: `first` is new, page-aligned, and large enough for `count` values.
            unsafe { first.add(at).write(make()) };
        }
        // SAFETY: all `count` values were written just now, and are never unmapped.
        Ok(Self(unsafe { std::slice::from_raw_parts(first, count) }))
    }
}

#[cfg(unix)]
mod os {
    use crate::CaseError;
    use crate::memory::map_anonymous;

    pub fn map(bytes: usize) -> Result<*mut u8, CaseError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let place = map_anonymous(bytes, access, libc::MAP_SHARED, "mmap of shared memory")?;
        Ok(place.as_ptr())
    }
}

#[cfg(windows)]
mod os {
    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc,
    };

    use crate::CaseError;

    /// Allocates memory of this process: Windows has no fork, so workers are threads, which share all memory.
    pub fn map(bytes: usize) -> Result<*mut u8, CaseError> {
        // SAFETY: a new allocation touches nothing that exists.
        let place = unsafe {
            VirtualAlloc(std::ptr::null(), bytes, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE)
        };
        if place.is_null() {
            return Err(CaseError::last_os_error("VirtualAlloc"));
        }
        Ok(place.cast())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_list_has_the_requested_number_of_values() {
        let made = AtomicUsize::new(0);
        let make = || [made.fetch_add(1, Ordering::Relaxed); 100];
        let list = Shared::list(1_000, make).unwrap();
        assert_eq!(list.len(), 1_000);
        assert!(list.iter().enumerate().all(|(at, value)| *value == [at; 100]));
        assert!(Shared::list(0, make).unwrap().is_empty());
        let zeros = Shared::zeros(5_000).unwrap();
        assert!(zeros.len() == 5_000 && zeros.iter().all(|zero| zero.load(Ordering::Relaxed) == 0));
    }
}
