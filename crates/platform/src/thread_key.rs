//! Thread-local storage that is found by a key at run time.

use crate::CaseError;

/// A key under which each thread has its own value, initially 0: pthread_key_create(3), TlsAlloc on Windows. Deleted when
/// dropped.
#[derive(Debug)]
pub struct ThreadKey(os::Key);

impl ThreadKey {
    /// A new key.
    ///
    /// # Errors
    /// If the process has too many.
    pub fn new() -> Result<Self, CaseError> {
        os::create().map(Self)
    }

    /// Sets the calling thread's value.
    ///
    /// # Errors
    /// If the system has no memory for it.
    pub fn set(&self, value: usize) -> Result<(), CaseError> {
        os::set(self.0, value)
    }

    /// The calling thread's value, by one call of pthread_getspecific or TlsGetValue.
    #[inline(always)]
    pub fn get(&self) -> usize {
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
    use crate::CaseError;

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

    use crate::CaseError;

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
    use super::*;

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
