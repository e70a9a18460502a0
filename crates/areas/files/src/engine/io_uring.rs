//! io_uring: one system call submits reads and waits for completed ones.

use std::fs::File;

use measure::CaseError;

use super::reader::ReadQueue;

/// A queue of up to `depth` reads.
///
/// # Errors
/// `Unsupported` if the system has no io_uring, or does not permit it.
#[platform::only(linux)]
pub fn queue(file: File, depth: usize) -> Result<Box<dyn ReadQueue>, CaseError> {
    use std::io;
    use std::os::fd::AsRawFd;

    use io_uring::types::Fd;
    use io_uring::{IoUring, opcode};

    use super::slots::Slots;
    use crate::BLOCK;

    struct Ring {
        ring: IoUring,
        file: File,
        slots: Slots,
        under_way: usize,
    }

    impl Ring {
        fn enter(&mut self) -> io::Result<()> {
            loop {
                match self.ring.submit_and_wait(1) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    other => return other.map(drop),
                }
            }
        }
    }

    impl ReadQueue for Ring {
        fn submit(&mut self, slot: usize, offset: u64) -> io::Result<()> {
            let fd = Fd(self.file.as_raw_fd());
            let read = opcode::Read::new(fd, self.slots.place(slot), BLOCK as u32);
            let read = read.offset(offset).build().user_data(slot as u64);
            // SAFETY: the slot is used by this read only, and its memory is not freed before the read is complete.
            unsafe { self.ring.submission().push(&read) }
                .map_err(|_| io::Error::other("more reads than the ring has room for"))?;
            self.under_way += 1;
            Ok(())
        }

        fn wait(&mut self, done: &mut Vec<usize>) -> io::Result<()> {
            self.enter()?;
            for entry in self.ring.completion() {
                self.under_way -= 1;
                match entry.result() {
                    error @ ..0 => return Err(io::Error::from_raw_os_error(-error)),
                    bytes if bytes as usize == BLOCK => done.push(entry.user_data() as usize),
                    _ => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
            Ok(())
        }

        fn block(&self, slot: usize) -> &[u8] {
            // SAFETY: the caller requests only blocks of complete reads.
            unsafe { self.slots.block(slot) }
        }
    }

    impl Drop for Ring {
        fn drop(&mut self) {
            while self.under_way > 0 {
                if self.enter().is_err() {
                    return; // leaks the buffers, which the reads may still write to
                }
                self.under_way -= self.ring.completion().count();
            }
            // SAFETY: all reads are complete, and the queue is no longer used.
            unsafe { self.slots.free() };
        }
    }

    let ring = IoUring::new(depth.next_power_of_two() as u32)
        .map_err(|e| platform::uring::error_of("io_uring_setup", &e))?;
    Ok(Box::new(Ring { ring, file, slots: Slots::new(depth), under_way: 0 }))
}
