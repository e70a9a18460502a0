//! Files mapped into memory.

use std::fs::File;
use std::io;
use std::ops::Deref;

/// The beginning of a file, mapped for reading and shared with other processes; unmapped when dropped.
pub struct FileMapping {
    place: *const u8,
    length: usize,
}

// SAFETY: the mapping is only read, belongs to no thread, and stays until it is dropped.
unsafe impl Send for FileMapping {}

impl FileMapping {
    /// Maps the first `length` bytes of `file`, by mmap(2), or by `CreateFileMappingW` and `MapViewOfFile`.
    ///
    /// # Safety
    /// While the mapping exists, the file must have at least that length, and nobody may write to it.
    ///
    /// # Errors
    /// Errors of the calls; `InvalidInput` for a `length` of 0.
    #[inline]
    pub unsafe fn new(file: &File, length: usize) -> io::Result<Self> {
        if length == 0 {
            // Windows would map the whole file.
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self { place: os::map(file, length)?, length })
    }

    /// Advises the system that pages will be read in random order, so that it reads none ahead, where it takes such advice.
    pub fn expect_random_reads(&self) {
        os::expect_random_reads(self.place, self.length);
    }
}

impl Deref for FileMapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping has that length, and by the contract of `new` the file has too and does not change.
        unsafe { std::slice::from_raw_parts(self.place, self.length) }
    }
}

impl Drop for FileMapping {
    #[inline]
    fn drop(&mut self) {
        os::unmap(self.place, self.length);
    }
}

#[cfg(unix)]
mod os {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    #[inline]
    pub fn map(file: &File, length: usize) -> io::Result<*const u8> {
        let (none, fd) = (std::ptr::null_mut(), file.as_raw_fd());
        // SAFETY: a new mapping at a place of the system's choice; the descriptor is open.
        let place = unsafe { libc::mmap(none, length, libc::PROT_READ, libc::MAP_SHARED, fd, 0) };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(place.cast_const().cast())
    }

    pub fn expect_random_reads(place: *const u8, length: usize) {
        // SAFETY: advice on a mapping that exists; it changes no contents. Where it is refused, nothing is lost.
        let _ = unsafe { libc::madvise(place.cast_mut().cast(), length, libc::MADV_RANDOM) };
    }

    #[inline]
    pub fn unmap(place: *const u8, length: usize) {
        // SAFETY: the mapping was made with that length, and its owner is being dropped.
        let _ = unsafe { libc::munmap(place.cast_mut().cast(), length) };
    }
}

#[cfg(windows)]
mod os {
    use std::fs::File;
    use std::io;
    use std::os::windows::io::AsRawHandle;
    use std::ptr::null;

    use windows_sys::Win32::Foundation::CloseHandle;
    use windows_sys::Win32::System::Memory::{
        CreateFileMappingW, FILE_MAP_READ, MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile,
        PAGE_READONLY, UnmapViewOfFile,
    };

    #[inline]
    pub fn map(file: &File, length: usize) -> io::Result<*const u8> {
        let (high, low) = ((length as u64 >> 32) as u32, length as u32);
        // SAFETY: the file's handle is open, null means the usual security and no name; the mapping's handle may be
        // closed while a view of it exists.
        unsafe {
            let mapping =
                CreateFileMappingW(file.as_raw_handle(), null(), PAGE_READONLY, high, low, null());
            if mapping.is_null() {
                return Err(io::Error::last_os_error());
            }
            let view = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, length);
            let error = io::Error::last_os_error();
            CloseHandle(mapping);
            if view.Value.is_null() { Err(error) } else { Ok(view.Value.cast_const().cast()) }
        }
    }

    pub fn expect_random_reads(_place: *const u8, _length: usize) {}

    #[inline]
    pub fn unmap(place: *const u8, _length: usize) {
        let view = MEMORY_MAPPED_VIEW_ADDRESS { Value: place.cast_mut().cast() };
        // SAFETY: the view exists, and its owner is being dropped.
        unsafe { UnmapViewOfFile(view) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_has_the_files_contents() {
        let path = std::env::temp_dir().join(format!("oscost-test-mapping-{}", std::process::id()));
        let contents: Vec<u8> = (0..10_000u32).map(|n| n as u8).collect();
        std::fs::write(&path, &contents).unwrap();
        let file = File::open(&path).unwrap();
        // SAFETY: the file has that length, and only this test knows it.
        let mapping = unsafe { FileMapping::new(&file, contents.len()) }.unwrap();
        mapping.expect_random_reads();
        assert_eq!(&*mapping, contents);
        // SAFETY: nothing is mapped.
        assert!(unsafe { FileMapping::new(&file, 0) }.is_err());
        drop((mapping, file));
        std::fs::remove_file(&path).unwrap();
    }
}
