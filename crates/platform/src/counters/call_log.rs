//! The numbers of system calls that a perf event of the tracepoint `raw_syscalls:sys_enter` records: the first ones, up to the
//! size of its buffer. See perf_event_open(2), "MMAP layout".

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::counters::system_calls::CallCounts;

/// Pages of records, a power of two: about 800 calls.
const PAGES: usize = 16;
/// Offset in the first page of the position behind the last record.
const DATA_HEAD_AT: usize = 1024;
/// The type of record that holds one event.
const PERF_RECORD_SAMPLE: u32 = 9;
/// Offset of the call's number in a record: after the header (8 bytes), the size of the raw data (4), and the fields that
/// all tracepoints have (8).
const CALL_NUMBER_AT: usize = 20;

/// The buffer of an event, which the kernel stops filling when it is full.
pub(crate) struct CallLog {
    memory: *mut libc::c_void,
    page: usize,
}

impl CallLog {
    /// Maps the buffer of `event`; `None` if the system denies it.
    pub fn of(event: &OwnedFd) -> Option<Self> {
        let page = crate::memory::page_size();
        let (access, fd) = (libc::PROT_READ | libc::PROT_WRITE, event.as_raw_fd());
        // SAFETY: a new mapping, which replaces none.
        let memory = unsafe {
            libc::mmap(std::ptr::null_mut(), size(page), access, libc::MAP_SHARED, fd, 0)
        };
        (memory != libc::MAP_FAILED).then_some(Self { memory, page })
    }

    /// Counts of the calls that the buffer holds.
    pub fn calls(&self) -> CallCounts {
        // SAFETY: the mapping is as long as this object, and the kernel writes this word atomically.
        let head = unsafe { &*self.memory.byte_add(DATA_HEAD_AT).cast::<AtomicU64>() };
        let length = (head.load(Ordering::Acquire) as usize).min(PAGES * self.page);
        // SAFETY: the records before the head are complete and not overwritten: nothing marks them as read.
        let records =
            unsafe { std::slice::from_raw_parts(self.memory.byte_add(self.page).cast(), length) };
        calls_in(records)
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        // SAFETY: the mapping is this object's own.
        unsafe { libc::munmap(self.memory, size(self.page)) };
    }
}

fn size(page: usize) -> usize {
    (PAGES + 1) * page
}

/// Counts the calls in a sequence of records, up to the first damaged one.
fn calls_in(mut records: &[u8]) -> CallCounts {
    let mut calls = CallCounts::default();
    let at = |bytes: &[u8], at: usize| -> Option<[u8; 4]> {
        bytes.get(at..at + 4).and_then(|four| four.try_into().ok())
    };
    while let (Some(kind), Some(sizes)) = (at(records, 0), at(records, 4)) {
        let size = usize::from(u16::from_ne_bytes([sizes[2], sizes[3]]));
        let Some((record, rest)) = records.split_at_checked(size).filter(|_| size >= 8) else {
            break;
        };
        if u32::from_ne_bytes(kind) == PERF_RECORD_SAMPLE
            && let Some(number) = at(record, CALL_NUMBER_AT)
        {
            calls.add(u32::from_ne_bytes(number), 1);
        }
        records = rest;
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, number: u32) -> Vec<u8> {
        let mut bytes = vec![0; 80];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&80u16.to_ne_bytes());
        bytes[CALL_NUMBER_AT..][..4].copy_from_slice(&number.to_ne_bytes());
        bytes
    }

    #[test]
    fn records_of_other_kinds_and_damaged_ones_are_no_calls() {
        let mut records = [record(9, 3), record(2, 4), record(9, 3), record(9, 5)].concat();
        assert_eq!(calls_in(&records).pairs()[..3], [(3, 2), (5, 1), (0, 0)]);
        records.truncate(300);
        assert_eq!(calls_in(&records).total(), 2, "the last one is cut off");
        assert_eq!(calls_in(&[0; 64]).total(), 0, "a size of 0 would have no end");
        assert_eq!(calls_in(&[]).total(), 0);
    }
}
