//! A whole exchange by calls that wait: for architectures where each client has a thread or process.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::exchange::{Exchange, Wants};
use crate::server::Terms;

/// How much is read at once.
const READ_AT_ONCE: usize = 4 * 1024;

/// Talks with a client until the exchange is over, the client has gone, or kept us waiting too long.
pub fn converse(mut stream: TcpStream, terms: &Terms) {
    let mut exchange = Exchange::new(terms.protocol);
    if terms.protocol.client_sends_first() && wait_at_most(&stream, terms.timeout).is_err() {
        return; // it has gone already
    }
    let mut room;
    let buffer: &mut [u8] = if terms.protocol.client_sends_first() {
        room = [0; READ_AT_ONCE];
        &mut room
    } else {
        &mut [] // nothing is read: no page is touched for it
    };
    let mut request_began: Option<Instant> = None;
    let mut stop_seen: Option<Instant> = None;
    let is_over = |since: Instant| since.elapsed() > terms.timeout;
    loop {
        match exchange.wants() {
            Wants::Write => match stream.write(exchange.to_send()) {
                Ok(bytes) => exchange.was_sent(bytes),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return terms.note_error(&e),
            },
            // When the server stops, a client may not talk on for ever.
            Wants::Read if stop_seen.is_some_and(is_over) => return terms.note_timed_out(),
            Wants::Read => match stream.read(buffer) {
                Ok(0) => exchange.ended(),
                Ok(bytes) => {
                    if terms.stop.is_requested() {
                        exchange.finish_soon();
                        stop_seen.get_or_insert_with(Instant::now);
                    }
                    exchange.received(&buffer[..bytes]);
                    // Nor may it send a byte at a time for ever.
                    if !exchange.is_in_request() {
                        request_began = None;
                    } else if is_over(*request_began.get_or_insert_with(Instant::now)) {
                        return terms.note_timed_out();
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return terms.note_error(&e),
            },
            Wants::Close => return,
        }
    }
}

fn wait_at_most(stream: &TcpStream, timeout: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))
}
