use super::lock;
use crate::{Case, only};

/// The recursive mutex of Windows programs.
pub const CASE: Case = Case {
    operation: "One EnterCriticalSection and LeaveCriticalSection of one critical section.",
    comparable_to: "The Windows counterpart of lock/pthread-mutex-recursive. lock/srwlock is \
                smaller and not recursive.",
    run,
    ..lock("critical-section").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Threading::{
        CRITICAL_SECTION, EnterCriticalSection, InitializeCriticalSection, LeaveCriticalSection,
    };

    use super::{InPlace, measure};

    let section = InPlace::<CRITICAL_SECTION>::new()?;
    // SAFETY: the memory is new and lives as long as the process.
    unsafe { InitializeCriticalSection(section.get()) };
    // SAFETY: the section is initialised and never deleted.
    let enter = move || unsafe { EnterCriticalSection(section.get()) };
    // SAFETY: the section is initialised and never deleted; this worker has entered it.
    let leave = move || unsafe { LeaveCriticalSection(section.get()) };
    measure(params, round, &(enter, leave))
}
