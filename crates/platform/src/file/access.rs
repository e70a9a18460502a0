//! Who else may use a file, and whether it can be kept from them for a moment.

pub use os::{close_to_others, try_lock};

#[cfg(unix)]
mod os {
    use std::fs::{File, Permissions};
    use std::io;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use crate::file::private::is_this_users;

    /// Makes a file readable and writable by its owner only, if that is this process's user and its mode is one of `from`;
    /// returns whether it was changed.
    ///
    /// # Errors
    /// Errors of changing the mode.
    pub fn close_to_others(file: &File, from: &[u32]) -> io::Result<bool> {
        let metadata = file.metadata()?;
        let is_meant = is_this_users(&metadata) && from.contains(&(metadata.mode() & 0o7777));
        if is_meant {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(is_meant)
    }

    /// Locks a byte of the file that nobody else locks, by a record lock (F_SETLK of fcntl(2)), and unlocks it. This process must
    /// have no such locks on the file.
    ///
    /// # Errors
    /// ENOLCK and others where the file system, such as NFS without its lock service, has no such locks.
    pub fn try_lock(file: &File) -> io::Result<()> {
        /// The byte before those that SQLite locks.
        const BYTE: libc::off_t = (1 << 30) - 1;
        for kind in [libc::F_RDLCK, libc::F_UNLCK] {
            // SAFETY: an all-zero structure is valid.
            let mut lock: libc::flock = unsafe { std::mem::zeroed() };
            lock.l_type = kind as _;
            lock.l_whence = libc::SEEK_SET as _;
            (lock.l_start, lock.l_len) = (BYTE, 1);
            // SAFETY: the descriptor is open, and `lock` is what F_SETLK reads.
            if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

#[cfg(not(unix))]
mod os {
    use std::fs::File;
    use std::io;

    /// The rights of a file are those of its folder here: nothing is changed.
    ///
    /// # Errors
    /// None.
    pub fn close_to_others(_file: &File, _from: &[u32]) -> io::Result<bool> {
        Ok(false)
    }

    /// Locks work wherever files do here.
    ///
    /// # Errors
    /// None.
    pub fn try_lock(_file: &File) -> io::Result<()> {
        Ok(())
    }
}
