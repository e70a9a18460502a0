use measure::CaseError;

use super::directory::Fresh;
use super::figures::{expect_calls, measure};
use super::metrics;
use super::phases::{FileOps, FileShard, Plain};
use super::{DIR, FEWER_FILES, SIZE};
use catalog::{Case, Param, value_of};

/// Ways to create a file.
pub const CASE: Case = Case {
    operation: "One file taken through all phases of file/small, created by open with O_CREAT, by \
                open with O_TMPFILE and linkat after writing, or by io_uring, which runs all \
                phases except listing in batches of 32 files with one system call per batch.",
    comparable_to: "With O_TMPFILE and linkat no other process sees an incomplete file. With \
                io_uring each file's latency is that of its batch. fio's `filecreate` measures the \
                open alone.",
    trials: Some(super::COUNTED),
    params: &[
        Param::new("how", &["open", "tmpfile+link", "io_uring"]).meaning("how files are created"),
        SIZE,
        FEWER_FILES,
        DIR,
    ],
    metrics: metrics::ALL,
    run: |params, round| {
        let fresh = Fresh::of(params, round)?;
        let shard = FileShard::flat(&fresh, 0..fresh.files);
        let way: Box<dyn FileOps> = match value_of(params, "how")? {
            "tmpfile+link" => {
                expect_calls(round, &fresh, 1.0);
                linked(&fresh)?
            }
            "io_uring" => batched(&shard)?,
            _ => {
                expect_calls(round, &fresh, 0.0);
                Box::new(Plain)
            }
        };
        measure(round, &fresh, vec![(shard, way)]).map(drop)
    },
    ..Case::new("file", "create")
};

