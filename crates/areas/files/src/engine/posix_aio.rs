//! POSIX asynchronous I/O: aio_read for one read, lio_listio for several.

use std::fs::File;

use measure::CaseError;

use super::reader::ReadQueue;

/// A queue of up to `depth` reads.
///
/// # Errors
/// `Unsupported` if the system lacks POSIX aio.
#[platform::only(unix)]
pub fn queue(file: File, depth: usize) -> Result<Box<dyn ReadQueue>, CaseError> {
    use std::io;
    use std::os::fd::AsRawFd;
    use std::ptr::null;

    use libc::aiocb;

    use super::slots::Slots;
    use crate::BLOCK;

    /// Maximum number of requests in a list: every system takes this many.
    const LIST_AT_MOST: usize = 16;

    struct Aio {
        file: File,
        slots: Slots,
        /// The request of each slot, which the library changes while the read is under way.
        requests: Vec<*mut aiocb>,
        /// Slots whose requests are still to be submitted.
        next: Vec<usize>,
        under_way: Vec<usize>,
    }

    fn checked(result: libc::c_int) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    impl Aio {
        /// Submits the requests of all slots in `next`.
        fn flush(&mut self) -> io::Result<()> {
            for slots in self.next.chunks(LIST_AT_MOST) {
                let list: Vec<*mut aiocb> = slots.iter().map(|&slot| self.requests[slot]).collect();
                self.under_way.extend(slots);
                // SAFETY: the requests and their buffers stay until the reads are complete.
                checked(unsafe {
                    match list[..] {
                        [one] => libc::aio_read(one),
                        _ => libc::lio_listio(
                            libc::LIO_NOWAIT,
                            list.as_ptr(),
                            list.len() as libc::c_int,
                            std::ptr::null_mut(),
                        ),
                    }
                })?;
            }
            self.next.clear();
            Ok(())
        }

        /// Waits for at least one of the reads under way.
        fn suspend(&self) -> io::Result<()> {
            let list: Vec<*const aiocb> =
                self.under_way.iter().map(|&slot| self.requests[slot].cast_const()).collect();
            loop {
                // SAFETY: the list has valid requests; null means no time limit.
                let waited = checked(unsafe {
                    libc::aio_suspend(list.as_ptr(), list.len() as libc::c_int, null())
                });
                match waited {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    other => return other,
                }
            }
        }

        /// Result of a request; `None` while the read is under way.
        fn outcome(&self, slot: usize) -> Option<io::Result<()>> {
            let request = self.requests[slot];
            // SAFETY: the request was submitted; aio_return is called once, when it is complete.
            unsafe {
                match libc::aio_error(request) {
                    libc::EINPROGRESS => None,
                    0 if libc::aio_return(request) == BLOCK as isize => Some(Ok(())),
                    0 => Some(Err(io::ErrorKind::UnexpectedEof.into())),
                    -1 => Some(Err(io::Error::last_os_error())),
                    error => {
                        libc::aio_return(request);
                        Some(Err(io::Error::from_raw_os_error(error)))
                    }
                }
            }
        }
    }

    impl ReadQueue for Aio {
        fn submit(&mut self, slot: usize, offset: u64) -> io::Result<()> {
            let request = self.requests[slot];
            // SAFETY: no read of this slot is under way, so the request is this thread's alone; zeros are valid.
            unsafe {
                request.write(std::mem::zeroed());
                (*request).aio_fildes = self.file.as_raw_fd();
                (*request).aio_lio_opcode = libc::LIO_READ;
                (*request).aio_buf = self.slots.place(slot).cast();
                (*request).aio_nbytes = BLOCK;
                (*request).aio_offset = offset as libc::off_t;
                (*request).aio_sigevent.sigev_notify = libc::SIGEV_NONE;
            }
            self.next.push(slot);
            Ok(())
        }

        fn wait(&mut self, done: &mut Vec<usize>) -> io::Result<()> {
            self.flush()?;
            self.suspend()?;
            let mut first_error = Ok(());
            for slot in std::mem::take(&mut self.under_way) {
                match self.outcome(slot) {
                    None => self.under_way.push(slot),
                    Some(Ok(())) => done.push(slot),
                    Some(Err(e)) => first_error = Err(e),
                }
            }
            first_error
        }

        fn block(&self, slot: usize) -> &[u8] {
            // SAFETY: the caller requests only blocks of complete reads.
            unsafe { self.slots.block(slot) }
        }
    }

    impl Drop for Aio {
        fn drop(&mut self) {
            while !self.under_way.is_empty() {
                if self.suspend().is_err() {
                    return; // leaks the requests and buffers, which the reads may still write to
                }
                let under_way = std::mem::take(&mut self.under_way).into_iter();
                self.under_way = under_way.filter(|&slot| self.outcome(slot).is_none()).collect();
            }
            // SAFETY: all reads are complete, and the queue is no longer used; the requests came from boxes.
            unsafe {
                self.requests.drain(..).for_each(|request| drop(Box::from_raw(request)));
                self.slots.free();
            }
        }
    }

    // SAFETY: zeros are a valid request.
    let request = || Box::into_raw(Box::new(unsafe { std::mem::zeroed::<aiocb>() }));
    Ok(Box::new(Aio {
        file,
        slots: Slots::new(depth),
        requests: (0..depth).map(|_| request()).collect(),
        next: Vec::with_capacity(depth),
        under_way: Vec::with_capacity(depth),
    }))
}
