//! Buffers of the reads under way: the system may write into them at any time, so they must outlive the reads.

use std::mem::ManuallyDrop;

use platform::file::aligned::AlignedBuffer;

use crate::BLOCK;

/// One buffer of a block for each read. The buffers are leaked unless [`Slots::free`] is called.
pub struct Slots {
    buffer: ManuallyDrop<AlignedBuffer>,
    start: *mut u8,
    count: usize,
}

#[allow(dead_code, reason = "not every system has a queue")]
impl Slots {
    /// Allocates `count` slots.
    pub fn new(count: usize) -> Self {
        let mut buffer = ManuallyDrop::new(AlignedBuffer::new(count * BLOCK));
        buffer.fill(0);
        let start = buffer.as_mut_ptr();
        Self { buffer, start, count }
    }

    /// Address of the block of a slot.
    pub fn place(&self, slot: usize) -> *mut u8 {
        assert!(slot < self.count);
        // SAFETY: the buffer has a block for each slot.
        unsafe { self.start.add(slot * BLOCK) }
    }

    /// The block in a slot.
    ///
    /// # Safety
    /// No read of this slot is under way.
    pub unsafe fn block(&self, slot: usize) -> &[u8] {
        // SAFETY: the block is initialised memory of the buffer, and by the contract nothing writes to it.
        unsafe { std::slice::from_raw_parts(self.place(slot), BLOCK) }
    }

    /// Frees the buffers.
    ///
    /// # Safety
    /// No read is under way, and nothing is used afterwards.
    pub unsafe fn free(&mut self) {
        // SAFETY: by the contract, this is the last use.
        unsafe { ManuallyDrop::drop(&mut self.buffer) };
    }
}
