//! Which memory allocator serves `malloc`, and with it Rust's `System` allocator.

/// Name of the allocator, with its version where it reports one: `glibc 2.36`, `jemalloc`; `None` where it is unknown.
///
/// A preloaded allocator (`LD_PRELOAD`) is recognised by a function that no other one has.
pub use os::name;

#[cfg(target_os = "linux")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::ffi::CStr;

    /// Functions by which replacements of the C library's allocator are known.
    const REPLACEMENTS: [(&CStr, &str); 6] = [
        (c"mallctl", "jemalloc"),
        (c"mi_version", "mimalloc"),
        (c"tc_version", "tcmalloc"),
        (c"MallocExtension_Internal_GetStats", "tcmalloc"),
        (c"rpmalloc_initialize", "rpmalloc"),
        (c"snmalloc_malloc", "snmalloc"),
    ];

    pub fn name() -> Option<String> {
        let replacement = REPLACEMENTS.iter().find(|(function, _)| is_loaded(function));
        match replacement {
            Some((_, name)) => Some((*name).to_owned()),
            None => of_c_library(),
        }
    }

    fn is_loaded(function: &CStr) -> bool {
        // SAFETY: the name ends in a zero; the address is not called.
        !unsafe { libc::dlsym(libc::RTLD_DEFAULT, function.as_ptr()) }.is_null()
    }

    #[cfg(target_env = "gnu")]
    fn of_c_library() -> Option<String> {
        // SAFETY: the function takes nothing and gives a string that lasts as long as the program.
        let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) };
        Some(format!("glibc {}", version.to_string_lossy()))
    }

    #[cfg(target_env = "musl")]
    fn of_c_library() -> Option<String> {
        Some("musl".to_owned())
    }

    #[cfg(not(any(target_env = "gnu", target_env = "musl")))]
    fn of_c_library() -> Option<String> {
        None
    }
}

#[cfg(target_os = "freebsd")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    /// FreeBSD's C library has had jemalloc since version 7.
    pub fn name() -> Option<String> {
        Some("jemalloc".to_owned())
    }
}

#[cfg(target_os = "macos")]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    pub fn name() -> Option<String> {
        Some("libmalloc".to_owned())
    }
}

#[cfg(windows)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    pub fn name() -> Option<String> {
        Some("process heap (HeapAlloc)".to_owned())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_allocator_of_this_program_has_a_name() {
        let name = super::name();
        println!("{name:?}");
        if cfg!(any(target_env = "gnu", target_env = "musl", windows)) {
            assert!(name.is_some_and(|name| !name.is_empty()));
        }
    }
}
