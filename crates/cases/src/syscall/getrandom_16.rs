use platform::on_linux;

use crate::{Case, Only};

/// The randomness for one hash seed or identifier.
pub const CASE: Case = Case {
    area: "syscall",
    name: "getrandom-16",
    operation: "One getrandom of 16 bytes, made with the system call itself: since version 2.41 \
                glibc's function of that name may stay out of the kernel.",
    comparable_to: "No older suite has it; the kernel's `vdso_test_getrandom` compares it with the vDSO.",
    only: Only::Linux("measured on Linux only"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_linux!(round, {
            let mut bytes = [0u8; 16];
            round.expect_syscalls(1.0);
            super::time(round, "getrandom", || {
                // SAFETY: the pointer and count describe `bytes`.
                unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), 16, 0) == 16 }
            })
        })
    },
};
