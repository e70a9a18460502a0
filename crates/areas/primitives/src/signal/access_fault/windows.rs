//! The vectored exception handler.

use std::ffi::c_void;

use measure::CaseError;
use platform::memory::pages::Access;
use windows_sys::Win32::Foundation::EXCEPTION_ACCESS_VIOLATION;
use windows_sys::Win32::System::Diagnostics::Debug::{
    AddVectoredExceptionHandler, CONTEXT, EXCEPTION_CONTINUE_EXECUTION, EXCEPTION_CONTINUE_SEARCH,
    EXCEPTION_POINTERS, RemoveVectoredExceptionHandler,
};

use super::{PAGE_SIZE_AT_LEAST, Remedy, protect, remedy_for};

/// Whether [`skip`] is implemented.
pub const CAN_SKIP: bool = cfg!(target_arch = "x86_64");

/// The usual size: the handler is measured, not the page.
pub fn page_size() -> usize {
    PAGE_SIZE_AT_LEAST
}

/// A vectored exception handler, which is removed when this is dropped.
pub struct Installed(*mut c_void);

pub fn install() -> Result<Installed, CaseError> {
    // SAFETY: the handler has the required signature and exists for as long as the program.
    let handle = unsafe { AddVectoredExceptionHandler(1, Some(on_exception)) };
    if handle.is_null() {
        return Err(CaseError::last_os_error("AddVectoredExceptionHandler"));
    }
    Ok(Installed(handle))
}

impl Drop for Installed {
    fn drop(&mut self) {
        // SAFETY: the handle is that of the handler, which is removed once.
        unsafe { RemoveVectoredExceptionHandler(self.0) };
    }
}

unsafe extern "system" fn on_exception(exception: *mut EXCEPTION_POINTERS) -> i32 {
    // SAFETY: the system passes valid pointers. The second parameter of an access violation is its address.
    unsafe {
        let record = &*(*exception).ExceptionRecord;
        if record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION {
            return EXCEPTION_CONTINUE_SEARCH;
        }
        let address = record.ExceptionInformation[1];
        let is_handled = match remedy_for(address) {
            Some(Remedy::Skip) => skip(&mut *(*exception).ContextRecord),
            Some(Remedy::Permit) => {
                protect((address & !(PAGE_SIZE_AT_LEAST - 1)) as *mut u8, Access::Write)
            }
            None => false,
        };
        if is_handled { EXCEPTION_CONTINUE_EXECUTION } else { EXCEPTION_CONTINUE_SEARCH }
    }
}

#[cfg(target_arch = "x86_64")]
fn skip(context: &mut CONTEXT) -> bool {
    context.Rip = context.Rdx;
    true
}

/// Never needed: skipping is not implemented for this processor.
#[cfg(not(target_arch = "x86_64"))]
fn skip(_context: &mut CONTEXT) -> bool {
    false
}
