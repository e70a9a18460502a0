use crate::{Case, Only, Param, value_of};

use jumps::jump_back;

/// Number of jumps per call of the timed closure, which saves and restores registers once for all of them.
const JUMPS: u64 = 64;

/// Error handling by setjmp and longjmp.
pub const CASE: Case = Case {
    operation: "One sigsetjmp and one siglongjmp that returns to it, in a loop in assembly.",
    comparable_to: "libMicro's `longjmp` jumps without the signal mask, `siglongjmp` with it. On Linux setjmp is \
                    sigsetjmp without the mask.",
    only: Only::Unix("Windows has no signal mask, and its longjmp unwinds the stack"),
    core_bound: true,
    params: &[Param::new("mask", &["not-saved", "saved"])
        .meaning("whether the signal mask is stored and restored, by a system call each")],
    run: |params, round| {
        let (save_mask, calls) = match value_of(params, "mask")? {
            "saved" => (1, 2.0),
            _ => (0, 0.0),
        };
        jump_back(1, save_mask)?;
        round.expect_syscalls(calls);
        let arrived = std::cell::Cell::new(0);
        let handled_so_far = || arrived.get();
        super::time_handled(round, "siglongjmp", JUMPS, handled_so_far, || {
            let jumps = jump_back(JUMPS, save_mask).unwrap_or(0);
            arrived.set(arrived.get() + jumps);
            jumps == JUMPS
        })
    },
    ..Case::new("signal", "setjmp")
};

