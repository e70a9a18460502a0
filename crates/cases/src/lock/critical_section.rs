use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::{METRICS, THREADS};
use crate::{Case, Only};

/// The recursive mutex of Windows programs.
pub const CASE: Case = Case {
    area: "lock",
    name: "critical-section",
    operation: "One EnterCriticalSection and LeaveCriticalSection of one critical section.",
    comparable_to: "The Windows counterpart of lock/pthread-mutex-recursive. lock/srwlock is \
                smaller and not recursive.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_windows!(params, round, {
        use windows_sys::Win32::System::Threading::{
            CRITICAL_SECTION, EnterCriticalSection, InitializeCriticalSection, LeaveCriticalSection,
        };

        use super::{InPlace, Lock, measure};

        struct CriticalSection(InPlace<CRITICAL_SECTION>);

        impl Lock for CriticalSection {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                // SAFETY: the section is initialised and never deleted.
                unsafe { EnterCriticalSection(self.0.get()) };
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                // SAFETY: as above; this worker has entered the section.
                unsafe { LeaveCriticalSection(self.0.get()) };
            }
        }

        let section = InPlace::<CRITICAL_SECTION>::new()?;
        // SAFETY: the memory is new and lives as long as the process.
        unsafe { InitializeCriticalSection(section.get()) };
        measure(params, round, &CriticalSection(section))
    })
}
