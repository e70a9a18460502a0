//! Chains of dependent instructions, whose time is a fixed number of core cycles.
//!
//! Each instruction needs the result of the one before, so a chain takes its number of instructions times their
//! latency, even if the core could execute other instructions at the same time: a program on the core's other hardware
//! thread hardly slows it. They are written in assembly, since an optimiser folds multiplications by a constant into
//! one. Additions of constants would not do: recent Intel cores fold those themselves when they rename registers.

/// Instructions in one iteration of a chain's loop. The loop's own two instructions run in parallel.
pub const TURN: u32 = 16;

/// The constant factor, odd: no product of odd numbers is ever zero.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether the chains consist of exactly these instructions, so that cycles can be counted by them. Elsewhere they are
/// still a fixed amount of work.
pub const IS_EXACT: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// `turns` x [`TURN`] dependent 64-bit multiplications, beginning with `start`; the product.
///
/// # Panics
/// If `turns` is 0.
#[inline(never)]
pub fn multiply(start: u64, turns: u32) -> u64 {
    assert!(turns > 0, "a chain has at least one turn");
    arch::multiply(start, FACTOR, turns)
}

/// `turns` x [`TURN`] dependent, alternating rotations and exclusive ors, which take one cycle each on all known cores.
///
/// # Panics
/// If `turns` is 0.
#[inline(never)]
pub fn rotate_xor(start: u64, turns: u32) -> u64 {
    assert!(turns > 0, "a chain has at least one turn");
    arch::rotate_xor(start, FACTOR, turns)
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use std::arch::asm;

    #[inline(always)]
    pub fn multiply(start: u64, factor: u64, turns: u32) -> u64 {
        let mut value = start;
        // SAFETY: works on registers only, and leaves the loop after `turns`, which is not 0.
        unsafe {
            asm!(
                "2:",
                ".rept 16",
                "imul {value}, {factor}",
                ".endr",
                "dec {turns:e}",
                "jnz 2b",
                value = inout(reg) value,
                factor = in(reg) factor,
                turns = inout(reg) turns => _,
                options(pure, nomem, nostack),
            );
        }
        value
    }

    #[inline(always)]
    pub fn rotate_xor(start: u64, mask: u64, turns: u32) -> u64 {
        let mut value = start;
        // SAFETY: as above.
        unsafe {
            asm!(
                "2:",
                ".rept 8",
                "rol {value}, 9",
                "xor {value}, {mask}",
                ".endr",
                "dec {turns:e}",
                "jnz 2b",
                value = inout(reg) value,
                mask = in(reg) mask,
                turns = inout(reg) turns => _,
                options(pure, nomem, nostack),
            );
        }
        value
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use std::arch::asm;

    #[inline(always)]
    pub fn multiply(start: u64, factor: u64, turns: u32) -> u64 {
        let mut value = start;
        // SAFETY: works on registers only, and leaves the loop after `turns`, which is not 0.
        unsafe {
            asm!(
                "2:",
                ".rept 16",
                "mul {value}, {value}, {factor}",
                ".endr",
                "subs {turns:w}, {turns:w}, #1",
                "b.ne 2b",
                value = inout(reg) value,
                factor = in(reg) factor,
                turns = inout(reg) turns => _,
                options(pure, nomem, nostack),
            );
        }
        value
    }

    #[inline(always)]
    pub fn rotate_xor(start: u64, mask: u64, turns: u32) -> u64 {
        let mut value = start;
        // SAFETY: as above. 64 - 9 to the right is 9 to the left.
        unsafe {
            asm!(
                "2:",
                ".rept 8",
                "ror {value}, {value}, #55",
                "eor {value}, {value}, {mask}",
                ".endr",
                "subs {turns:w}, {turns:w}, #1",
                "b.ne 2b",
                value = inout(reg) value,
                mask = in(reg) mask,
                turns = inout(reg) turns => _,
                options(pure, nomem, nostack),
            );
        }
        value
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    use std::hint::black_box;

    /// Opaque to the optimiser: a fixed amount of work, of unknown latency.
    pub fn multiply(start: u64, factor: u64, turns: u32) -> u64 {
        (0..turns * super::TURN).fold(start, |value, _| black_box(value.wrapping_mul(factor)))
    }

    pub fn rotate_xor(start: u64, mask: u64, turns: u32) -> u64 {
        (0..turns * super::TURN / 2).fold(start, |value, _| black_box(value.rotate_left(9) ^ mask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_of_a_chain_is_carried_out() {
        for turns in [1, 2, 7, 300] {
            let count = turns * TURN;
            assert_eq!(multiply(3, turns), 3u64.wrapping_mul(FACTOR.wrapping_pow(count)));
            let rotated = (0..count / 2).fold(3u64, |value, _| value.rotate_left(9) ^ FACTOR);
            assert_eq!(rotate_xor(3, turns), rotated);
        }
    }

    /// The result could be computed with fewer multiplications: the machine code must contain all of them.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_machine_code_has_as_many_multiplications_as_a_turn() {
        // SAFETY: reads this program's code, which is longer than that: the functions of the standard library follow.
        let code = unsafe { std::slice::from_raw_parts(multiply as *const u8, 400) };
        // Two-operand imul of 64-bit registers: REX.W (0x48 to 0x4f), 0x0f, 0xaf.
        let is_imul = |at: &[u8]| at[0] & 0xf8 == 0x48 && at[1] == 0x0f && at[2] == 0xaf;
        let first = code.windows(3).position(is_imul).expect("a multiplication");
        let instructions = code[first..].chunks_exact(4);
        assert_eq!(instructions.take_while(|at| is_imul(at)).count(), TURN as usize);
    }
}
