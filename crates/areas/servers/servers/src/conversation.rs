//! A whole exchange by blocking calls, for architectures with a thread or process for each client.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::exchange::{Exchange, Wants};
use crate::server::Terms;

/// Size of the receive buffer, in bytes.
const READ_AT_ONCE: usize = 4 * 1024;

/// Serves a client until the exchange is over, or the client has closed or timed out.
pub fn converse(mut stream: TcpStream, terms: &Terms) {
    let work = || terms.work();
    let mut exchange = Exchange::new(terms.protocol, &work);
    if terms.protocol.client_sends_first() && set_timeouts(&stream, terms.timeout).is_err() {
        return; // the client has closed the connection already
    }
    let mut room;
    let buffer: &mut [u8] = if terms.protocol.client_sends_first() {
        room = [0; READ_AT_ONCE];
        &mut room
    } else {
        &mut [] // nothing is read, so the buffer needs no memory
    };
    let mut part_seen: Option<Instant> = None;
    let mut stop_seen: Option<Instant> = None;
    let is_over = |since: Instant| since.elapsed() > terms.timeout;
    loop {
        match exchange.wants() {
            Wants::Write => match stream.write(exchange.to_send()) {
                Ok(bytes) => {
                    exchange.was_sent(bytes);
                    // A client may not receive a reply a byte at a time for ever.
                    if !exchange.to_send().is_empty() {
                        if is_over(*part_seen.get_or_insert_with(Instant::now)) {
                            return terms.note_timed_out();
                        }
                    } else if !exchange.is_in_request() {
                        part_seen = None;
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return terms.note_error(&e),
            },
            // A client may not continue for ever after the stop.
            Wants::Read if stop_seen.is_some_and(is_over) => return terms.note_timed_out(),
            Wants::Read => match stream.read(buffer) {
                Ok(0) => exchange.ended(),
                Ok(bytes) => {
                    if terms.stop.is_requested() {
                        exchange.finish_soon();
                        stop_seen.get_or_insert_with(Instant::now);
                    }
                    exchange.received(&buffer[..bytes], &work);
                    // A client may not send a request a byte at a time for ever.
                    if !exchange.is_in_request() {
                        part_seen = None;
                    } else if is_over(*part_seen.get_or_insert_with(Instant::now)) {
                        return terms.note_timed_out();
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return terms.note_error(&e),
            },
            Wants::Shut => {
                let _ = stream.shutdown(Shutdown::Write); // the next call reports an error, if any
                exchange.was_shut();
            }
            Wants::Close => return,
        }
    }
}

fn set_timeouts(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))
}

#[cfg(all(test, unix))]
mod tests {
    use std::net::TcpListener;

    use socket2::SockRef;

    use super::*;
    use crate::{Protocol, Task};

    /// A client that goes on sending requests, and receives more slowly than it is permitted for a reply.
    #[test]
    fn a_client_that_receives_slowly_times_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        SockRef::from(&listener).set_send_buffer_size(1).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        SockRef::from(&client).set_recv_buffer_size(1).unwrap();
        client.set_nonblocking(true).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let terms = Terms::new(Protocol::HTTP, Duration::from_secs(1), Task::None).unwrap();
        let of_server = terms.clone();
        let served = std::thread::spawn(move || converse(stream, &of_server));
        let requests = b"GET / HTTP/1.1\nHost:\n\n".repeat(1_000);
        testing::until(|| {
            let _ = (&client).write(&requests);
            let _ = client.read(&mut [0; 512]);
            std::thread::sleep(Duration::from_millis(100));
            served.is_finished()
        });
        let timed_out = &terms.counters.timed_out;
        assert_eq!(timed_out.load(std::sync::atomic::Ordering::Relaxed), 1);
    }
}
