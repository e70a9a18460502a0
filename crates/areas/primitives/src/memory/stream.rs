//! Reading, writing and copying memory in a loop, 16 bytes at a time where the processor has such registers.
//!
//! The accesses are volatile: each is carried out, in this width, and the loop is not replaced by a call of the C library.

/// Bytes in one turn of the loops: sizes are multiples of it.
pub const BLOCK: usize = 64;

/// Reads all of `from`; returns the exclusive or of its 64-bit words.
///
/// # Panics
/// If `from` is no whole number of blocks, or not aligned to one.
#[inline(never)]
pub fn read(from: &[u8]) -> u64 {
    let words = words(from);
    let mut sums = [word::splat(0); 4];
    for block in words.chunks_exact(PER_BLOCK) {
        for (at, of_block) in block.iter().enumerate() {
            // SAFETY: a reference is valid for reads.
            let read = unsafe { std::ptr::from_ref(of_block).read_volatile() };
            sums[at % 4] = word::xor(sums[at % 4], read);
        }
    }
    word::fold(word::xor(word::xor(sums[0], sums[1]), word::xor(sums[2], sums[3])))
}

/// Sets all 64-bit words to `value`.
///
/// # Panics
/// See [`read`].
#[inline(never)]
pub fn write(to: &mut [u8], value: u64) {
    let value = word::splat(value);
    for block in words_mut(to).chunks_exact_mut(PER_BLOCK) {
        for of_block in block {
            // SAFETY: a mutable reference is valid for writes.
            unsafe { std::ptr::from_mut(of_block).write_volatile(value) };
        }
    }
}

/// Copies all of `from` to `to`.
///
/// # Panics
/// See [`read`]; also if the lengths differ.
#[inline(never)]
pub fn copy(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len(), "a copy is as long as the original");
    let (from, to) = (words(from), words_mut(to));
    for (from, to) in from.chunks_exact(PER_BLOCK).zip(to.chunks_exact_mut(PER_BLOCK)) {
        for (from, to) in from.iter().zip(to) {
            // SAFETY: a reference is valid for reads, a mutable one for writes.
            unsafe {
                let value = std::ptr::from_ref(from).read_volatile();
                std::ptr::from_mut(to).write_volatile(value);
            }
        }
    }
}

const PER_BLOCK: usize = BLOCK / size_of::<word::Word>();

fn words(bytes: &[u8]) -> &[word::Word] {
    // SAFETY: words are plain numbers, for which all bytes are valid.
    let (before, words, after) = unsafe { bytes.align_to::<word::Word>() };
    assert!(before.is_empty() && after.is_empty() && words.len() % PER_BLOCK == 0, "whole blocks");
    words
}

fn words_mut(bytes: &mut [u8]) -> &mut [word::Word] {
    // SAFETY: as above, in both directions.
    let (before, words, after) = unsafe { bytes.align_to_mut::<word::Word>() };
    assert!(before.is_empty() && after.is_empty() && words.len() % PER_BLOCK == 0, "whole blocks");
    words
}

#[cfg(target_arch = "x86_64")]
mod word {
    use std::arch::x86_64::{
        __m128i, _mm_cvtsi128_si64, _mm_set1_epi64x, _mm_unpackhi_epi64, _mm_xor_si128,
    };

    pub type Word = __m128i;

    #[inline(always)]
    pub fn splat(value: u64) -> Word {
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { _mm_set1_epi64x(value as i64) }
    }

    #[inline(always)]
    pub fn xor(a: Word, b: Word) -> Word {
        // SAFETY: as above.
        unsafe { _mm_xor_si128(a, b) }
    }

    pub fn fold(word: Word) -> u64 {
        // SAFETY: as above.
        unsafe { _mm_cvtsi128_si64(_mm_xor_si128(word, _mm_unpackhi_epi64(word, word))) as u64 }
    }
}

#[cfg(target_arch = "aarch64")]
mod word {
    use std::arch::aarch64::{uint64x2_t, vdupq_n_u64, veorq_u64, vgetq_lane_u64};

    pub type Word = uint64x2_t;

    #[inline(always)]
    pub fn splat(value: u64) -> Word {
        // SAFETY: every 64-bit Arm processor that the system supports has NEON.
        unsafe { vdupq_n_u64(value) }
    }

    #[inline(always)]
    pub fn xor(a: Word, b: Word) -> Word {
        // SAFETY: as above.
        unsafe { veorq_u64(a, b) }
    }

    pub fn fold(word: Word) -> u64 {
        // SAFETY: as above.
        unsafe { vgetq_lane_u64::<0>(word) ^ vgetq_lane_u64::<1>(word) }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod word {
    pub type Word = u64;

    #[inline(always)]
    pub fn splat(value: u64) -> Word {
        value
    }

    #[inline(always)]
    pub fn xor(a: Word, b: Word) -> Word {
        a ^ b
    }

    pub fn fold(word: Word) -> u64 {
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(align(64))]
    struct Aligned([u8; 4 * BLOCK]);

    #[test]
    fn every_word_is_read_written_and_copied() {
        let mut from = Aligned([0; 4 * BLOCK]);
        for (at, byte) in from.0.iter_mut().enumerate() {
            *byte = (at * 31) as u8;
        }
        let words = from.0.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap()));
        let expected = words.fold(0, |sum, word| sum ^ word);
        assert_eq!(read(&from.0), expected);
        let mut to = Aligned([0; 4 * BLOCK]);
        copy(&from.0, &mut to.0);
        assert_eq!(from.0, to.0);
        write(&mut to.0, 0x0102_0304_0506_0708);
        assert!(to.0.chunks_exact(8).all(|word| word == 0x0102_0304_0506_0708_u64.to_ne_bytes()));
    }

    #[test]
    #[should_panic(expected = "whole blocks")]
    fn a_part_of_a_block_is_refused() {
        let bytes = Aligned([0; 4 * BLOCK]);
        read(&bytes.0[..BLOCK + 16]);
    }
}
