use crate::{Case, only};

/// Path lookup of a directory.
pub const CASE: Case = Case {
    operation: "One chdir to the working directory by its absolute path, so that it does not change; the longer the path, \
                the dearer.",
    comparable_to: "libMicro's `chdir` changes between two directories.",
    core_bound: true,
    run,
    ..Case::new("syscall", "chdir").on_unix()
};

#[only(unix)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    let here = std::env::current_dir();
    let here = here.map_err(|e| measure::CaseError::from_io("the working directory", &e))?;
    let path = platform::file::path::c_path(&here)?;
    round.expect_syscalls(1.0);
    // SAFETY: the path ends with NUL.
    round.time_call("chdir", || unsafe { libc::chdir(path.as_ptr()) == 0 })
}
