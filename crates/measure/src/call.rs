//! Timing of a call of the operating system, whose result is checked.

use std::hint::black_box;

use platform::CaseError;

use crate::round::Round;

impl Round<'_> {
    /// Measures `call`, which returns whether it succeeded, like [`Round::time`].
    ///
    /// A first call before the timing finds out whether this system supports it. The result of every timed call is checked,
    /// which adds one addition to the timed code.
    ///
    /// # Errors
    /// The system's error if the first call fails; `Failed` if a later one does; see [`Round::time`].
    pub fn time_call(
        &mut self,
        name: &str,
        mut call: impl FnMut() -> bool,
    ) -> Result<(), CaseError> {
        if !call() {
            return Err(CaseError::last_os_error(name));
        }
        let mut failures = 0u64;
        self.time(|| failures += u64::from(!black_box(call())))?;
        match failures {
            0 => Ok(()),
            n => Err(CaseError::Failed(format!("{name} worked at first, then failed {n} times"))),
        }
    }

    /// Declares the number of system calls of an operation, except on Windows, where it makes other calls.
    pub fn expect_unix_calls(&mut self, per_operation: f64) {
        if platform::IS_UNIX {
            self.expect_syscalls(per_operation);
        }
    }
}
