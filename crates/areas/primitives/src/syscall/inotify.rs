use crate::{Case, only};

/// Receiving a notification of a change of a file.
pub const CASE: Case = Case {
    operation: "One write of 1 byte to a temporary file that an inotify instance watches, and one read of the event.",
    comparable_to: "The price of the event is what this takes longer than a write and a read of 1 byte; the measured peers \
                    have no such case.",
    run,
    ..Case::new("syscall", "inotify").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::os::fd::AsRawFd;

    use measure::CaseError;

    use platform::file::path::c_path;

    use super::named_files::NamedFiles;

    let files = NamedFiles::new()?;
    let named = files.create(1, b"x")?;
    let opened = std::fs::File::options().write(true).open(&named);
    let file = opened.map_err(|e| CaseError::from_io("a temporary file", &e))?;
    // SAFETY: no memory is passed; the descriptor is new.
    let inotify = unsafe {
        platform::owned::descriptor(
            libc::inotify_init1(libc::IN_CLOEXEC | libc::IN_NONBLOCK),
            "inotify_init1",
        )
    }?;
    let path = c_path(&named)?;
    // SAFETY: the descriptor is open and the path ends with NUL.
    let watch =
        unsafe { libc::inotify_add_watch(inotify.as_raw_fd(), path.as_ptr(), libc::IN_MODIFY) };
    if watch < 0 {
        return Err(CaseError::last_os_error("inotify_add_watch"));
    }
    let (fd, events) = (file.as_raw_fd(), inotify.as_raw_fd());
    // An event has no name if the watch is on a file instead of a directory.
    const EVENT: usize = size_of::<libc::inotify_event>();
    let mut event = [0u8; EVENT];
    round.expect_syscalls(2.0);
    // SAFETY: both descriptors are open; the pointers and lengths describe a byte and `event`.
    round.time_call("inotify", || unsafe {
        libc::pwrite(fd, event.as_ptr().cast(), 1, 0) == 1
            && libc::read(events, event.as_mut_ptr().cast(), EVENT) == EVENT as isize
    })?;
    match event[..4] == watch.to_ne_bytes() && event[4..8] == libc::IN_MODIFY.to_ne_bytes() {
        true => Ok(()),
        false => Err(CaseError::Failed("inotify reported another event".into())),
    }
}
