//! Dependent loads, each of which loads the address of the next. They are in assembly, so that no build adds instructions
//! between two of them.

/// Loads in one turn of the loop, whose own two instructions run in parallel.
pub const TURN: usize = 16;

/// Makes `turns` x [`TURN`] loads, the first of them from `at`; returns the address that the last one loaded.
///
/// # Safety
/// `at`, and every address that is loaded, must be that of a readable and aligned address.
///
/// # Panics
/// If `turns` is 0.
#[inline(always)]
pub unsafe fn follow(at: *const u8, turns: usize) -> *const u8 {
    assert!(turns > 0, "a walk has at least one turn");
    // SAFETY: as the caller promised.
    unsafe { arch::follow(at, turns) }
}

#[cfg(target_arch = "x86_64")]
mod arch {
    #[inline(always)]
    pub unsafe fn follow(mut at: *const u8, turns: usize) -> *const u8 {
        // SAFETY: reads only addresses that the caller promised, and leaves the loop after `turns`, which is not 0.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept 16",
                "mov {at}, [{at}]",
                ".endr",
                "dec {turns}",
                "jnz 2b",
                at = inout(reg) at,
                turns = inout(reg) turns => _,
                options(readonly, nostack),
            );
        }
        at
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    #[inline(always)]
    pub unsafe fn follow(mut at: *const u8, turns: usize) -> *const u8 {
        // SAFETY: reads only addresses that the caller promised, and leaves the loop after `turns`, which is not 0.
        unsafe {
            std::arch::asm!(
                "2:",
                ".rept 16",
                "ldr {at}, [{at}]",
                ".endr",
                "subs {turns}, {turns}, #1",
                "b.ne 2b",
                at = inout(reg) at,
                turns = inout(reg) turns => _,
                options(readonly, nostack),
            );
        }
        at
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod arch {
    pub unsafe fn follow(mut at: *const u8, turns: usize) -> *const u8 {
        for _ in 0..turns * super::TURN {
            // SAFETY: as the caller promised.
            at = unsafe { at.cast::<*const u8>().read_volatile() };
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_loads_are_made_as_asked_for() {
        let mut ring = vec![std::ptr::null::<u8>(); 1_000];
        let start = ring.as_ptr();
        let address = |at: usize| start.wrapping_add(at).cast::<u8>();
        for (at, next) in ring.iter_mut().enumerate() {
            *next = address((at + 1) % 1_000);
        }
        for turns in [1, 7, 100] {
            // SAFETY: each element is the address of another.
            let end = unsafe { follow(address(0), turns) };
            assert_eq!(end, address(turns * TURN % 1_000), "{turns} turns");
        }
    }
}
