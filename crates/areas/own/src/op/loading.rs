//! Shared libraries that are loaded while the program runs.

pub use os::Library;

#[cfg(not(all(unix, target_feature = "crt-static")))]
mod os {
    use std::mem::ManuallyDrop;
    use std::path::Path;

    #[cfg(unix)]
    use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
    #[cfg(windows)]
    use libloading::os::windows::Library as Loaded;
    use measure::CaseError;

    /// A loaded library, which is never unloaded: its threads may still run.
    pub struct Library(ManuallyDrop<Loaded>);

    impl Library {
        /// Loads the library at `path` and runs its constructors. An error has the system's reason.
        ///
        /// # Safety
        /// The library's constructors and destructors must be safe to run.
        pub unsafe fn load(path: &Path) -> Result<Self, CaseError> {
            // SAFETY: as the caller promises.
            let loaded = unsafe { load(path) };
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

    /// Resolves all symbols now, so that a missing one is an error, not a crash.
    #[cfg(unix)]
    unsafe fn load(path: &Path) -> Result<Loaded, libloading::Error> {
        // SAFETY: as the caller promises.
        unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
    }

    #[cfg(windows)]
    unsafe fn load(path: &Path) -> Result<Loaded, libloading::Error> {
        // SAFETY: as the caller promises.
        unsafe { Loaded::new(path) }
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

    use measure::CaseError;

    pub enum Library {}

    impl Library {
        /// Fails.
        ///
        /// # Safety
        /// None is needed.
        pub unsafe fn load(_path: &Path) -> Result<Self, CaseError> {
            let why = "this is a static build, which cannot load shared libraries (dlopen(3)); one that \
                       can is made by `cargo install`";
            Err(CaseError::Unsupported(why.into()))
        }

        /// Never called.
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
        let error = unsafe { Library::load(&path) }.err().unwrap().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("oscost-no-library") || cfg!(windows), "{error}");
    }
}
