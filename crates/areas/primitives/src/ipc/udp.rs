use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use measure::CaseError;
use platform::socket::loopback;
use socket2::SockRef;

use super::{
    Calls, Mechanism, MessageEnd, ROUND_TRIP_ANYWHERE, measure_round_trip, measure_transfer, pipe,
    whole,
};
use crate::Case;

/// A datagram there and one back.
pub const ROUND_TRIP: Case = Case {
    name: "udp",
    operation: "One round trip: a message sent as a UDP datagram over the loopback interface (IPv4, connected sockets), \
                received by another task, which sends it back.",
    comparable_to: "lmbench's `lat_udp` is this with a message of 4 bytes.",
    params: ROUND_TRIP_ANYWHERE,
    run: |params, round| measure_round_trip(params, round, MECHANISM, pair()?),
    ..pipe::ROUND_TRIP
};

/// Blocks as datagrams.
pub const TRANSFER: Case = Case {
    name: "udp-bandwidth",
    operation: "One block sent as a UDP datagram over the loopback interface (IPv4, connected sockets), and received by \
                another task, which checks its number. The blocks of 64 KiB (at least 1, at most 128 blocks) are \
                acknowledged together, because a datagram that finds the receive buffer full is lost; one of them has \
                that share of the acknowledgement.",
    comparable_to: "lmbench has no such measurement: the acknowledgements make this a transfer that loses nothing.",
    params: super::TRANSFER_OF_UDP,
    run: |params, round| measure_transfer(params, round, MECHANISM, pair()?),
    ..pipe::TRANSFER
};

const MECHANISM: Mechanism =
    Mechanism { window: Some(WINDOW), ..Mechanism::new("UDP", Calls::Two) };

/// Maximum number of bytes under way, which fit the receive buffer with the kernel's overhead.
const WINDOW: usize = 64 << 10;
/// Time after which a datagram counts as lost and the round fails: a busy machine may not run the partner for seconds.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// Time without datagrams after which the partner ends.
const ENDED_AFTER: Duration = Duration::from_secs(30);

struct UdpEnd(UdpSocket);

impl MessageEnd for UdpEnd {
    #[inline(always)]
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        whole(self.0.send(bytes)?, bytes)
    }

    #[inline(always)]
    fn receive(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        loop {
            match self.0.recv(bytes) {
                // Linux ends a receive call that has a timeout when its process is stopped and continued.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                received => return whole(received?, bytes),
            }
        }
    }
}

fn pair() -> Result<[UdpEnd; 2], CaseError> {
    let pair = || -> io::Result<[UdpEnd; 2]> {
        let [first, second] = [
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
        ];
        first.connect(second.local_addr()?)?;
        second.connect(first.local_addr()?)?;
        first.set_read_timeout(Some(LOST_AFTER))?;
        second.set_read_timeout(Some(ENDED_AFTER))?;
        // An error is ignored: if the system permits no larger buffer, the default is used.
        let _ = SockRef::from(&second).set_recv_buffer_size(8 * WINDOW);
        Ok([UdpEnd(first), UdpEnd(second)])
    };
    pair().map_err(|e| loopback::error_of("UDP sockets of loopback", &e))
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::mpsc;

    use platform::process::interrupts::{Interruptible, interrupt};

    use super::*;

    #[test]
    fn an_interrupted_receiver_goes_on() {
        let [mut sender, mut receiver] = pair().unwrap();
        let (wait_tx, wait_rx) = mpsc::channel();
        let receiving = std::thread::spawn(move || {
            wait_tx.send(Interruptible::event_loop().unwrap()).unwrap();
            let mut bytes = [0; 3];
            receiver.receive(&mut bytes).map(|()| bytes)
        });
        let wait = wait_rx.recv().unwrap();
        for _ in 0..20 {
            interrupt(wait);
            std::thread::sleep(Duration::from_millis(1));
        }
        sender.send(b"abc").unwrap();
        assert_eq!(receiving.join().unwrap().unwrap(), *b"abc");
    }
}
