use std::cell::Cell;
use std::hint::black_box;

use measure::{CaseError, Round};

use crate::{Case, Param, value_of};

/// Number of reads in one call of the timed closure, so that its loop is a small share.
const READS: usize = 16;
/// Value that each read must return.
const VALUE: usize = 3;

/// Reading a thread-local variable.
pub const CASE: Case = Case {
    operation: "One call, through a pointer that the compiler cannot follow, of a function that \
                returns the calling thread's value of a variable, and one addition of it; 16 of \
                them in a row.",
    comparable_to: "lmbench, libMicro and the others have nothing like it. A read that is compiled \
            into its caller, as most are, saves the call: a bare load remains.",
    core_bound: true,
    params: &[Param::new("by", &["address", "key"])
        .meaning(
            "whether the variable has a constant initial value, so that its address is \
             fixed relative to the thread; is initialised at its first use, which each read \
             checks; or is found by a key (pthread_getspecific, TlsGetValue)",
        )
        .full(&["address", "checked", "key"])],
    run: |params, round| match value_of(params, "by")? {
        "address" => {
            CONSTANT.set(VALUE);
            measure(round, |()| CONSTANT.get(), ())
        }
        "checked" => {
            CHECKED.set(VALUE);
            measure(round, |()| CHECKED.get(), ())
        }
        _ => {
            let key = ThreadKey::new()?;
            key.set(VALUE)?;
            measure(round, ThreadKey::get, &key)
        }
    },
    ..Case::new("thread", "local")
};

thread_local! {
    static CONSTANT: Cell<usize> = const { Cell::new(0) };
    static CHECKED: Cell<usize> = Cell::new(unset());
}

/// An initial value that is computed when it is first needed.
fn unset() -> usize {
    black_box(0)
}

/// Times calls of `read` and checks the sum of their results.
fn measure<A: Copy>(round: &mut Round, read: fn(A) -> usize, argument: A) -> Result<(), CaseError> {
    // The compiler must not know the function: it can neither leave out nor move a call.
    let read = black_box(read);
    let (mut sum, mut calls) = (0usize, 0usize);
    round.operations_per_call(READS as u64);
    round.expect_syscalls(0.0);
    round.time(|| {
        for _ in 0..READS {
            sum = sum.wrapping_add(read(argument));
        }
        calls += 1;
    })?;
    match calls.wrapping_mul(READS * VALUE) {
        expected if expected == sum => Ok(()),
        expected => Err(CaseError::Failed(format!("the values sum up to {sum}, not {expected}"))),
    }
}

/// A key under which each thread has its own value, initially 0: pthread_key_create(3), TlsAlloc on Windows. Deleted when
/// dropped.
#[derive(Debug)]
struct ThreadKey(os::Key);

impl ThreadKey {
    /// A new key.
    fn new() -> Result<Self, CaseError> {
        os::create().map(Self)
    }

    /// Sets the calling thread's value.
    fn set(&self, value: usize) -> Result<(), CaseError> {
        os::set(self.0, value)
    }

    /// The calling thread's value, by one call of pthread_getspecific or TlsGetValue.
    #[inline(always)]
    fn get(&self) -> usize {
        os::get(self.0)
    }
}

impl Drop for ThreadKey {
    fn drop(&mut self) {
        os::delete(self.0);
    }
}

#[cfg(unix)]
mod os {
    use measure::CaseError;

    pub type Key = libc::pthread_key_t;

    pub fn create() -> Result<Key, CaseError> {
        let mut key = 0;
        // SAFETY: `key` is valid; there is no destructor.
        let error = unsafe { libc::pthread_key_create(&mut key, None) };
        succeed("pthread_key_create", error).map(|()| key)
    }

    pub fn set(key: Key, value: usize) -> Result<(), CaseError> {
        let value = std::ptr::without_provenance(value);
        // SAFETY: the key exists; its values are never used as pointers.
        succeed("pthread_setspecific", unsafe { libc::pthread_setspecific(key, value) })
    }

    #[inline(always)]
    pub fn get(key: Key) -> usize {
        // SAFETY: the key exists.
        unsafe { libc::pthread_getspecific(key) }.addr()
    }

    pub fn delete(key: Key) {
        // SAFETY: the key exists and is not used afterwards.
        unsafe { libc::pthread_key_delete(key) };
    }

    fn succeed(call: &str, error: libc::c_int) -> Result<(), CaseError> {
        match error {
            0 => Ok(()),
            _ => Err(CaseError::from_io(call, &std::io::Error::from_raw_os_error(error))),
        }
    }
}

#[cfg(windows)]
mod os {
    use windows_sys::Win32::System::Threading::{
        TLS_OUT_OF_INDEXES, TlsAlloc, TlsFree, TlsGetValue, TlsSetValue,
    };

    use measure::CaseError;

    pub type Key = u32;

    pub fn create() -> Result<Key, CaseError> {
        // SAFETY: takes nothing.
        match unsafe { TlsAlloc() } {
            TLS_OUT_OF_INDEXES => Err(CaseError::last_os_error("TlsAlloc")),
            key => Ok(key),
        }
    }

    pub fn set(key: Key, value: usize) -> Result<(), CaseError> {
        // SAFETY: the key exists; its values are never used as pointers.
        match unsafe { TlsSetValue(key, std::ptr::without_provenance(value)) } {
            0 => Err(CaseError::last_os_error("TlsSetValue")),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    pub fn get(key: Key) -> usize {
        // SAFETY: the key exists.
        unsafe { TlsGetValue(key) }.addr()
    }

    pub fn delete(key: Key) {
        // SAFETY: the key exists and is not used afterwards.
        unsafe { TlsFree(key) };
    }
}

#[cfg(test)]
mod tests {
    use measure::Params;
    use measure::round::Mode;

    use super::*;

    #[test]
    fn a_wrong_value_is_noticed() {
        let order = rehearsal::order("thread/local", &Params::new(), Mode::Sample);
        let (_, result) = rehearsal::round(&order, |round| measure(round, |()| VALUE - 1, ()));
        assert!(matches!(result, Err(CaseError::Failed(_))), "{result:?}");
    }

    #[test]
    fn each_thread_has_a_value_of_its_own() {
        let key = ThreadKey::new().unwrap();
        key.set(5).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(key.get(), 0);
                key.set(6).unwrap();
                assert_eq!(key.get(), 6);
            });
        });
        assert_eq!(key.get(), 5);
    }
}
