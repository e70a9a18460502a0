use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use measure::CaseError;
use platform::memory::pages::{self, Access, Pages};

use crate::{Case, Param, value_of};

#[cfg_attr(unix, path = "access_fault/unix.rs")]
#[cfg_attr(windows, path = "access_fault/windows.rs")]
mod handler;

/// Handling an access fault, by which runtimes check pointers and implement write barriers without a comparison.
pub const CASE: Case = Case {
    operation: "One access to a page that permits none, and its handling, by a handler of SIGSEGV or a \
                vectored exception handler. With remedy=skip it is a load, after which the handler \
                continues; with remedy=permit it is a store, which is repeated after the handler has made \
                the page writable (mprotect, VirtualProtect), and then the page is protected again.",
    comparable_to: "lmbench's `lat_sig prot` returns to a store to a read-only mapping, which faults again; \
                    remedy=skip is like it. stress-ng's `sigsegv` leaves the handler by siglongjmp.",
    core_bound: true,
    params: &[Param::new("remedy", &["skip", "permit"])
        .meaning("whether the handler skips the access, or permits it")],
    run: |params, round| {
        let (remedy, calls) = match value_of(params, "remedy")? {
            // The calls are the return from the handler, and for `permit` also the two changes of the permission.
            "skip" => (Remedy::Skip, 1.0),
            _ => (Remedy::Permit, 3.0),
        };
        let page = ForbiddenPage::new(remedy)?;
        let mut value = 0u8;
        round.expect_syscalls(calls);
        super::time_handled(round, "the access", 1, ForbiddenPage::handled, || {
            value = value.wrapping_add(1);
            page.access(value)
        })
    },
    ..Case::new("signal", "access-fault")
};

/// What the handler does after an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Continue after the instruction that faulted.
    Skip,
    /// Permit access to the page, and repeat the instruction.
    Permit,
}

/// A page that no access is permitted to, and the handler of accesses to it. A process has one at a time: the creation of a
/// second waits.
struct ForbiddenPage {
    page: Pages,
    remedy: Remedy,
    /// The handler, dropped before the lock is released.
    _handler: handler::Installed,
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
    fn new(remedy: Remedy) -> Result<Self, CaseError> {
        if remedy == Remedy::Skip && !handler::CAN_SKIP {
            let why = "the handler cannot skip an instruction on this system and processor";
            return Err(CaseError::Unsupported(why.into()));
        }
        let only = ONLY.lock().unwrap_or_else(PoisonError::into_inner);
        let page = Pages::new(handler::page_size());
        let page = page.ok_or_else(|| CaseError::last_os_error("mapping a page"))?;
        if !protect(page.first(), Access::Forbidden) {
            return Err(CaseError::last_os_error("forbidding access to a page"));
        }
        SKIPS.store(remedy == Remedy::Skip, Ordering::SeqCst);
        ADDRESS.store(page.first() as usize, Ordering::SeqCst);
        let handler = handler::install()?;
        Ok(Self { page, remedy, _handler: handler, _only: only })
    }

    /// Accesses the page: for [`Remedy::Skip`] by a load that is skipped, for [`Remedy::Permit`] by a store of `value` that
    /// succeeds when repeated, after which access is forbidden again. Returns whether the handler did so.
    #[inline(always)]
    fn access(&self, value: u8) -> bool {
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
    fn handled() -> u64 {
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
    pages::protect(page, handler::page_size(), access)
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
