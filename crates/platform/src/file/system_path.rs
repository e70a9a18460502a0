//! Paths in the form of the system's calls, converted once, so that only the call is on the clock.

use std::io;
use std::path::Path;

/// A path in the form of the system's calls.
pub struct SystemPath(os::Form);

impl SystemPath {
    /// Converts `path`.
    ///
    /// # Errors
    /// If the path contains a NUL.
    pub fn new(path: &Path) -> io::Result<Self> {
        os::form_of(path).map(Self)
    }

    /// Makes the directory: mkdir(2), on Windows `CreateDirectoryW`.
    ///
    /// # Errors
    /// Errors of the call.
    #[inline]
    pub fn make_directory(&self) -> io::Result<()> {
        os::make_directory(&self.0)
    }

    /// Removes the directory: rmdir(2), on Windows `RemoveDirectoryW`.
    ///
    /// # Errors
    /// Errors of the call.
    #[inline]
    pub fn remove_directory(&self) -> io::Result<()> {
        os::remove_directory(&self.0)
    }

    /// Whether there is a file of that name: stat(2), on Windows `GetFileAttributesW`.
    ///
    /// # Errors
    /// Errors of the call, except that there is no such file.
    #[inline]
    pub fn exists(&self) -> io::Result<bool> {
        match os::look_up(&self.0) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(e),
        }
    }
}

#[cfg(unix)]
mod os {
    use std::ffi::CString;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    pub type Form = CString;

    pub fn form_of(path: &Path) -> io::Result<Form> {
        Ok(CString::new(path.as_os_str().as_bytes())?)
    }

    fn done(result: libc::c_int) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[inline]
    pub fn make_directory(path: &Form) -> io::Result<()> {
        // SAFETY: the path ends with NUL.
        done(unsafe { libc::mkdir(path.as_ptr(), 0o700) })
    }

    #[inline]
    pub fn remove_directory(path: &Form) -> io::Result<()> {
        // SAFETY: the path ends with NUL.
        done(unsafe { libc::rmdir(path.as_ptr()) })
    }

    #[inline]
    pub fn look_up(path: &Form) -> io::Result<()> {
        let mut facts = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the path ends with NUL, and `facts` is a valid place for the answer, which is not read.
        done(unsafe { libc::stat(path.as_ptr(), facts.as_mut_ptr()) })
    }
}

#[cfg(windows)]
mod os {
    use std::io;
    use std::os::windows::ffi::OsStrExt;
    use std::path::Path;

    use windows_sys::Win32::Storage::FileSystem::{
        CreateDirectoryW, GetFileAttributesW, INVALID_FILE_ATTRIBUTES, RemoveDirectoryW,
    };

    pub type Form = Vec<u16>;

    /// An absolute path with the prefix that allows more than 260 characters.
    pub fn form_of(path: &Path) -> io::Result<Form> {
        let path = std::path::absolute(path)?;
        let plain: Vec<u16> = path.as_os_str().encode_wide().collect();
        if plain.contains(&0) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let has_drive = plain.get(1) == Some(&u16::from(b':'));
        let prefix = if has_drive { r"\\?\" } else { "" };
        Ok(prefix.encode_utf16().chain(plain).chain([0]).collect())
    }

    fn done(succeeded: bool) -> io::Result<()> {
        if succeeded { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[inline]
    pub fn make_directory(path: &Form) -> io::Result<()> {
        // SAFETY: the path ends with NUL, and null means the usual security.
        done(unsafe { CreateDirectoryW(path.as_ptr(), std::ptr::null()) } != 0)
    }

    #[inline]
    pub fn remove_directory(path: &Form) -> io::Result<()> {
        // SAFETY: the path ends with NUL.
        done(unsafe { RemoveDirectoryW(path.as_ptr()) } != 0)
    }

    #[inline]
    pub fn look_up(path: &Form) -> io::Result<()> {
        // SAFETY: the path ends with NUL.
        done(unsafe { GetFileAttributesW(path.as_ptr()) } != INVALID_FILE_ATTRIBUTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_made_found_and_removed() {
        let name = format!("oscost-test-path-{}", std::process::id());
        let path = SystemPath::new(&std::env::temp_dir().join(name)).unwrap();
        assert!(!path.exists().unwrap());
        path.make_directory().unwrap();
        assert!(path.exists().unwrap());
        assert_eq!(path.make_directory().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        path.remove_directory().unwrap();
        assert!(!path.exists().unwrap());
        assert!(path.remove_directory().is_err());
        assert!(SystemPath::new(Path::new("a\0b")).is_err());
    }
}
