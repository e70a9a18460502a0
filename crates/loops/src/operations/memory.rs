//! Loads, bandwidth, page faults and calls about memory.

use std::hint::black_box;
use std::time::Instant;

use crate::calls::{fail, map, map_only, must, unmap};
use crate::operation::{Operation, Params};
use crate::setting::{Setting, Timed};

const PAGE: usize = 4096;
const LINE: usize = 64;

const OF_256K: Params = &[("size", "256k"), ("stride", "64"), ("pages", "base")];
const OF_4M: Params = &[("size", "4m"), ("stride", "64"), ("pages", "base")];

macro_rules! bandwidth {
    ($op:literal) => {
        &[("op", $op), ("size", "256k"), ("workers", "1")]
    };
}

pub const OPERATIONS: &[Operation] = &[
    Operation::new("memory/load-l1", &[], |setting| loads(setting, 8 << 10)),
    Operation::new("memory/load", OF_256K, |setting| loads(setting, 256 << 10)),
    Operation::new("memory/load", OF_4M, |setting| loads(setting, 4 << 20)),
    Operation::new("memory/bandwidth", bandwidth!("read"), |setting| {
        let buffer = Buffer::new(256 << 10);
        setting.repeat(|| {
            black_box(buffer.read());
        })
    }),
    Operation::new("memory/bandwidth", bandwidth!("write"), |setting| {
        let mut buffer = Buffer::new(256 << 10);
        let mut value = 0;
        setting.repeat(|| {
            value += 1;
            buffer.write(value);
        })
    }),
    Operation::new("memory/bandwidth", bandwidth!("copy"), |setting| {
        let (mut to, from) = (Buffer::new(256 << 10), Buffer::new(256 << 10));
        setting.repeat(|| to.copy(&from))
    }),
    Operation::new("memory/bandwidth", bandwidth!("memset"), |setting| {
        let buffer = Buffer::new(256 << 10);
        let mut value = 0u8;
        setting.repeat(|| {
            value = value.wrapping_add(1);
            // SAFETY: the buffer has this size.
            unsafe { libc::memset(buffer.start.cast(), value.into(), 256 << 10) };
        })
    }),
    Operation::new("memory/bandwidth", bandwidth!("memcpy"), |setting| {
        let (to, from) = (Buffer::new(256 << 10), Buffer::new(256 << 10));
        setting.repeat(|| {
            // SAFETY: both buffers have this size.
            unsafe { libc::memcpy(black_box(to.start).cast(), from.start.cast(), 256 << 10) };
        })
    }),
    Operation::new("memory/fault-anonymous", &[], |setting| {
        // The number of pages is that of the case: 64 MiB are touched before all are given back.
        const PAGES: usize = 16_384;
        setting.repeat_parts(|| {
            let memory = map(PAGES * PAGE, false);
            let began = Instant::now();
            for page in 0..PAGES {
                // SAFETY: the page is within the mapping.
                unsafe { memory.add(page * PAGE).write_volatile(1) };
            }
            let elapsed = began.elapsed();
            unmap(memory, PAGES * PAGE);
            (elapsed, PAGES as u64)
        })
    }),
    Operation::new("memory/mmap-munmap", &[("size", "4k"), ("touch", "no")], |setting| {
        setting.repeat(|| unmap(map_only(PAGE, false), PAGE))
    }),
    Operation::new("memory/mmap-munmap", &[("size", "4k"), ("touch", "yes")], |setting| {
        setting.repeat(|| {
            let memory = map_only(PAGE, false);
            // SAFETY: the page is mapped.
            unsafe { memory.write_volatile(1) };
            unmap(memory, PAGE);
        })
    }),
    Operation::new("memory/mprotect", &[("size", "4k"), ("others", "0")], |setting| {
        let memory = map(PAGE, false);
        // SAFETY: the page is mapped, and is writable whenever it is written to.
        unsafe {
            memory.write_volatile(1);
            setting.repeat(|| {
                must("mprotect", libc::mprotect(memory.cast(), PAGE, libc::PROT_READ));
                let both = libc::PROT_READ | libc::PROT_WRITE;
                must("mprotect", libc::mprotect(memory.cast(), PAGE, both));
                memory.write_volatile(1);
            })
        }
    }),
    Operation::new("memory/madvise", &[("size", "4k"), ("others", "0")], |setting| {
        let memory = map(PAGE, false);
        setting.repeat(|| {
            // SAFETY: the page is mapped, and nothing in it is needed.
            unsafe {
                memory.write_volatile(1);
                must("madvise", libc::madvise(memory.cast(), PAGE, libc::MADV_DONTNEED));
            }
        })
    }),
    Operation::new("memory/malloc", &[("size", "64")], |setting| {
        setting.repeat(|| {
            // SAFETY: the block has a byte, and is freed once.
            unsafe {
                let block = black_box(libc::malloc(black_box(64))).cast::<u8>();
                if block.is_null() {
                    fail("malloc");
                }
                block.write_volatile(1);
                libc::free(block.cast());
            }
        })
    }),
];

