use crate::{Case, only};

/// Passing a descriptor in a message.
pub const CASE: Case = Case {
    operation: "One sendmsg of 1 byte with a descriptor (SCM_RIGHTS) on a Unix-domain stream socket, one recvmsg of both \
                from the other socket of the pair, and one close of the new descriptor, by the same task.",
    comparable_to: "lmbench and will-it-scale have no such measurement; stress-ng's `sockfd` stressor has two processes.",
    core_bound: true,
    run,
    ..Case::new("ipc", "pass-descriptor").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::io;
    use std::mem::zeroed;
    use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
    use std::os::unix::net::UnixStream;

    use measure::CaseError;

    /// Words for the header and one descriptor: words have the alignment of a header.
    const WORDS: usize = 4;

    let (sender, receiver) =
        UnixStream::pair().map_err(|e| CaseError::from_io("socketpair", &e))?;
    let (passed, _writer) = io::pipe().map_err(|e| CaseError::from_io("pipe", &e))?;
    let send = || -> bool {
        let (mut control, mut byte) = ([0u64; WORDS], [1u8]);
        let mut data = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        // SAFETY: the message describes `data` and `control`, which outlive the call; its first header has room
        // for a descriptor, since CMSG_SPACE of one is 24 bytes.
        unsafe {
            let mut message: libc::msghdr = zeroed();
            (message.msg_iov, message.msg_iovlen) = (&mut data, 1);
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size_of::<RawFd>() as u32) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(passed.as_raw_fd());
            libc::sendmsg(sender.as_raw_fd(), &message, 0) == 1
        }
    };
    let receive = || -> Option<OwnedFd> {
        let (mut control, mut byte) = ([0u64; WORDS], [0u8]);
        let mut data = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
        // SAFETY: the message describes `data` and `control`, which outlive the call; the header is read only if
        // the kernel has filled it in, and the descriptor is new, so it has no other owner.
        unsafe {
            let mut message: libc::msghdr = zeroed();
            (message.msg_iov, message.msg_iovlen) = (&mut data, 1);
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control) as _;
            let flags = libc::MSG_CMSG_CLOEXEC;
            if libc::recvmsg(receiver.as_raw_fd(), &mut message, flags) != 1 {
                return None;
            }
            let header = libc::CMSG_FIRSTHDR(&message);
            if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
                return None;
            }
            let fd = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
            Some(OwnedFd::from_raw_fd(fd))
        }
    };
    // Checks that the received descriptor is the pipe that was passed.
    let received = if send() { receive() } else { None };
    let received = received.ok_or_else(|| CaseError::last_os_error("sendmsg"))?;
    if inode_of(&received)? != inode_of(&passed)? {
        return Err(CaseError::Failed("another descriptor arrived than was passed".into()));
    }
    drop(received);
    round.expect_syscalls(3.0);
    let close = |fd: OwnedFd| {
        // SAFETY: `fd` owned the descriptor. close is called directly because an unoptimised program would make a second call
        // to drop it.
        unsafe { libc::close(fd.into_raw_fd()) == 0 }
    };
    round.time_call("passing a descriptor", || send() && receive().is_some_and(close))
}

/// Device and inode, which identify the file of a descriptor.
#[cfg(unix)]
#[allow(dead_code, reason = "not on every system")]
fn inode_of(fd: &impl std::os::fd::AsFd) -> Result<(u64, u64), measure::CaseError> {
    use std::os::unix::fs::MetadataExt;

    let copy = fd.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let metadata = copy.and_then(|file| file.metadata());
    let metadata = metadata.map_err(|e| measure::CaseError::from_io("fstat", &e))?;
    Ok((metadata.dev(), metadata.ino()))
}
