//! Chains of dependent instructions, whose time is a fixed number of core cycles.
//!
//! Each instruction needs the result of the one before it, so a chain takes its number of instructions times their latency,
//! even if the core could execute other instructions at the same time: a program on the core's other hardware thread hardly
//! slows it. They are written in assembly, since an optimiser folds multiplications by a constant into one. Additions of
//! constants would not do: recent Intel cores fold those themselves when they rename registers.
//!
//! [`eight_streams`] is the opposite: eight chains that do not depend on each other, so that a core executes as many
//! instructions at a time as it can, and a program on its other hardware thread slows it.

/// Instructions in one iteration of a chain's loop. The loop's own two instructions run in parallel.
pub const TURN: u32 = 16;

/// The factor of the multiplications. It is odd, so that no product becomes zero.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether the chains consist of exactly the documented instructions, so that they count cycles. Other processors run
/// compiled code: still a fixed amount of work.
pub const IS_EXACT: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Makes `turns` x [`TURN`] dependent 64-bit multiplications, beginning with `start`; returns the product.
///
/// # Panics
/// If `turns` is 0.
#[inline(never)]
pub fn multiply(start: u64, turns: u32) -> u64 {
    assert!(turns > 0, "a chain has at least one turn");
    arch::multiply(start, FACTOR, turns)
}

/// Makes `turns` x [`TURN`] dependent, alternating rotations and exclusive ors, one cycle each on all known cores.
///
/// # Panics
/// If `turns` is 0.
#[inline(never)]
pub fn rotate_xor(start: u64, turns: u32) -> u64 {
    assert!(turns > 0, "a chain has at least one turn");
    arch::rotate_xor(start, FACTOR, turns)
}

/// Makes `turns` x [`TURN`] dependent, alternating exclusive ors and additions of a register, which more units of a core
/// execute than rotations.
///
/// # Panics
/// If `turns` is 0.
#[inline(never)]
pub fn xor_add(start: u64, turns: u32) -> u64 {
    assert!(turns > 0, "a chain has at least one turn");
    arch::xor_add(start, FACTOR, turns)
}

/// Runs eight independent chains, beginning with `start` to `start + 7`: each turn makes an exclusive or with a constant
/// and an addition of it, twice. Returns the exclusive or of the eight results.
///
/// # Panics
/// If `turns` is 0.
#[inline(never)]
pub fn eight_streams(start: u64, turns: u64) -> u64 {
    assert!(turns > 0, "the loop has at least one turn");
    let begin = std::array::from_fn(|number| start.wrapping_add(number as u64));
    arch::eight_streams(begin, FACTOR, turns).into_iter().fold(0, |all, value| all ^ value)
}

/// Chains of eight times two instructions in each turn, and the instructions that count the turns.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! chains {
    ($count:literal, $again:literal, $($name:ident: $first:literal, $second:literal;)+) => {
        $(
            #[inline(always)]
            pub fn $name(start: u64, factor: u64, turns: u32) -> u64 {
                let mut value = start;
                // SAFETY: works on registers only, and leaves the loop after `turns`, which is not 0.
                unsafe {
                    asm!(
                        "2:",
                        ".rept 8",
                        $first,
                        $second,
                        ".endr",
                        $count,
                        $again,
                        value = inout(reg) value,
                        factor = in(reg) factor,
                        turns = inout(reg) turns => _,
                        options(pure, nomem, nostack),
                    );
                }
                value
            }
        )+
    };
}

