use crate::{Case, only};

/// Raising an exception, which runs a handler.
pub const CASE: Case = Case {
    operation: "One RaiseException of a code of its own, which a vectored exception handler counts and continues \
                from.",
    comparable_to: "The counterpart of signal/raise. Structured exception handlers are found later, by unwinding \
                    the stack.",
    core_bound: true,
    run,
    ..Case::new("signal", "raise-exception").on_windows()
};

#[only(windows)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicU64, Ordering};

    use windows_sys::Win32::System::Diagnostics::Debug::{
        AddVectoredExceptionHandler, EXCEPTION_CONTINUE_EXECUTION, EXCEPTION_CONTINUE_SEARCH,
        EXCEPTION_POINTERS, RaiseException, RemoveVectoredExceptionHandler,
    };

    /// Exception code: an error (the two highest bits) that an application defines (bit 29).
    const CODE: u32 = 0xe05c_0001;
    static HANDLED: AtomicU64 = AtomicU64::new(0);

    unsafe extern "system" fn handle(exception: *mut EXCEPTION_POINTERS) -> i32 {
        // SAFETY: the system passes valid pointers.
        let code = unsafe { (*(*exception).ExceptionRecord).ExceptionCode };
        if code as u32 != CODE {
            return EXCEPTION_CONTINUE_SEARCH;
        }
        HANDLED.fetch_add(1, Ordering::Relaxed);
        EXCEPTION_CONTINUE_EXECUTION
    }

    /// The registered handler, removed when dropped.
    struct Handler(*mut c_void);

    impl Drop for Handler {
        fn drop(&mut self) {
            // SAFETY: `self.0` is the registered handler, which is removed once.
            unsafe { RemoveVectoredExceptionHandler(self.0) };
        }
    }

    // SAFETY: the handler has the required signature.
    let handler = Handler(unsafe { AddVectoredExceptionHandler(1, Some(handle)) });
    if handler.0.is_null() {
        return Err(measure::CaseError::last_os_error("AddVectoredExceptionHandler"));
    }
    let handled_so_far = || HANDLED.load(Ordering::Relaxed);
    super::time_handled(round, "RaiseException", 1, handled_so_far, || {
        // SAFETY: the exception has no parameters, and the handler continues from it.
        unsafe { RaiseException(CODE, 0, 0, std::ptr::null()) };
        true
    })
}
