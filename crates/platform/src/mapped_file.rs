//! Private mappings of a file.

pub use os::FileMappings;

#[cfg(unix)]
mod os {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::ptr::NonNull;

    use crate::CaseError;
    use crate::memory::map_anonymous;

    /// Several private mappings of the beginning of one file at consecutive addresses, readable and writable; unmapped when
    /// dropped. No page is mapped at first. Writes do not reach the file.
    #[derive(Debug)]
    pub struct FileMappings {
        start: NonNull<u8>,
        each: usize,
        count: usize,
    }

    impl FileMappings {
        /// Maps the first `each` bytes of `file` `count` times. `each` must be a multiple of the page size, and at most the
        /// file's size.
        ///
        /// # Errors
        /// If the system refuses.
        pub fn new(file: &File, each: usize, count: usize) -> Result<Self, CaseError> {
            let (bytes, access) = (each * count, libc::PROT_NONE);
            let start = map_anonymous(bytes, access, libc::MAP_PRIVATE, "mmap")?;
            let mappings = Self { start, each, count };
            mappings.reset(file).map(|()| mappings)
        }

        /// Maps the file anew, so that no page is mapped and earlier writes are discarded.
        ///
        /// # Errors
        /// If the system refuses.
        pub fn reset(&self, file: &File) -> Result<(), CaseError> {
            for number in 0..self.count {
                // SAFETY: the range is part of this reservation, and nothing relies on what is there.
                let place = unsafe {
                    libc::mmap(
                        self.start().add(number * self.each).cast(),
                        self.each,
                        libc::PROT_READ | libc::PROT_WRITE,
                        libc::MAP_PRIVATE | libc::MAP_FIXED,
                        file.as_raw_fd(),
                        0,
                    )
                };
                if place == libc::MAP_FAILED {
                    return Err(CaseError::last_os_error("mmap of a file"));
                }
            }
            Ok(())
        }

        /// The first byte of the first mapping.
        pub fn start(&self) -> *mut u8 {
            self.start.as_ptr()
        }

        /// Bytes of all mappings.
        #[allow(clippy::len_without_is_empty, reason = "it never is")]
        pub fn len(&self) -> usize {
            self.each * self.count
        }
    }

    impl Drop for FileMappings {
        fn drop(&mut self) {
            // SAFETY: the range is this reservation, and nothing refers to it any more.
            unsafe { libc::munmap(self.start().cast(), self.len()) };
        }
    }
}

#[cfg(windows)]
mod os {
    use std::fs::File;

    use crate::CaseError;

    /// Mappings of a file, which are not made on Windows.
    #[derive(Debug)]
    pub enum FileMappings {}

    impl FileMappings {
        /// Fails: no mappings are made on Windows.
        ///
        /// # Errors
        /// `Unsupported`.
        pub fn new(_file: &File, _each: usize, _count: usize) -> Result<Self, CaseError> {
            Err(CaseError::Unsupported("exists only on Unix-like systems".into()))
        }

        /// Never called: there are no such mappings.
        pub fn reset(&self, _file: &File) -> Result<(), CaseError> {
            match *self {}
        }

        /// Never called: there are no such mappings.
        pub fn start(&self) -> *mut u8 {
            match *self {}
        }

        /// Never called: there are no such mappings.
        #[allow(clippy::len_without_is_empty, reason = "it never is")]
        pub fn len(&self) -> usize {
            match *self {}
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;
    use crate::memory::page_size;

    #[test]
    fn each_mapping_has_the_file_and_what_is_written_to_one_is_its_own() {
        let mut file = File::open(std::env::current_exe().unwrap()).unwrap();
        let each = 4 * page_size();
        let mappings = FileMappings::new(&file, each, 3).unwrap();
        assert_eq!(mappings.len(), 3 * each);
        let mut first = [0u8; 64];
        file.read_exact(&mut first).unwrap();
        let byte = |at: usize| mappings.start().wrapping_add(at);
        for number in 0..3 {
            for (at, expected) in first.iter().enumerate() {
                // SAFETY: the address is within the mappings.
                assert_eq!(unsafe { byte(number * each + at).read_volatile() }, *expected);
            }
        }
        // SAFETY: as above.
        unsafe {
            byte(each).write_volatile(!first[0]);
            assert_eq!(byte(0).read_volatile(), first[0]);
            assert_eq!(byte(2 * each).read_volatile(), first[0]);
            mappings.reset(&file).unwrap();
            assert_eq!(byte(each).read_volatile(), first[0]);
        }
    }
}
