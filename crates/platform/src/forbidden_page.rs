//! A page of memory that no access is permitted to, and the handling of accesses to it: by a handler of SIGSEGV (some
//! systems send SIGBUS), on Windows by a vectored exception handler.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::CaseError;
use crate::pages::{self, Access, Pages};

/// What the handler does after an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Continue after the instruction that faulted.
    Skip,
    /// Permit access to the page, and repeat the instruction.
    Permit,
}

/// A page that no access is permitted to, and the handler of accesses to it. A process has one at a time: the creation of a
/// second waits.
pub struct ForbiddenPage {
    page: Pages,
    remedy: Remedy,
    /// The handler, dropped before the lock is released.
    _handler: os::Installed,
    _only: MutexGuard<'static, ()>,
}

static ONLY: Mutex<()> = Mutex::new(());
/// The address of the page; 0 if there is none.
static ADDRESS: AtomicUsize = AtomicUsize::new(0);
static SKIPS: AtomicBool = AtomicBool::new(false);
static HANDLED: AtomicU64 = AtomicU64::new(0);

/// The value that a skipped load leaves in its register, which no byte has.
const NOT_LOADED: u64 = 0x100;
const PAGE_SIZE_AT_LEAST: usize = 4096;

impl ForbiddenPage {
    /// Maps a page, and installs a handler that applies `remedy`.
    ///
    /// # Errors
    /// `Unsupported` where the handler cannot skip an instruction on this system or processor; else if the page cannot be
    /// mapped or the handler installed.
    pub fn new(remedy: Remedy) -> Result<Self, CaseError> {
        if remedy == Remedy::Skip && !os::CAN_SKIP {
            let why = "the handler cannot skip an instruction on this system and processor";
            return Err(CaseError::Unsupported(why.into()));
        }
        let only = ONLY.lock().unwrap_or_else(PoisonError::into_inner);
        let page = Pages::new(os::page_size());
        let page = page.ok_or_else(|| CaseError::last_os_error("mapping a page"))?;
        if !protect(page.first(), Access::Forbidden) {
            return Err(CaseError::last_os_error("forbidding access to a page"));
        }
        SKIPS.store(remedy == Remedy::Skip, Ordering::SeqCst);
        ADDRESS.store(page.first() as usize, Ordering::SeqCst);
        let handler = os::install()?;
        Ok(Self { page, remedy, _handler: handler, _only: only })
    }

    /// Accesses the page: for [`Remedy::Skip`] by a load that is skipped, for [`Remedy::Permit`] by a store of `value` that
    /// succeeds when repeated, after which access is forbidden again. Returns whether the handler did so.
    #[inline(always)]
    pub fn access(&self, value: u8) -> bool {
        match self.remedy {
            // SAFETY: the page is mapped, and the handler skips the load.
            Remedy::Skip => unsafe { load(self.page.first() as usize) == NOT_LOADED },
            Remedy::Permit => {
                let place = self.page.first();
                // SAFETY: the page is mapped, and nothing else uses it. The handler permits the access.
                let stored = unsafe {
                    place.write_volatile(value);
                    place.read_volatile()
                };
                stored == value && protect(place, Access::Forbidden)
            }
        }
    }

    /// The number of accesses that handlers have handled in this process.
    pub fn handled() -> u64 {
        HANDLED.load(Ordering::Relaxed)
    }
}

impl Drop for ForbiddenPage {
    fn drop(&mut self) {
        ADDRESS.store(0, Ordering::SeqCst);
    }
}

/// Changes the access to the page; returns whether that succeeded.
fn protect(page: *mut u8, access: Access) -> bool {
    pages::protect(page, os::page_size(), access)
}

/// What the handler must do about an access to `address`; `None` if the address is outside the page.
fn remedy_for(address: usize) -> Option<Remedy> {
    let page = ADDRESS.load(Ordering::Relaxed);
    if page == 0 || !(page..page + PAGE_SIZE_AT_LEAST).contains(&address) {
        return None;
    }
    HANDLED.fetch_add(1, Ordering::Relaxed);
    Some(if SKIPS.load(Ordering::Relaxed) { Remedy::Skip } else { Remedy::Permit })
}

/// Loads the byte at `address`. A handler may continue at the address in `rdx`, after the load: then the result is
/// [`NOT_LOADED`].
///
/// # Safety
/// The byte must be readable, or such a handler installed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn load(address: usize) -> u64 {
    let mut value = NOT_LOADED;
    // SAFETY: as the caller promises. A load changes only `al`, which is then less than NOT_LOADED.
    unsafe {
        std::arch::asm!(
            "lea rdx, [rip + 2f]",
            "movzx eax, byte ptr [rdi]",
            "2:",
            in("rdi") address,
            inout("rax") value,
            out("rdx") _,
            options(nostack),
        );
    }
    value
}

