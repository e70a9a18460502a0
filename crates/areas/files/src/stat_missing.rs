use measure::CaseError;
use platform::file::system_path::SystemPath;

use super::DIR;
use super::directory::Home;
use catalog::Case;

/// stat of a name that does not exist.
pub const CASE: Case = Case {
    operation: "One stat of a name that does not exist in an existing directory, by an absolute path \
                (GetFileAttributesW on Windows).",
    comparable_to: "As syscall/stat, which finds its file. Linux keeps missing names in its cache (negative dentries); \
            shells and loaders look up many along their paths.",
    core_bound: true,
    params: &[DIR],
    run: |params, round| {
        let home = Home::with_room(params, 1, 0)?;
        let path = SystemPath::new(&home.file(1))?;
        if path.exists()? {
            return Err(CaseError::Failed("a name exists that was never created".into()));
        }
        round.expect_unix_calls(1.0);
        round.time_call("stat of a missing name", || matches!(path.exists(), Ok(false)))
    },
    ..Case::new("file", "stat-missing")
};
