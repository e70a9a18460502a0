//! The handler of SIGSEGV; some systems send SIGBUS.

use std::ffi::{c_int, c_void};

use measure::CaseError;
pub use platform::memory::page_size;
use platform::memory::pages::Access;
use platform::process::signal;
use platform::{IS_FREEBSD, IS_LINUX};

use super::{Remedy, protect, remedy_for};

/// Whether [`skip`] is implemented.
pub const CAN_SKIP: bool = cfg!(target_arch = "x86_64") && (IS_LINUX || IS_FREEBSD)
    || cfg!(target_arch = "aarch64") && IS_LINUX;

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