// Rust cannot call sigsetjmp: its compiler does not support functions that return twice, and may keep values in registers and
// stack slots that the second return finds changed. So the loop around both calls is in assembly, and keeps all its state in
// registers that the calls preserve. C would need a cross compiler for each system that oscost is built for.
#[cfg(all(unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod jumps {
    use std::ffi::c_int;
    use std::mem::MaybeUninit;

    use measure::CaseError;

    /// A buffer larger than the `sigjmp_buf` of any supported C library, the largest of which has about 400 bytes. It is
    /// aligned to a cache line, so that the number of lines that registers are stored to does not depend on the stack.
    #[repr(C, align(64))]
    pub struct JumpBuffer([MaybeUninit<u8>; 1024]);

    pub type SetJump = unsafe extern "C" fn(*mut JumpBuffer, c_int) -> c_int;
    pub type LongJump = unsafe extern "C" fn(*mut JumpBuffer, c_int) -> !;

    unsafe extern "C" {
        // In the C libraries of Linux, `sigsetjmp` may be a macro for this function.
        #[cfg_attr(target_os = "linux", link_name = "__sigsetjmp")]
        fn sigsetjmp(buffer: *mut JumpBuffer, save_mask: c_int) -> c_int;
        fn siglongjmp(buffer: *mut JumpBuffer, value: c_int) -> !;
    }

    /// Calls sigsetjmp, with `save_mask`, and then siglongjmp, which returns to it, `times` times: from 1 to [`i32::MAX`]. Returns
    /// the number of jumps that arrived with their value.
    #[inline(always)]
    pub fn jump_back(times: u64, save_mask: c_int) -> Result<u64, CaseError> {
        Ok(jump_with(times, save_mask, sigsetjmp, siglongjmp))
    }

    #[inline(always)]
    pub fn jump_with(times: u64, save_mask: c_int, set: SetJump, jump: LongJump) -> u64 {
        let mut buffer = JumpBuffer([MaybeUninit::uninit(); 1024]);
        // SAFETY: the buffer is large enough, aligned, and used by the loop only, which returns before it ends. No frame
        // is left by a jump: the loop calls both functions itself.
        unsafe { set_and_jump(&mut buffer, save_mask, times, set, jump) }
    }

    /// For each value from `times` down to 1: sets the buffer, jumps with the value, and counts the arrival. Stops early if
    /// another value arrives.
    #[cfg(target_arch = "x86_64")]
    #[unsafe(naked)]
    unsafe extern "C" fn set_and_jump(
        buffer: *mut JumpBuffer,
        save_mask: c_int,
        times: u64,
        set: SetJump,
        jump: LongJump,
    ) -> u64 {
        std::arch::naked_asm!(
            "push rbx",
            "push rbp",
            "push r12",
            "push r13",
            "push r14",
            "push r15",
            "sub rsp, 8", // the stack is aligned to 16 bytes at each call
            "mov rbx, rdi",
            "mov r12d, esi",
            "mov r13, rdx",
            "mov r14, rcx",
            "mov r15, r8",
            "xor ebp, ebp",
            "2:",
            "mov rdi, rbx",
            "mov esi, r12d",
            "call r14",
            "test eax, eax",
            "jnz 3f",
            "mov rdi, rbx",
            "mov esi, r13d",
            "call r15",
            "ud2",
            "3:",
            "cmp eax, r13d",
            "jne 4f",
            "inc rbp",
            "dec r13",
            "jnz 2b",
            "4:",
            "mov rax, rbp",
            "add rsp, 8",
            "pop r15",
            "pop r14",
            "pop r13",
            "pop r12",
            "pop rbp",
            "pop rbx",
            "ret",
        )
    }

    /// Like the function for x86-64: sets the buffer and jumps `times` times.
    #[cfg(target_arch = "aarch64")]
    #[unsafe(naked)]
    unsafe extern "C" fn set_and_jump(
        buffer: *mut JumpBuffer,
        save_mask: c_int,
        times: u64,
        set: SetJump,
        jump: LongJump,
    ) -> u64 {
        std::arch::naked_asm!(
            "stp x29, x30, [sp, #-64]!",
            "mov x29, sp",
            "stp x19, x20, [sp, #16]",
            "stp x21, x22, [sp, #32]",
            "stp x23, x24, [sp, #48]",
            "mov x19, x0",
            "mov w20, w1",
            "mov x21, x2",
            "mov x22, x3",
            "mov x23, x4",
            "mov x24, xzr",
            "2:",
            "mov x0, x19",
            "mov w1, w20",
            "blr x22",
            "cbnz w0, 3f",
            "mov x0, x19",
            "mov w1, w21",
            "blr x23",
            "brk #1",
            "3:",
            "cmp w0, w21",
            "b.ne 4f",
            "add x24, x24, #1",
            "subs x21, x21, #1",
            "b.ne 2b",
            "4:",
            "mov x0, x24",
            "ldp x19, x20, [sp, #16]",
            "ldp x21, x22, [sp, #32]",
            "ldp x23, x24, [sp, #48]",
            "ldp x29, x30, [sp], #64",
            "ret",
        )
    }
}

#[cfg(not(all(unix, any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod jumps {
    use std::ffi::c_int;

    use measure::CaseError;

    pub fn jump_back(_times: u64, _save_mask: c_int) -> Result<u64, CaseError> {
        Err(CaseError::Unsupported(
            "there is no loop of jumps for this system and processor".into(),
        ))
    }
}

#[cfg(all(test, unix, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use std::ffi::c_int;

    use super::jumps::{jump_back, jump_with};

    #[test]
    fn every_jump_arrives() {
        for save_mask in [1, 0] {
            assert_eq!(jump_back(1, save_mask), Ok(1));
            assert_eq!(jump_back(1_000, save_mask), Ok(1_000));
        }
    }

    #[test]
    fn a_set_that_returns_at_once_with_a_value_is_no_jump() {
        unsafe extern "C" fn returns_at_once<B>(_buffer: *mut B, _save_mask: c_int) -> c_int {
            7
        }
        unsafe extern "C" fn never<B>(_buffer: *mut B, _value: c_int) -> ! {
            std::process::abort()
        }
        assert_eq!(jump_with(100, 0, returns_at_once, never), 0);
    }
}
