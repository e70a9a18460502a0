use crate::{Case, only};

/// Setting and removing an exception handler.
pub const CASE: Case = Case {
    operation: "One AddVectoredExceptionHandler that puts a handler first in the list, and one \
                RemoveVectoredExceptionHandler that removes it.",
    comparable_to: "The counterpart of signal/install.",
    core_bound: true,
    run,
    ..Case::new("signal", "add-exception-handler").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use windows_sys::Win32::System::Diagnostics::Debug::{
        AddVectoredExceptionHandler, EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS,
        RemoveVectoredExceptionHandler,
    };

    unsafe extern "system" fn pass_on(_exception: *mut EXCEPTION_POINTERS) -> i32 {
        EXCEPTION_CONTINUE_SEARCH
    }

    // SAFETY: the handler has the required signature and accepts any exception; it is removed once.
    round.time_call("AddVectoredExceptionHandler", || unsafe {
        let handle = AddVectoredExceptionHandler(1, Some(pass_on));
        !handle.is_null() && RemoveVectoredExceptionHandler(handle) != 0
    })
}
