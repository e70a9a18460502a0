use crate::{Case, Only, only};

/// Receiving a signal through a descriptor, as an event loop does.
pub const CASE: Case = Case {
    operation: "One SIGUSR1 that a thread blocks and sends to itself by tgkill, and one read of it from a \
                signalfd.",
    comparable_to: "stress-ng's `sigfd` reads what another process sends. The difference to signal/raise is the \
                    read in place of the handler.",
    only: Only::Linux("signalfd exists only on Linux"),
    core_bound: true,
    run,
    ..Case::new("signal", "signalfd")
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::cell::Cell;
    use std::os::fd::AsRawFd;

    use platform::process::signal::{Blocked, OwnThread, set_of};

    const SIGNAL: libc::c_int = libc::SIGUSR1;
    let _blocked = Blocked::new(&[SIGNAL]);
    // SAFETY: the set is valid; the descriptor is new.
    let signals = unsafe {
        platform::owned::descriptor(
            libc::signalfd(-1, &set_of(&[SIGNAL]), libc::SFD_CLOEXEC),
            "signalfd",
        )
    }?;
    let (thread, received) = (OwnThread::new(), Cell::new(0));
    round.expect_syscalls(2.0);
    let handled_so_far = || received.get();
    super::time_handled(round, "signalfd", 1, handled_so_far, || {
        if !thread.send(SIGNAL) {
            return false;
        }
        // SAFETY: an all-zero signalfd_siginfo is valid, and the call gets its size.
        let (bytes, info) = unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of_val(&info);
            (libc::read(signals.as_raw_fd(), (&raw mut info).cast(), size), info)
        };
        let is_signal = bytes == size_of_val(&info) as isize && info.ssi_signo == SIGNAL as u32;
        received.set(received.get() + u64::from(is_signal));
        is_signal
    })
}
