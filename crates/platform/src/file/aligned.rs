//! Buffers for direct I/O, which the device reads and writes without a copy.

use std::ops::{Deref, DerefMut};

/// The alignment of a buffer, of its length and of offsets that every common device accepts: its largest sector.
pub const ALIGNMENT: usize = 4096;

/// Memory that begins at a multiple of [`ALIGNMENT`], all zeros at first.
pub struct AlignedBuffer {
    pages: Box<[Page]>,
    length: usize,
}

#[derive(Clone)]
#[repr(C, align(4096))]
struct Page([u8; ALIGNMENT]);

impl AlignedBuffer {
    /// A buffer of `length` bytes.
    pub fn new(length: usize) -> Self {
        Self { pages: vec![Page([0; ALIGNMENT]); length.div_ceil(ALIGNMENT)].into(), length }
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: pages are arrays of initialised bytes without padding, and hold at least `length` of them.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr().cast(), self.length) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.pages.as_mut_ptr().cast(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_at_a_page_and_has_its_length() {
        for length in [0, 1, 4096, 4097, 1 << 20] {
            let mut buffer = AlignedBuffer::new(length);
            assert_eq!((buffer.len(), buffer.as_ptr() as usize % ALIGNMENT), (length, 0));
            buffer.fill(7);
            assert!(buffer.iter().all(|&byte| byte == 7));
        }
    }
}