/// Loads the byte at `address`, like the function for x86-64, but with the address in `x1`.
///
/// # Safety
/// The byte must be readable, or such a handler installed.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn load(address: usize) -> u64 {
    let mut value = NOT_LOADED;
    // SAFETY: as the caller promises.
    unsafe {
        std::arch::asm!(
            "adr x1, 2f",
            "ldrb w2, [x0]",
            "2:",
            in("x0") address,
            out("x1") _,
            inout("x2") value,
            options(nostack),
        );
    }
    value
}

/// Loads the byte at `address`: no handler can skip that here.
///
/// # Safety
/// The byte must be readable.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn load(address: usize) -> u64 {
    // SAFETY: as the caller promises.
    u64::from(unsafe { (address as *const u8).read_volatile() })
}

#[cfg(unix)]
mod os {
    use std::ffi::{c_int, c_void};

    use super::{Access, Remedy, protect, remedy_for};
    pub use crate::memory::page_size;
    use crate::{CaseError, signal};

    /// Whether [`skip`] is implemented.
    pub const CAN_SKIP: bool = cfg!(any(
        all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")),
        all(target_os = "freebsd", target_arch = "x86_64"),
    ));

    pub type Installed = [signal::Installed; 2];

    pub fn install() -> Result<Installed, CaseError> {
        let handler = on_fault as *const () as libc::sighandler_t;
        let action = signal::action(handler, libc::SA_SIGINFO);
        let install = |signal| {
            signal::Installed::new(signal, &action)
                .map_err(|e| CaseError::from_io("installing a handler", &e))
        };
        Ok([install(libc::SIGSEGV)?, install(libc::SIGBUS)?])
    }

    extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the system passes a valid siginfo_t and, as `context`, a valid ucontext_t. All calls are plain system
        // calls or async-signal-safe.
        unsafe {
            match remedy_for((*info).si_addr() as usize) {
                Some(Remedy::Skip) => skip(context.cast()),
                Some(Remedy::Permit) => {
                    let page = (*info).si_addr() as usize & !(page_size() - 1);
                    if !protect(page as *mut u8, Access::Write) {
                        libc::abort();
                    }
                }
                // A real fault: the instruction is repeated, and ends the process.
                None => {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
        }
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    unsafe fn skip(context: *mut libc::ucontext_t) {
        // SAFETY: the caller passes the interrupted context, in which `load` runs.
        let registers = unsafe { &mut (*context).uc_mcontext.gregs };
        registers[libc::REG_RIP as usize] = registers[libc::REG_RDX as usize];
    }

    #[cfg(all(target_os = "linux", target_arch = "aarch64"))]
    unsafe fn skip(context: *mut libc::ucontext_t) {
        // SAFETY: the caller passes the interrupted context, in which `load` runs.
        let machine = unsafe { &mut (*context).uc_mcontext };
        machine.pc = machine.regs[1];
    }

    #[cfg(all(target_os = "freebsd", target_arch = "x86_64"))]
    unsafe fn skip(context: *mut libc::ucontext_t) {
        // SAFETY: the caller passes the interrupted context, in which `load` runs.
        let machine = unsafe { &mut (*context).uc_mcontext };
        machine.mc_rip = machine.mc_rdx;
    }

    /// Skipping is never needed where it is not implemented.
    #[cfg(not(any(
        all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")),
        all(target_os = "freebsd", target_arch = "x86_64"),
    )))]
    unsafe fn skip(_context: *mut c_void) {
        // SAFETY: ends the process.
        unsafe { libc::abort() }
    }
}

#[cfg(windows)]
mod os {
    use std::ffi::c_void;

    use super::{Access, PAGE_SIZE_AT_LEAST, Remedy, protect, remedy_for};
    use crate::CaseError;
    use windows_sys::Win32::Foundation::EXCEPTION_ACCESS_VIOLATION;
    use windows_sys::Win32::System::Diagnostics::Debug::{
        AddVectoredExceptionHandler, CONTEXT, EXCEPTION_CONTINUE_EXECUTION,
        EXCEPTION_CONTINUE_SEARCH, EXCEPTION_POINTERS, RemoveVectoredExceptionHandler,
    };

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_is_handled_once() {
        for remedy in [Remedy::Skip, Remedy::Permit] {
            let page = match ForbiddenPage::new(remedy) {
                Ok(page) => page,
                Err(reason) => {
                    assert!(matches!(reason, CaseError::Unsupported(_)), "{reason}");
                    continue;
                }
            };
            let before = ForbiddenPage::handled();
            assert!((0..100).all(|value| page.access(value)), "{remedy:?}");
            assert_eq!(ForbiddenPage::handled() - before, 100, "{remedy:?}");
        }
    }

    #[test]
    fn an_access_that_is_permitted_is_noticed() {
        let Ok(page) = ForbiddenPage::new(Remedy::Skip) else { return };
        let before = ForbiddenPage::handled();
        assert!(protect(page.page.first(), Access::Write));
        assert!(!page.access(0));
        assert_eq!(ForbiddenPage::handled(), before);
    }
}
