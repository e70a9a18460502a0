//! Shared libraries that are loaded while the program runs.

use std::path::Path;

use crate::CaseError;

pub use os::Library;

/// Why this build of the program cannot load libraries; `None` if it can.
pub fn unsupported() -> Option<&'static str> {
    let is_static = cfg!(all(unix, target_feature = "crt-static"));
    is_static.then_some("this is a static build, which cannot load shared libraries (dlopen(3))")
}

/// Loads the library at `path` and runs its constructors. It stays loaded until the process ends.
///
/// # Safety
/// The library's constructors and destructors must be safe to run.
///
/// # Errors
/// `Unsupported` in a static build; else if the library cannot be loaded, with the system's reason.
pub unsafe fn load(path: &Path) -> Result<Library, CaseError> {
    match unsupported() {
        Some(reason) => Err(CaseError::Unsupported(reason.to_owned())),
        // SAFETY: as the caller promises.
        None => unsafe { Library::load(path) },
    }
}

#[cfg(not(all(unix, target_feature = "crt-static")))]
mod os {
    use std::mem::ManuallyDrop;
    use std::path::Path;

    #[cfg(unix)]
    use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
    #[cfg(windows)]
    use libloading::os::windows::Library as Loaded;

    use crate::CaseError;

    /// A loaded library, which is never unloaded: its threads may still run.
    pub struct Library(ManuallyDrop<Loaded>);

    impl Library {
        /// See [`super::load`].
        pub(super) unsafe fn load(path: &Path) -> Result<Self, CaseError> {
            // All symbols are resolved now, so that a missing one is an error, not a crash. SAFETY: as the caller promises.
            #[cfg(unix)]
            let loaded = unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
            // SAFETY: as the caller promises.
            #[cfg(windows)]
            let loaded = unsafe { Loaded::new(path) };
            let failed = |e: libloading::Error| CaseError::Failed(reason(&e));
            loaded.map(|library| Self(ManuallyDrop::new(library))).map_err(failed)
        }

        /// The function of that name; `None` if the library does not export it.
        ///
        /// # Safety
        /// `F` must be the type of a pointer to that function.
        pub unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
            // SAFETY: as the caller promises.
            unsafe { self.0.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
        }
    }

    /// The system's reason, which names the file.
    fn reason(error: &libloading::Error) -> String {
        match std::error::Error::source(error) {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        }
    }
}

#[cfg(all(unix, target_feature = "crt-static"))]
mod os {
    use std::path::Path;

    use crate::CaseError;

    /// A loaded library: there are none in a static build.
    pub enum Library {}

    impl Library {
        /// See [`super::load`].
        pub(super) unsafe fn load(_path: &Path) -> Result<Self, CaseError> {
            Err(CaseError::Unsupported("static".to_owned()))
        }

        /// Never called: a static build has no library.
        ///
        /// # Safety
        /// None is needed.
        pub unsafe fn function<F: Copy>(&self, _name: &str) -> Option<F> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_an_error_that_names_it() {
        let path = std::env::temp_dir().join(format!("oscost-no-library-{}", std::process::id()));
        std::fs::write(&path, "text").unwrap();
        // SAFETY: a text file has no constructors.
        let error = unsafe { load(&path) }.err().unwrap().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("oscost-no-library") || cfg!(windows), "{error}");
    }
}