/// Follows a cycle through all lines of memory of this size, in random order.
fn loads(setting: &Setting, bytes: usize) -> Timed {
    const AT_A_TIME: u64 = 64;
    let memory = map(bytes, false);
    let mut order: Vec<usize> = (0..bytes / LINE).collect();
    shuffle(&mut order);
    for (at, &line) in order.iter().enumerate() {
        let next = order[(at + 1) % order.len()];
        // SAFETY: both lines are within the mapping, and a line has space for an address.
        unsafe { memory.add(line * LINE).cast::<*mut u8>().write(memory.add(next * LINE)) };
    }
    let mut at = memory;
    let walks = setting.repeat(|| {
        for _ in 0..AT_A_TIME {
            // SAFETY: each line of the cycle has the address of the next.
            at = unsafe { at.cast::<*mut u8>().read_volatile() };
        }
    });
    black_box(at);
    walks.times(AT_A_TIME)
}

/// Shuffles by the algorithm of Fisher and Yates, with a linear congruential generator (Knuth's MMIX).
fn shuffle(order: &mut [usize]) {
    let mut state = u64::from(std::process::id());
    for last in (1..order.len()).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(last, (state >> 33) as usize % (last + 1));
    }
}

/// Memory that a loop of 16-byte accesses passes over.
struct Buffer {
    start: *mut u8,
    blocks: usize,
}

/// A register of 16 bytes, and the instructions on it.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::_mm_set1_epi64x;
    pub use std::arch::x86_64::{
        __m128i as Wide, _mm_load_si128 as load, _mm_store_si128 as store, _mm_xor_si128 as xor,
    };

    pub fn filled_with(value: i64) -> Wide {
        // SAFETY: every processor of this architecture has the instruction.
        unsafe { _mm_set1_epi64x(value) }
    }
}

/// A register of 16 bytes, and the instructions on it.
#[cfg(target_arch = "aarch64")]
mod wide {
    pub use std::arch::aarch64::{int64x2_t as Wide, veorq_s64 as xor};
    use std::arch::aarch64::{vdupq_n_s64, vld1q_s64, vst1q_s64};

    pub fn filled_with(value: i64) -> Wide {
        // SAFETY: every processor of this architecture has the instruction.
        unsafe { vdupq_n_s64(value) }
    }

    pub unsafe fn load(from: *const Wide) -> Wide {
        // SAFETY: the caller promises a valid address.
        unsafe { vld1q_s64(from.cast()) }
    }

    pub unsafe fn store(to: *mut Wide, value: Wide) {
        // SAFETY: the caller promises a valid address.
        unsafe { vst1q_s64(to.cast(), value) }
    }
}

use wide::Wide;

impl Buffer {
    /// Allocates memory in pages of the usual size, all of which are populated.
    fn new(bytes: usize) -> Self {
        let mut buffer = Self { start: map(bytes, false), blocks: bytes / size_of::<Wide>() };
        buffer.write(7);
        buffer
    }

    fn block(&self, number: usize) -> *mut Wide {
        self.start.cast::<Wide>().wrapping_add(number)
    }

    /// Loads four blocks at a time, each into a separate sum, so that no load waits for a sum.
    fn read(&self) -> Wide {
        let mut sums = [wide::filled_with(0); 4];
        for first in (0..self.blocks).step_by(4) {
            for (number, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the number of blocks is a multiple of four, and they are aligned.
                *sum = unsafe { wide::xor(*sum, wide::load(self.block(first + number))) };
            }
        }
        // SAFETY: takes registers only.
        unsafe { wide::xor(wide::xor(sums[0], sums[1]), wide::xor(sums[2], sums[3])) }
    }

    fn write(&mut self, value: i64) {
        let value = black_box(wide::filled_with(value));
        for number in 0..self.blocks {
            // SAFETY: the block is within the buffer, and aligned.
            unsafe { wide::store(self.block(number), value) };
        }
    }

    fn copy(&mut self, from: &Self) {
        let [to, from] = [&*self, from].map(|buffer| black_box(buffer.start).cast::<Wide>());
        for number in 0..self.blocks {
            // SAFETY: both buffers have this number of blocks, and they are aligned.
            unsafe { wide::store(to.add(number), wide::load(from.add(number))) };
        }
    }
}
