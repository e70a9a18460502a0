use crate::{Case, Only, only};

/// The two calls by which a thread wakes an event loop, without blocking and waking.
pub const CASE: Case = Case {
    operation: "One write of 8 bytes to an eventfd and one read of these 8 bytes by the same \
                thread, which never blocks.",
    comparable_to: "will-it-scale's `eventfd1` also counts the pair.",
    only: Only::Linux("measured on Linux only; Windows has SetEvent; see syscall/set-event"),
    core_bound: true,
    run,
    ..Case::new("syscall", "eventfd")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use crate::scaled::{alone_or_scaled, is_scaled};
    use std::os::fd::AsRawFd;

    // A semaphore lets each of several workers take the 1 that it has added.
    let kind = if is_scaled(params) { libc::EFD_SEMAPHORE } else { 0 };
    let make = |_| platform::owned::eventfd(0, libc::EFD_NONBLOCK | kind);
    round.expect_syscalls(2.0);
    alone_or_scaled(params, round, "eventfd", make, |event| {
        let (fd, one, mut taken) = (event.as_raw_fd(), 1u64, 0u64);
        // SAFETY: the descriptor is open; both pointers are to 8 bytes.
        unsafe {
            libc::write(fd, (&raw const one).cast(), 8) == 8
                && libc::read(fd, (&raw mut taken).cast(), 8) == 8
                && taken == 1
        }
    })
}