/// Eight chains of two alternating instructions; `of!` makes the text of one instruction for a register. The operand is a
/// register, because some cores fold immediate constants. The loop begins with a line of the instruction cache in every
/// build.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! streams {
    ($of:ident, $first:literal, $second:literal, $count:literal, $again:literal) => {
        #[inline(always)]
        pub fn eight_streams(mut values: [u64; 8], factor: u64, turns: u64) -> [u64; 8] {
            // SAFETY: works on registers only, and leaves the loop after `turns`, which is not 0.
            unsafe {
                asm!(
                    ".p2align 6",
                    "2:",
                    ".rept 2",
                    $of!($first, "v0"),
                    $of!($first, "v1"),
                    $of!($first, "v2"),
                    $of!($first, "v3"),
                    $of!($first, "v4"),
                    $of!($first, "v5"),
                    $of!($first, "v6"),
                    $of!($first, "v7"),
                    $of!($second, "v0"),
                    $of!($second, "v1"),
                    $of!($second, "v2"),
                    $of!($second, "v3"),
                    $of!($second, "v4"),
                    $of!($second, "v5"),
                    $of!($second, "v6"),
                    $of!($second, "v7"),
                    ".endr",
                    $count,
                    $again,
                    v0 = inout(reg) values[0],
                    v1 = inout(reg) values[1],
                    v2 = inout(reg) values[2],
                    v3 = inout(reg) values[3],
                    v4 = inout(reg) values[4],
                    v5 = inout(reg) values[5],
                    v6 = inout(reg) values[6],
                    v7 = inout(reg) values[7],
                    factor = in(reg) factor,
                    turns = inout(reg) turns => _,
                    options(pure, nomem, nostack),
                );
            }
            values
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod arch {
    use std::arch::asm;

    chains! {
        "dec {turns:e}", "jnz 2b",
        multiply: "imul {value}, {factor}", "imul {value}, {factor}";
        rotate_xor: "rol {value}, 9", "xor {value}, {factor}";
        xor_add: "xor {value}, {factor}", "add {value}, {factor}";
    }

    macro_rules! with_factor {
        ($name:literal, $value:literal) => {
            concat!($name, " {", $value, "}, {factor}")
        };
    }

    streams!(with_factor, "xor", "add", "dec {turns}", "jnz 2b");
}

#[cfg(target_arch = "aarch64")]
mod arch {
    use std::arch::asm;

    chains! {
        "subs {turns:w}, {turns:w}, #1", "b.ne 2b",
        multiply: "mul {value}, {value}, {factor}", "mul {value}, {value}, {factor}";
        // A rotation by 55 (64 - 9) to the right is one by 9 to the left.
        rotate_xor: "ror {value}, {value}, #55", "eor {value}, {value}, {factor}";
        xor_add: "eor {value}, {value}, {factor}", "add {value}, {value}, {factor}";
    }

    macro_rules! with_factor {
        ($name:literal, $value:literal) => {
            concat!($name, " {", $value, "}, {", $value, "}, {factor}")
        };
    }

    streams!(with_factor, "eor", "add", "subs {turns}, {turns}, #1", "b.ne 2b");
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    use std::hint::black_box;

    /// Each product is opaque to the optimiser: a fixed amount of work, of unknown latency.
    pub fn multiply(start: u64, factor: u64, turns: u32) -> u64 {
        (0..turns * super::TURN).fold(start, |value, _| black_box(value.wrapping_mul(factor)))
    }

    pub fn rotate_xor(start: u64, mask: u64, turns: u32) -> u64 {
        (0..turns * super::TURN / 2).fold(start, |value, _| black_box(value.rotate_left(9) ^ mask))
    }

    pub fn xor_add(start: u64, factor: u64, turns: u32) -> u64 {
        let step = |value: u64| (value ^ factor).wrapping_add(factor);
        (0..turns * super::TURN / 2).fold(start, |value, _| black_box(step(value)))
    }

    pub fn eight_streams(mut values: [u64; 8], factor: u64, turns: u64) -> [u64; 8] {
        for _ in 0..turns * 2 {
            values = black_box(values.map(|value| (value ^ factor).wrapping_add(factor)));
        }
        values
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
            let added = (0..count / 2).fold(3u64, |value, _| (value ^ FACTOR).wrapping_add(FACTOR));
            assert_eq!(xor_add(3, turns), added);
        }
    }

    #[test]
    fn every_instruction_of_all_streams_is_carried_out() {
        for turns in [1, 2, 7, 300] {
            let of_one = |start: u64| {
                (0..turns * 2).fold(start, |value, _| (value ^ FACTOR).wrapping_add(FACTOR))
            };
            let all = (3..11).fold(0, |all, start| all ^ of_one(start));
            assert_eq!(eight_streams(3, turns), all);
        }
    }

    /// The machine code must contain every instruction, not a loop that the optimiser put in their place.
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_machine_code_has_all_instructions_of_the_streams() {
        // SAFETY: reads this program's code, which is longer than that: the functions of the standard library follow.
        let code = unsafe { std::slice::from_raw_parts(eight_streams as *const u8, 600) };
        // REX.W with a 64-bit register as source: 0x31 is xor, 0x01 is add.
        let is = |at: &[u8], op: u8| at[0] & 0xf8 == 0x48 && at[1] == op && at[2] >= 0xc0;
        let of_a_turn = |first: usize| {
            let all = code[first..].chunks_exact(3).take(32);
            all.enumerate().all(|(n, at)| is(at, if n / 8 % 2 == 0 { 0x31 } else { 0x01 }))
        };
        assert!((0..code.len() - 96).any(of_a_turn), "2 x 8 exclusive ors and additions");
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
