use super::{EITHER, METRICS};
use crate::{Case, Only, only};

/// A token passed as the value of an eventfd.
pub const CASE: Case = Case {
    operation: "One hand-over of a token to another task, which waits for it: one write of a value to an eventfd and one \
                read of a second one per task and hand-over. Half of the way there and back.",
    comparable_to: "The calls of syscall/eventfd, which waits for nothing.",
    only: Only::Linux("measured on Linux only; Windows has switch/event"),
    params: EITHER,
    metrics: METRICS,
    run,
    ..Case::new("switch", "eventfd")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};

    use measure::CaseError;
    use platform::owned;

    use super::{TokenEnd, measure_pair};

    /// Offset that is added to the token: an eventfd of value 0 is not readable.
    const SOME: u64 = 1 << 32;

    struct EventfdEnd {
        own: OwnedFd,
        next: OwnedFd,
    }

    impl TokenEnd for EventfdEnd {
        #[inline(always)]
        fn pass(&mut self, token: u32) -> io::Result<()> {
            let value = SOME + u64::from(token);
            // SAFETY: the descriptor is open, and `value` has the 8 bytes that are written.
            let written =
                unsafe { libc::write(self.next.as_raw_fd(), (&raw const value).cast(), 8) };
            if written == 8 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }

        #[inline(always)]
        fn take(&mut self) -> io::Result<u32> {
            let mut value = 0u64;
            // SAFETY: the descriptor is open, and `value` has the 8 bytes that are read.
            let read = unsafe { libc::read(self.own.as_raw_fd(), (&raw mut value).cast(), 8) };
            if read == 8 { Ok(value as u32) } else { Err(io::Error::last_os_error()) }
        }
    }

    let (there, back) = (owned::eventfd(0, 0)?, owned::eventfd(0, 0)?);
    let copy = |fd: &OwnedFd| fd.try_clone().map_err(|e| CaseError::from_io("dup", &e));
    let (there_again, back_again) = (copy(&there)?, copy(&back)?);
    let first = EventfdEnd { own: back, next: there };
    let second = EventfdEnd { own: there_again, next: back_again };
    measure_pair(params, round, vec![first, second], Some(1.0))
}
