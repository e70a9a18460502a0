use platform::on_windows;

use crate::{Case, Only};

/// Setting a handler of exceptions.
pub const CASE: Case = Case {
    area: "signal",
    name: "add-exception-handler",
    operation: "One AddVectoredExceptionHandler that puts a handler first in the list, and one \
                RemoveVectoredExceptionHandler that removes it.",
    comparable_to: "The counterpart of signal/install.",
    only: Only::Windows("exists only on Windows"),
    core_bound: true,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_windows!(round, {
            use windows_sys::Win32::System::Diagnostics::Debug::{
                AddVectoredExceptionHandler, EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS,
                RemoveVectoredExceptionHandler,
            };

            unsafe extern "system" fn pass_on(_exception: *mut EXCEPTION_POINTERS) -> i32 {
                EXCEPTION_CONTINUE_SEARCH
            }

            crate::syscall::time(round, "AddVectoredExceptionHandler", || {
                // SAFETY: the handler has the required signature and accepts any exception; it is removed once.
                unsafe {
                    let handle = AddVectoredExceptionHandler(1, Some(pass_on));
                    !handle.is_null() && RemoveVectoredExceptionHandler(handle) != 0
                }
            })
        })
    },
};
