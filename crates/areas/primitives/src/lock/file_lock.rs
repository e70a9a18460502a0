use measure::{CaseError, Params, Round};

use super::{PROCESSES_TOO, lock, of_processes};
use crate::{Case, Only, count_of, only};

const UNIX: Only = Only::Unix("Windows has neither of these locks");

/// POSIX record locks, which belong to a process.
pub const FCNTL: Case = Case {
    operation: "One lock and unlock of the first byte of a file in the temporary directory by \
                fcntl with F_SETLKW.",
    comparable_to: "will-it-scale's `lock2` does the same and counts each pair as two operations. \
                stress-ng's `--lockf` and libMicro's `cascade_fcntl` lock several ranges or pass a \
                lock between processes.",
    only: UNIX,
    params: PROCESSES_TOO,
    run: |params, round| {
        if !of_processes(params)? && count_of(params, "workers")? > 1 {
            return Err(CaseError::Unsupported(String::from(
                "fcntl record locks belong to the process, so that threads of one process do not exclude \
                 each other",
            )));
        }
        run(params, round, LockedRange::Record)
    },
    ..lock("fcntl")
};

/// BSD file locks, which belong to an open file description.
pub const FLOCK: Case = Case {
    name: "flock",
    operation: "One lock and unlock of a file in the temporary directory by flock, where each \
                worker has opened the file itself.",
    comparable_to: "The difference to lock/fcntl is the cost of managing byte ranges. stress-ng's \
                `--flock` also tries shared and non-blocking locks; libMicro's `cascade_flock` \
                passes a lock between processes.",
    run: |params, round| run(params, round, LockedRange::Whole),
    ..FCNTL
};

enum LockedRange {
    Record,
    Whole,
}

#[only(unix)]
fn run(params: &Params, round: &mut Round, kind: LockedRange) -> Result<(), CaseError> {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;

    use super::{Lock, measure};
    use platform::cleanup::Recorded;

    /// A lock on a file that each worker opens itself. The creator keeps no descriptor, since closing one would release the
    /// record locks of the process.
    struct FileLock<A, R> {
        file: Recorded,
        acquire: A,
        release: R,
    }

    impl<A: Fn(&File) + Sync, R: Fn(&File) + Sync> Lock for FileLock<A, R> {
        type Hold = File;

        fn join(&self) -> Result<File, CaseError> {
            let path = self.file.path();
            let failed = |e| CaseError::from_io(&format!("opening {}", path.display()), &e);
            File::options().read(true).write(true).open(path).map_err(failed)
        }

        #[inline(always)]
        fn acquire(&self, file: &mut File) {
            (self.acquire)(file);
        }

        #[inline(always)]
        fn release(&self, file: &mut File) {
            (self.release)(file);
        }
    }

    #[inline(always)]
    fn set_first_byte(file: &File, to: libc::c_short) {
        // SAFETY: an all-zero structure is valid.
        let mut record: libc::flock = unsafe { std::mem::zeroed() };
        record.l_type = to;
        record.l_whence = libc::SEEK_SET as _;
        record.l_len = 1;
        // SAFETY: the descriptor is open, and `record` is what F_SETLKW reads.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &record) };
        assert!(done == 0, "fcntl: {}", io::Error::last_os_error());
    }

    #[inline(always)]
    fn flock(file: &File, operation: libc::c_int) {
        // SAFETY: the descriptor is open; no memory is passed.
        let done = unsafe { libc::flock(file.as_raw_fd(), operation) };
        assert!(done == 0, "flock: {}", io::Error::last_os_error());
    }

    round.expect_syscalls(2.0);
    let file = Recorded::file()?;
    file.create()?;
    match kind {
        LockedRange::Record => {
            let acquire = |file: &File| set_first_byte(file, libc::F_WRLCK as _);
            let release = |file: &File| set_first_byte(file, libc::F_UNLCK as _);
            measure(params, round, &FileLock { file, acquire, release })
        }
        LockedRange::Whole => {
            let acquire = |file: &File| flock(file, libc::LOCK_EX);
            let release = |file: &File| flock(file, libc::LOCK_UN);
            measure(params, round, &FileLock { file, acquire, release })
        }
    }
}