/// Operations on files that get their name after they are written.
#[platform::only(linux)]
fn linked(fresh: &Fresh) -> Result<Box<dyn FileOps>, CaseError> {
    use std::fs::OpenOptions;
    use std::io::{self, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::path::PathBuf;

    use super::phases::Times;
    use platform::file::path::c_path;

    struct Linked {
        directory: PathBuf,
    }

    impl FileOps for Linked {
        fn create(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
            for (number, name, _) in &shard.files {
                let contents = shard.contents(*number);
                let name = c_path(name)?;
                times.of_one("creating a file with O_TMPFILE", || {
                    let mut unnamed = OpenOptions::new();
                    unnamed.write(true).mode(0o666).custom_flags(libc::O_TMPFILE);
                    let mut file = unnamed.open(&self.directory)?;
                    file.write_all(contents)?;
                    // The path through /proc is that of open(2): AT_EMPTY_PATH requires privileges.
                    let itself = format!("/proc/self/fd/{}\0", file.as_raw_fd());
                    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
                    // SAFETY: both paths end with NUL.
                    let linked = unsafe {
                        libc::linkat(here, itself.as_ptr().cast(), here, name.as_ptr(), follow)
                    };
                    if linked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
                })?;
            }
            Ok(())
        }
    }

    Ok(Box::new(Linked { directory: fresh.path().to_owned() }))
}

/// Operations by io_uring: one system call for a batch of files.
#[platform::only(linux)]
fn batched(shard: &FileShard) -> Result<Box<dyn FileOps>, CaseError> {
    use std::ffi::CString;
    use std::io;

    use io_uring::squeue::{Entry, Flags};
    use io_uring::types::{DestinationSlot, Fd, Fixed, statx};
    use io_uring::{IoUring, opcode};

    use super::phases::{Times, expect_size};
    use platform::file::path::c_path;

    const BATCH: usize = 32;
    /// Maximum number of calls per file: open, write or read, close.
    const CALLS_AT_MOST: usize = 3;
    const UNCHECKED: u64 = 1 << 32;

    struct Batched {
        ring: IoUring,
        names: Vec<[CString; 2]>,
    }

    impl Batched {
        /// Submits requests and waits for all of them. Stores the result of each request whose `user_data` is a number in the
        /// batch in `outcome`.
        fn carry_out(&mut self, requests: &[Entry], outcome: &mut [i32]) -> io::Result<()> {
            for request in requests {
                // SAFETY: the memory that requests refer to outlives this call, which waits for all of them.
                unsafe { self.ring.submission().push(request) }
                    .map_err(|_| io::Error::other("the submission queue is full"))?;
            }
            let (mut left, mut failed) = (requests.len(), None);
            while left > 0 {
                self.ring.submit_and_wait(left)?;
                for entry in self.ring.completion() {
                    left -= 1;
                    if entry.result() < 0 {
                        // The first error is the cause: requests linked to it are only cancelled.
                        failed = failed.or(Some(-entry.result()));
                    }
                    if let Some(place) = outcome.get_mut(entry.user_data() as usize) {
                        *place = entry.result();
                    }
                }
            }
            failed.map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
        }
    }

    /// The slot of a file's fixed descriptor, which only the ring can use.
    fn slot(nth: usize) -> DestinationSlot {
        DestinationSlot::try_from_slot_target(nth as u32).expect("a small number")
    }

    fn opened(name: &CString, nth: usize, flags: i32) -> Entry {
        opcode::OpenAt::new(Fd(libc::AT_FDCWD), name.as_ptr())
            .file_index(Some(slot(nth)))
            .flags(flags)
            .mode(0o666)
            .build()
            .flags(Flags::IO_LINK)
            .user_data(UNCHECKED)
    }

    fn closed(nth: usize) -> Entry {
        opcode::Close::new(Fixed(nth as u32)).build().user_data(UNCHECKED)
    }

    fn short(outcome: i32, size: usize) -> io::Result<()> {
        if outcome as usize == size {
            return Ok(());
        }
        Err(io::Error::other(format!("{outcome} of {size} bytes were written")))
    }

    impl FileOps for Batched {
        fn create(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
            let mut outcome = [0i32; BATCH];
            for (nth_batch, batch) in shard.files.chunks(BATCH).enumerate() {
                let first = nth_batch * BATCH;
                times.of(batch.len(), "creating files with io_uring", || {
                    let mut requests = Vec::with_capacity(BATCH * CALLS_AT_MOST);
                    for (nth, (number, ..)) in batch.iter().enumerate() {
                        let (name, contents) =
                            (&self.names[first + nth][0], shard.contents(*number));
                        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
                        requests.push(opened(name, nth, flags));
                        if !contents.is_empty() {
                            let (from, length) = (contents.as_ptr(), contents.len() as u32);
                            let write = opcode::Write::new(Fixed(nth as u32), from, length).build();
                            requests.push(write.flags(Flags::IO_HARDLINK).user_data(nth as u64));
                        }
                        requests.push(closed(nth));
                    }
                    self.carry_out(&requests, &mut outcome)?;
                    let written = shard.size();
                    outcome[..batch.len()].iter().try_for_each(|&outcome| match written {
                        0 => Ok(()),
                        _ => short(outcome, written),
                    })
                })?;
            }
            Ok(())
        }

        fn read(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
            let room = shard.size() + 1;
            let (mut buffer, mut outcome) = (vec![0u8; room * BATCH], [0i32; BATCH]);
            for (nth_batch, batch) in shard.files.chunks(BATCH).enumerate() {
                let first = nth_batch * BATCH;
                times.of(batch.len(), "reading files with io_uring", || {
                    let mut requests = Vec::with_capacity(BATCH * CALLS_AT_MOST);
                    for (nth, to) in buffer.chunks_mut(room).take(batch.len()).enumerate() {
                        requests.push(opened(&self.names[first + nth][0], nth, libc::O_RDONLY));
                        let read =
                            opcode::Read::new(Fixed(nth as u32), to.as_mut_ptr(), room as u32);
                        let read = read.build().flags(Flags::IO_HARDLINK);
                        requests.push(read.user_data(nth as u64));
                        requests.push(closed(nth));
                    }
                    self.carry_out(&requests, &mut outcome)
                })?;
                for ((number, ..), (read, outcome)) in
                    batch.iter().zip(buffer.chunks(room).zip(&outcome))
                {
                    shard.verify(*number, &read[..*outcome as usize], times)?;
                }
            }
            Ok(())
        }

        fn stat(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
            // SAFETY: zeros are a valid statx.
            let mut stats: Vec<libc::statx> = vec![unsafe { std::mem::zeroed() }; BATCH];
            for names in self.names.clone().chunks(BATCH) {
                times.of(names.len(), "statx with io_uring", || {
                    let asked = names.iter().zip(&mut stats).map(|([name, _], to)| {
                        let to = (&raw mut *to).cast::<statx>();
                        opcode::Statx::new(Fd(libc::AT_FDCWD), name.as_ptr(), to)
                            .mask(libc::STATX_BASIC_STATS)
                            .build()
                            .user_data(UNCHECKED)
                    });
                    self.carry_out(&asked.collect::<Vec<_>>(), &mut [])
                })?;
                for outcome in &stats[..names.len()] {
                    expect_size(shard, outcome.stx_size)?;
                }
            }
            Ok(())
        }

        fn rename(&mut self, _: &FileShard, times: &mut Times) -> Result<(), CaseError> {
            for names in self.names.clone().chunks(BATCH) {
                times.of(names.len(), "renaming files with io_uring", || {
                    let here = Fd(libc::AT_FDCWD);
                    let renamed = names.iter().map(|[name, new_name]| {
                        opcode::RenameAt::new(here, name.as_ptr(), here, new_name.as_ptr()).build()
                    });
                    let renamed = renamed.map(|request| request.user_data(UNCHECKED));
                    self.carry_out(&renamed.collect::<Vec<_>>(), &mut [])
                })?;
            }
            Ok(())
        }

        fn delete(&mut self, _: &FileShard, times: &mut Times) -> Result<(), CaseError> {
            for names in self.names.clone().chunks(BATCH) {
                times.of(names.len(), "deleting files with io_uring", || {
                    let deleted = names.iter().map(|[_, name]| {
                        opcode::UnlinkAt::new(Fd(libc::AT_FDCWD), name.as_ptr()).build()
                    });
                    let deleted = deleted.map(|request| request.user_data(UNCHECKED));
                    self.carry_out(&deleted.collect::<Vec<_>>(), &mut [])
                })?;
            }
            Ok(())
        }
    }

    let ring = IoUring::new((BATCH * CALLS_AT_MOST).next_power_of_two() as u32);
    let ring = ring.map_err(|e| platform::uring::error_of("io_uring_setup", &e))?;
    let registered = ring.submitter().register_files_sparse(BATCH as u32);
    registered.map_err(|e| platform::uring::error_of("io_uring_register", &e))?;
    let names = shard.files.iter().map(|(_, name, new)| Ok([c_path(name)?, c_path(new)?]));
    let names = names.collect::<Result<_, CaseError>>()?;
    Ok(Box::new(Batched { ring, names }))
}
