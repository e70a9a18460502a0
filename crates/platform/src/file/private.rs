//! Files and directories that only this user can read and write, and whose content is this user's own.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Options by which a file is created with mode 0600, and no link is followed.
pub use os::options;

/// Creates a file with mode 0600, for reading and writing.
///
/// # Errors
/// Errors of open(2), and if the name exists.
pub use os::create_new;

/// Whether it belongs to this user.
pub use os::is_this_users;

/// Writes the names in a directory to the disk, so that what was created, renamed or removed in it stays so after a loss of power,
/// where the system and its file system can: Windows has no such call, and a directory that may not be read cannot be opened for it.
///
/// # Errors
/// Errors of open(2) and fsync(2).
pub use os::sync_directory;

/// Creates a directory with mode 0700. A user's directory of temporary files is private on Windows.
///
/// # Errors
/// Errors of mkdir(2).
pub use os::create_directory;

/// Creates a directory with mode 0700, and those above it that are missing; they are still there after a loss of power.
///
/// # Errors
/// Errors of mkdir(2) and fsync(2); an error if the directory exists and is another user's.
pub fn create_directories(path: &Path) -> io::Result<()> {
    match os::create_directory(path) {
        Ok(()) => path.parent().map_or(Ok(()), sync_directory),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(above) = path.parent().filter(|above| *above != Path::new("")) else {
                return Err(error);
            };
            create_directories(above)?;
            create_directories(path)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {
            match os::is_own(&fs::metadata(path)?) {
                true => Ok(()),
                false => Err(io::Error::other("the directory belongs to another user")),
            }
        }
        Err(error) => Err(error),
    }
}

/// Reads a file of at most `at_most` bytes that only this user can have written.
///
/// # Errors
/// Errors of open(2) and read(2), and if others could have written it, or it is longer.
pub fn read(path: &Path, at_most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    if file.metadata()?.len() > at_most {
        return Err(io::Error::other("it is too long"));
    }
    let mut bytes = Vec::new();
    file.take(at_most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file for reading that only this user can have written.
///
/// # Errors
/// Errors of open(2), and if others could have written it.
pub fn open(path: &Path) -> io::Result<File> {
    let file = options().read(true).open(path)?;
    let data = file.metadata()?;
    match data.is_file() && os::is_own(&data) {
        true => Ok(file),
        false => Err(io::Error::other("it is no file of this user alone")),
    }
}

/// Opens a file for writing, empty; creates it with mode 0600 if it is missing.
///
/// # Errors
/// Errors of open(2).
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

#[cfg(unix)]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};

    use super::*;

    pub fn options() -> OpenOptions {
        let mut options = OpenOptions::new();
        // A FIFO in the file's place must not keep this process waiting.
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        options
    }

    pub fn create_new(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
    }

    pub fn sync_directory(path: &Path) -> io::Result<()> {
        use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};

        let path = if path == Path::new("") { Path::new(".") } else { path };
        match File::open(path).and_then(|directory| directory.sync_all()) {
            Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => {
                Ok(())
            }
            other => other,
        }
    }

    pub fn create_directory(path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(path)
    }

    pub fn is_this_users(data: &fs::Metadata) -> bool {
        data.uid() == crate::user::own_user()
    }

    /// Whether it belongs to this user, and no other can write to it.
    pub fn is_own(data: &fs::Metadata) -> bool {
        const OTHERS_WRITE: u32 = 0o022;
        is_this_users(data) && (data.is_dir() || data.mode() & OTHERS_WRITE == 0)
    }
}

#[cfg(not(unix))]
#[allow(missing_docs, reason = "documented where it is re-exported")]
mod os {
    use super::*;

    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    pub fn create_new(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    pub fn sync_directory(_path: &Path) -> io::Result<()> {
        Ok(())
    }

    pub fn create_directory(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    pub fn is_this_users(_data: &fs::Metadata) -> bool {
        true
    }

    pub fn is_own(_data: &fs::Metadata) -> bool {
        true
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn what_is_created_is_private_and_what_others_could_write_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("a/b");
        create_directories(&directory).unwrap();
        create_directories(&directory).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!([mode(&folder.path().join("a")), mode(&directory)], [0o700, 0o700]);
        let file = directory.join("file");
        io::Write::write_all(&mut create(&file).unwrap(), b"text").unwrap();
        assert_eq!(mode(&file), 0o600);
        assert_eq!(read(&file, 4).unwrap(), b"text");
        assert!(read(&file, 3).is_err(), "it is longer");
        let link = directory.join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(read(&link, 4).is_err() && create(&link).is_err(), "no link is followed");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o602)).unwrap();
        assert!(read(&file, 4).is_err(), "others can write it");
        assert!(create_directories(&file).is_err(), "it is a file");
    }
}
