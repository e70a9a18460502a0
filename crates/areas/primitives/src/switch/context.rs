use crate::{Case, Only};
use measure::{CaseError, Round};

use os::SecondContext;

/// Switching stacks without the scheduler, by swapcontext.
pub const SWAPCONTEXT: Case = Case {
    operation: "One swapcontext of glibc to another context of the same thread, which includes one system call for the \
                signal mask. Half of the way there and back.",
    comparable_to: "stress-ng's `context` stressor makes the same calls among three contexts.",
    only: Only::Linux("measured on Linux only; Windows has switch/fiber"),
    core_bound: true,
    run: |_, round| {
        round.expect_syscalls(1.0);
        run(round)
    },
    ..Case::new("switch", "swapcontext")
};

/// Switching stacks without the scheduler, by fibers of Windows.
pub const FIBER: Case = Case {
    name: "fiber",
    operation: "One SwitchToFiber to another fiber of the same thread. Half of the way there and back.",
    comparable_to: "The counterpart of switch/swapcontext, without a system call.",
    run: |_, round| run(round),
    ..SWAPCONTEXT.on_windows()
};

fn run(round: &mut Round) -> Result<(), CaseError> {
    let mut second = SecondContext::new()?;
    round.operations_per_call(2);
    let mut failures = 0u64;
    round.time(|| {
        let before = second.entered();
        failures += u64::from(!(second.enter() && second.entered() == before + 1));
    })?;
    match failures {
        0 => Ok(()),
        n => Err(CaseError::Failed(format!("{n} switches did not happen"))),
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
mod os {
    use std::ffi::c_int;

    use measure::CaseError;

    const STACK_BYTES: usize = 64 << 10;

    struct Contexts {
        first: libc::ucontext_t,
        second: libc::ucontext_t,
        entered: u64,
    }

    pub struct SecondContext {
        contexts: *mut Contexts,
        _stack: Vec<u8>,
    }

    /// The function of the second context. makecontext(3) passes integers only: the address comes in two halves.
    extern "C" fn second(low: c_int, high: c_int) {
        let address = (high as u32 as usize) << 32 | low as u32 as usize;
        let contexts = std::ptr::with_exposed_provenance_mut::<Contexts>(address);
        // SAFETY: `contexts` is valid until its owner drops it, after which this context is never entered again. No
        // reference to it is kept across a switch.
        unsafe {
            loop {
                (*contexts).entered += 1;
                if libc::swapcontext(&raw mut (*contexts).second, &raw const (*contexts).first) != 0
                {
                    libc::abort();
                }
            }
        }
    }

    impl SecondContext {
        pub fn new() -> Result<Self, CaseError> {
            let mut stack = vec![0u8; STACK_BYTES];
            // SAFETY: an all-zero ucontext_t is a valid place; getcontext fills it in, and the stack outlives it.
            unsafe {
                let contexts = Box::into_raw(Box::new(Contexts {
                    first: std::mem::zeroed(),
                    second: std::mem::zeroed(),
                    entered: 0,
                }));
                let second_context = &raw mut (*contexts).second;
                if libc::getcontext(second_context) != 0 {
                    drop(Box::from_raw(contexts));
                    return Err(CaseError::last_os_error("getcontext"));
                }
                (*second_context).uc_stack.ss_sp = stack.as_mut_ptr().cast();
                (*second_context).uc_stack.ss_size = stack.len();
                (*second_context).uc_link = std::ptr::null_mut();
                let address = contexts.expose_provenance();
                // makecontext(3) takes a function of integers under the type of one without.
                let function =
                    std::mem::transmute::<extern "C" fn(c_int, c_int), extern "C" fn()>(second);
                let (low, high) = (address as u32 as c_int, (address >> 32) as u32 as c_int);
                libc::makecontext(second_context, function, 2, low, high);
                Ok(Self { contexts, _stack: stack })
            }
        }

        #[inline(always)]
        pub fn enter(&mut self) -> bool {
            // SAFETY: both contexts are valid; the second returns to the first.
            unsafe {
                libc::swapcontext(
                    &raw mut (*self.contexts).first,
                    &raw const (*self.contexts).second,
                ) == 0
            }
        }

        pub fn entered(&self) -> u64 {
            // SAFETY: valid, and the second context is not running.
            unsafe { (*self.contexts).entered }
        }
    }

    impl Drop for SecondContext {
        fn drop(&mut self) {
            // SAFETY: made by Box::into_raw; the second context is never entered again.
            drop(unsafe { Box::from_raw(self.contexts) });
        }
    }
}

#[cfg(windows)]
mod os {
    use std::ffi::c_void;

    use windows_sys::Win32::System::Threading::{
        ConvertFiberToThread, ConvertThreadToFiber, CreateFiber, DeleteFiber, SwitchToFiber,
    };

    use measure::CaseError;

    struct Fibers {
        first: *mut c_void,
        second: *mut c_void,
        entered: u64,
    }

    pub struct SecondContext {
        fibers: *mut Fibers,
    }

    unsafe extern "system" fn second(fibers: *mut c_void) {
        let fibers = fibers.cast::<Fibers>();
        // SAFETY: `fibers` is valid until its owner deletes this fiber. No reference to it is kept across a switch.
        unsafe {
            loop {
                (*fibers).entered += 1;
                SwitchToFiber((*fibers).first);
            }
        }
    }

    impl SecondContext {
        pub fn new() -> Result<Self, CaseError> {
            // SAFETY: the calls take no memory but the pointer that is passed on to `second`.
            unsafe {
                let first = ConvertThreadToFiber(std::ptr::null());
                if first.is_null() {
                    return Err(CaseError::last_os_error("ConvertThreadToFiber"));
                }
                let fibers = Box::new(Fibers { first, second: std::ptr::null_mut(), entered: 0 });
                let fibers = Box::into_raw(fibers);
                let fiber = CreateFiber(0, Some(second), fibers.cast());
                if fiber.is_null() {
                    let reason = CaseError::last_os_error("CreateFiber");
                    ConvertFiberToThread();
                    drop(Box::from_raw(fibers));
                    return Err(reason);
                }
                (*fibers).second = fiber;
                Ok(Self { fibers })
            }
        }

        #[inline(always)]
        pub fn enter(&mut self) -> bool {
            // SAFETY: the second fiber is valid and returns to the first, which is this one.
            unsafe { SwitchToFiber((*self.fibers).second) };
            true
        }

        pub fn entered(&self) -> u64 {
            // SAFETY: valid, and the second fiber is not running.
            unsafe { (*self.fibers).entered }
        }
    }

    impl Drop for SecondContext {
        fn drop(&mut self) {
            // SAFETY: the second fiber is not running, and is never entered again.
            unsafe {
                DeleteFiber((*self.fibers).second);
                ConvertFiberToThread();
                drop(Box::from_raw(self.fibers));
            }
        }
    }
}

#[cfg(not(any(
    all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"),
    windows
)))]
mod os {
    use measure::CaseError;

    pub enum SecondContext {}

    impl SecondContext {
        pub fn new() -> Result<Self, CaseError> {
            Err(CaseError::Unsupported("this C library has no swapcontext".into()))
        }

        pub fn enter(&mut self) -> bool {
            match *self {}
        }

        pub fn entered(&self) -> u64 {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_context_runs_each_time_it_is_entered() {
        let Ok(mut second) = SecondContext::new() else { return };
        for turn in 1..=1_000 {
            assert!(second.enter());
            assert_eq!(second.entered(), turn);
        }
        // Contexts can be created in turn, also with the stack of a dropped one.
        drop(second);
        let mut again = SecondContext::new().unwrap();
        assert!(again.enter() && again.enter());
        assert_eq!(again.entered(), 2);
    }
}
