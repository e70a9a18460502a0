use super::{EITHER, METRICS};
use crate::{Case, only};

/// A token passed as bytes in a Unix-domain stream.
pub const CASE: Case = Case {
    operation: "One hand-over of a token of 4 bytes to another task, which waits for it: one write and one read on a pair \
                of Unix-domain stream sockets per task and hand-over. Half of the way there and back.",
    comparable_to: "lmbench's `lat_unix` reports the way there and back; `perf bench sched messaging` sends among many \
            tasks at once.",
    params: EITHER,
    metrics: METRICS,
    run,
    ..Case::new("switch", "socketpair").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use measure::CaseError;
    use std::io;
    use std::os::unix::net::UnixStream;

    use super::{TokenEnd, measure_pair, read_token, write_token};

    struct SocketEnd(UnixStream);

    impl TokenEnd for SocketEnd {
        #[inline(always)]
        fn pass(&mut self, token: u32) -> io::Result<()> {
            write_token(&mut self.0, token)
        }

        #[inline(always)]
        fn take(&mut self) -> io::Result<u32> {
            read_token(&mut self.0)
        }
    }

    let (first, second) = UnixStream::pair().map_err(|e| CaseError::from_io("socketpair", &e))?;
    measure_pair(params, round, vec![SocketEnd(first), SocketEnd(second)], Some(1.0))
}
