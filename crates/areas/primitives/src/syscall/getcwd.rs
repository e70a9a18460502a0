use crate::{Case, only};

/// Building the path of the working directory, from the directory upwards.
pub const CASE: Case = Case {
    operation: "One getcwd of the C library into a buffer of 4,096 bytes; the deeper the working directory, the dearer.",
    comparable_to: "libMicro's `getcwd` is the same; on Linux it is one system call.",
    core_bound: true,
    run,
    ..Case::new("syscall", "getcwd").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let mut path = [0u8; 4096];
    if platform::IS_LINUX {
        round.expect_syscalls(1.0);
    }
    round.time_call("getcwd", || {
        // SAFETY: the pointer and length describe `path`.
        let found = unsafe { !libc::getcwd(path.as_mut_ptr().cast(), path.len()).is_null() };
        found && path[0] == b'/'
    })
}
