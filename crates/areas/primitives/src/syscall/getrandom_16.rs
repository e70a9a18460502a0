use crate::{Case, only};

/// Getting the random bytes for a hash seed or an identifier.
pub const CASE: Case = Case {
    operation: "One getrandom system call for 16 bytes. The C library's getrandom is not used, \
                since glibc 2.41 and later answer it in user space through the vDSO.",
    comparable_to: "The kernel's `vdso_test_getrandom` compares this call with the vDSO's. \
                stress-ng's `--getrandom` reads blocks of other sizes, and lmbench and libMicro \
                have no such test.",
    core_bound: true,
    run,
    ..Case::new("syscall", "getrandom-16").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let mut bytes = [0u8; 16];
    round.expect_syscalls(1.0);
    // SAFETY: the pointer and count describe `bytes`.
    round.time_call("getrandom", || unsafe {
        libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), 16, 0) == 16
    })
}
