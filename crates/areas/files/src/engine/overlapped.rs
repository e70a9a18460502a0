//! Overlapped reads of Windows, whose completion an I/O completion port reports.

use std::path::Path;

use measure::CaseError;

use super::reader::{Mode, ReadQueue};

/// A queue of up to `depth` reads.
///
/// # Errors
/// `Unsupported` except on Windows; errors of opening the file.
#[platform::only(windows)]
pub fn queue(path: &Path, mode: Mode, depth: usize) -> Result<Box<dyn ReadQueue>, CaseError> {
    use std::fs::File;
    use std::io;
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::ptr::null_mut;

    use windows_sys::Win32::Foundation::ERROR_IO_PENDING;
    use windows_sys::Win32::Storage::FileSystem::{
        FILE_FLAG_NO_BUFFERING, FILE_FLAG_OVERLAPPED, ReadFile,
    };
    use windows_sys::Win32::System::IO::{
        CreateIoCompletionPort, GetQueuedCompletionStatusEx, OVERLAPPED, OVERLAPPED_ENTRY,
    };

    use super::slots::Slots;
    use crate::BLOCK;

    const NO_TIME_LIMIT: u32 = u32::MAX;

    /// A read; the system identifies it by the address of its first field.
    #[repr(C)]
    struct Request {
        overlapped: OVERLAPPED,
        slot: usize,
    }

    struct Overlapped {
        file: File,
        port: OwnedHandle,
        slots: Slots,
        /// The request of each slot, which the system changes while the read is under way.
        requests: Vec<*mut Request>,
        entries: Vec<OVERLAPPED_ENTRY>,
        under_way: usize,
    }

    impl Overlapped {
        /// Waits for at least one read. Returns the slots of all complete reads, each with its number of bytes.
        fn completed(&mut self) -> io::Result<Vec<(usize, u32)>> {
            let mut count = 0;
            // SAFETY: the port is open, and the list has room for that number of entries.
            let waited = unsafe {
                GetQueuedCompletionStatusEx(
                    self.port.as_raw_handle(),
                    self.entries.as_mut_ptr(),
                    self.entries.len() as u32,
                    &mut count,
                    NO_TIME_LIMIT,
                    0,
                )
            };
            if waited == 0 {
                return Err(io::Error::last_os_error());
            }
            self.under_way -= count as usize;
            let entry = |entry: &OVERLAPPED_ENTRY| {
                // SAFETY: the entry has the address of one of the requests, which are freed only when the queue is dropped.
                let slot = unsafe { (*entry.lpOverlapped.cast::<Request>()).slot };
                (slot, entry.dwNumberOfBytesTransferred)
            };
            Ok(self.entries[..count as usize].iter().map(entry).collect())
        }
    }

    impl ReadQueue for Overlapped {
        fn submit(&mut self, slot: usize, offset: u64) -> io::Result<()> {
            let request = self.requests[slot];
            // SAFETY: no read of this slot is under way, so the request is this thread's alone; it and the slot's
            // memory are not freed before the read is complete.
            let begun = unsafe {
                (*request).overlapped = std::mem::zeroed();
                (*request).overlapped.Anonymous.Anonymous.Offset = offset as u32;
                (*request).overlapped.Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
                let handle = self.file.as_raw_handle();
                let place = self.slots.place(slot);
                ReadFile(handle, place, BLOCK as u32, null_mut(), request.cast())
            };
            let error = io::Error::last_os_error();
            // The port also reports a read that completes at once.
            if begun == 0 && error.raw_os_error() != Some(ERROR_IO_PENDING as i32) {
                return Err(error);
            }
            self.under_way += 1;
            Ok(())
        }

        fn wait(&mut self, done: &mut Vec<usize>) -> io::Result<()> {
            for (slot, bytes) in self.completed()? {
                if bytes as usize != BLOCK {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                done.push(slot);
            }
            Ok(())
        }

        fn block(&self, slot: usize) -> &[u8] {
            // SAFETY: the caller requests only blocks of complete reads.
            unsafe { self.slots.block(slot) }
        }
    }

    impl Drop for Overlapped {
        fn drop(&mut self) {
            while self.under_way > 0 {
                if self.completed().is_err() {
                    return; // leaks the requests and buffers, which the reads may still write to
                }
            }
            // SAFETY: all reads are complete, and the queue is no longer used; the requests came from boxes.
            unsafe {
                self.requests.drain(..).for_each(|request| drop(Box::from_raw(request)));
                self.slots.free();
            }
        }
    }

    let direct = if mode == Mode::Direct { FILE_FLAG_NO_BUFFERING } else { 0 };
    let opened = File::options().read(true).custom_flags(FILE_FLAG_OVERLAPPED | direct).open(path);
    let file = opened.map_err(|e| CaseError::from_io("opening a file", &e))?;
    // SAFETY: the file's handle is open; null makes a new port.
    let port = unsafe { CreateIoCompletionPort(file.as_raw_handle(), null_mut(), 0, 1) };
    if port.is_null() {
        return Err(CaseError::last_os_error("CreateIoCompletionPort"));
    }
    // SAFETY: the handle was just opened and has no other owner.
    let port = unsafe { OwnedHandle::from_raw_handle(port) };
    let request = |slot| {
        // SAFETY: zeros are valid.
        let overlapped = unsafe { std::mem::zeroed() };
        Box::into_raw(Box::new(Request { overlapped, slot }))
    };
    // SAFETY: zeros are valid.
    let entries = vec![unsafe { std::mem::zeroed::<OVERLAPPED_ENTRY>() }; depth];
    Ok(Box::new(Overlapped {
        file,
        port,
        slots: Slots::new(depth),
        requests: (0..depth).map(request).collect(),
        entries,
        under_way: 0,
    }))
}
