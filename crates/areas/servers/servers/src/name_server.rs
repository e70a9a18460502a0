//! A minimal name server on loopback for the work `dns`, and its client: one question and one answer over UDP (RFC 1035).

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use platform::CaseError;

/// The queried name, `www.oscost.test`, in the form of a question (a name for tests, RFC 6761).
const NAME: &[u8] = b"\x03www\x06oscost\x04test\x00";
/// Type A and class IN, of questions and records.
const ADDRESS_IN: [u8; 4] = [0, 1, 0, 1];
/// Length of the header of a message.
const HEADER: usize = 12;
/// Maximum length of a message over UDP (RFC 1035, section 2.3.4).
const MESSAGE_AT_MOST: usize = 512;
/// Time limit for a reply.
const PATIENCE: Duration = Duration::from_secs(1);
/// Maximum number of datagrams that are no reply to the question, so that a name server cannot keep its client.
const FOREIGN_AT_MOST: usize = 100;
/// Interval at which the server checks whether it must end.
const PAUSE: Duration = Duration::from_millis(50);

/// A name server in a thread of this process, which has one address for all names. Dropping it ends the server.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    answered: AtomicU64,
}

impl NameServer {
    /// Starts the server at a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If no socket or thread is available.
    pub fn start() -> Result<Self, CaseError> {
        let of = |e: &io::Error| CaseError::from_io("start a name server", e);
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| of(&e))?;
        socket.set_read_timeout(Some(PAUSE)).map_err(|e| of(&e))?;
        let address = socket.local_addr().map_err(|e| of(&e))?;
        let state = Arc::new(State::default());
        let served = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .spawn(move || serve(&socket, &served))
            .map_err(|e| of(&e))?;
        Ok(Self { address, state, thread: Some(thread) })
    }

    /// The address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of questions answered so far.
    pub fn answered(&self) -> u64 {
        self.state.answered.load(Ordering::Relaxed)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(socket: &UdpSocket, state: &State) {
    let mut message = [0; MESSAGE_AT_MOST];
    while !state.stop.load(Ordering::Relaxed) {
        let Ok((length, client)) = socket.recv_from(&mut message) else { continue };
        let Some(length) = answer(&mut message, length) else { continue };
        // The answer is counted before it is sent, so that a client with the answer finds it counted.
        state.answered.fetch_add(1, Ordering::Relaxed);
        let _ = socket.send_to(&message[..length], client);
    }
}

/// Turns the question in the first `length` bytes into its answer, and returns the answer's length; `None` if the bytes are
/// no question for an address.
fn answer(message: &mut [u8; MESSAGE_AT_MOST], length: usize) -> Option<usize> {
    let question = message.get(HEADER..length)?;
    let is_query = message[2] & 0xf8 == 0 && message[4..6] == [0, 1];
    // A question has labels up to the empty one, then type and class.
    let mut at = 0;
    while let Some(&label @ 1..=63) = question.get(at) {
        at += usize::from(label) + 1;
    }
    let is_name_complete = question.get(at) == Some(&0);
    let end = at + 1 + ADDRESS_IN.len();
    if !is_query || !is_name_complete || question.get(at + 1..end) != Some(&ADDRESS_IN) {
        return None;
    }
    // The flags mean a response, authoritative, with one answer and no further records.
    message[2] |= 0x84;
    message[3] = 0;
    message[6..HEADER].copy_from_slice(&[0, 1, 0, 0, 0, 0]);
    // The record has the question's name (a pointer to it), a TTL of a minute, and four bytes of address.
    let record =
        [&[0xc0, HEADER as u8], &ADDRESS_IN[..], &[0, 0, 0, 60, 0, 4, 192, 0, 2, 1]].concat();
    let from = HEADER + end;
    message.get_mut(from..from + record.len())?.copy_from_slice(&record);
    Some(from + record.len())
}

/// Asks the name server for an address of [`NAME`], as a stub resolver does: with a new socket.
///
/// # Errors
/// Errors of the socket; `TimedOut` if no answer comes within a second; `InvalidData` if the answer is malformed.
pub(crate) fn resolve(server: SocketAddr) -> io::Result<()> {
    static NEXT: AtomicU16 = AtomicU16::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let from: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(from)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    // The query has one question, with recursion desired.
    let query = [&id[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0], NAME, &ADDRESS_IN].concat();
    socket.send(&query)?;
    let mut reply = [0; MESSAGE_AT_MOST];
    for _ in 0..FOREIGN_AT_MOST {
        match socket.recv(&mut reply) {
            Ok(length) => match check(&reply[..length], id) {
                Some(true) => return Ok(()),
                Some(false) => return Err(ErrorKind::InvalidData.into()),
                None => {} // the answer belongs to another question
            },
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(e) => return Err(e),
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// Whether a reply has an answer without an error; `None` if it does not belong to the question `id`.
fn check(reply: &[u8], id: [u8; 2]) -> Option<bool> {
    let header = reply.get(..HEADER)?;
    let is_response = header[2] & 0x80 != 0;
    (is_response && header[..2] == id)
        .then(|| header[3] & 0x0f == 0 && u16::from_be_bytes([header[6], header[7]]) > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_question_is_answered_and_a_silent_server_is_an_error() {
        let server = NameServer::start().unwrap();
        for asked in 1..=1_000 {
            resolve(server.address()).unwrap();
            assert_eq!(server.answered(), asked, "an answer that has arrived is counted");
        }
        let silent = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let error = resolve(silent.local_addr().unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn a_server_that_answers_other_questions_is_an_error() {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = server.local_addr().unwrap();
        let (done_tx, done_rx) = std::sync::mpsc::channel();
        std::thread::spawn(move || done_tx.send(resolve(address).unwrap_err().kind()));
        let (_, client) = server.recv_from(&mut [0; MESSAGE_AT_MOST]).unwrap();
        let done = testing::until_some(|| {
            let _ = server.send_to(b"no answer", client);
            done_rx.try_recv().ok()
        });
        assert_eq!(done, ErrorKind::TimedOut);
    }

    #[test]
    fn only_an_answer_to_the_question_counts() {
        let mut reply = vec![0, 7, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
        assert_eq!(check(&reply, [0, 7]), Some(true));
        assert_eq!(check(&reply, [0, 8]), None);
        assert_eq!(check(&reply[..11], [0, 7]), None);
        reply[3] = 0x83; // the error is: no such name
        assert_eq!(check(&reply, [0, 7]), Some(false));
        reply[2] = 0x01; // the message is a question
        assert_eq!(check(&reply, [0, 7]), None);
    }

    proptest! {
        #[test]
        fn garbage_is_not_answered_beyond_the_message(bytes in prop::collection::vec(any::<u8>(), 0..MESSAGE_AT_MOST)) {
            let mut message = [0; MESSAGE_AT_MOST];
            message[..bytes.len()].copy_from_slice(&bytes);
            let length = answer(&mut message, bytes.len());
            prop_assert!(length.is_none_or(|length| length > bytes.len().min(HEADER) && length <= MESSAGE_AT_MOST));
            let _ = check(&bytes, [0, 0]);
        }
    }
}
