//! A TCP connection with or without TLS. Its calls block if its socket does.
//!
//! The channel buffers no plaintext before TLS. The caller must discard bytes that it has received before TLS starts (RFC
//! 3207, section 4.2: a buffer kept across STARTTLS lets an attacker inject text); later plaintext is read as TLS, which
//! fails. A client must not call [`Channel::start_tls`] if bytes followed the reply to STARTTLS; a server, if bytes
//! followed the command.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use platform::socket::readiness::Interest;
use platform::socket::transfer::{receive, send};
use rustls::Connection;

/// A connection. Without TLS each call is one system call.
#[derive(Debug)]
pub struct Channel {
    socket: TcpStream,
    tls: Option<Box<Tls>>,
}

#[derive(Debug)]
struct Tls {
    connection: Connection,
    /// Number of decrypted bytes that were not read yet.
    received: usize,
    /// Whether the peer has closed the connection.
    ended: bool,
}

impl Channel {
    /// A connection without TLS, over a blocking or non-blocking socket.
    pub fn new(socket: TcpStream) -> Self {
        Self { socket, tls: None }
    }

    /// Starts TLS; the following calls carry out the handshake. The caller must discard bytes that it has received and not
    /// handled.
    pub fn start_tls(&mut self, connection: impl Into<Connection>) {
        let connection = connection.into();
        self.tls = Some(Box::new(Tls { connection, received: 0, ended: false }));
    }

    /// Receives at most `room.len()` bytes; returns their number, 0 at the end of the connection. The end is accepted
    /// without TLS `close_notify`, since SMTP marks the end of replies and messages itself.
    ///
    /// # Errors
    /// `WouldBlock` if nothing has arrived and the socket is non-blocking, or if only TLS itself has received for long: wait for
    /// [`Channel::interest`]. `InvalidData`,
    /// with the reason, if the peer violates TLS or is not trusted. Else errors of recv(2).
    pub fn receive(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => receive(&self.socket, room),
            Some(tls) => tls.receive(&self.socket, room),
        }
    }

    /// Sends bytes; returns the number accepted, which must not be sent again. With TLS some of them may be buffered: see
    /// [`Channel::wants_write`] and [`Channel::flush`].
    ///
    /// # Errors
    /// See [`Channel::receive`]; `WouldBlock` until a handshake is complete. No byte was accepted then.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => send(&self.socket, bytes),
            Some(tls) => tls.send(&self.socket, bytes),
        }
    }

    /// Sends buffered bytes.
    ///
    /// # Errors
    /// `WouldBlock` if some remain; else errors of send(2).
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.flush(&self.socket),
        }
    }

    /// Continues the handshake until it is complete or must wait for the peer.
    ///
    /// # Errors
    /// See [`Channel::receive`]; `UnexpectedEof` if the peer closes the connection.
    pub fn handshake(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.handshake(&self.socket),
        }
    }

    /// Whether a handshake is in progress.
    pub fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.connection.is_handshaking())
    }

    /// Whether bytes are buffered to be sent.
    pub fn wants_write(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.connection.wants_write())
    }

    /// Whether [`Channel::receive`] has bytes without a system call; these cause no readiness event.
    pub fn has_received(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.received > 0)
    }

    /// The readiness to wait for after `WouldBlock`. `to_send`: the caller has bytes to send; ignored during a handshake.
    pub fn interest(&self, to_send: bool) -> Interest {
        let writes = self.wants_write() || (to_send && !self.is_handshaking());
        if writes { Interest::Both } else { Interest::Read }
    }

    /// Whether TLS was started.
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The TLS connection, once started: its version, its cipher, the peer's certificates.
    pub fn tls(&self) -> Option<&Connection> {
        self.tls.as_deref().map(|tls| &tls.connection)
    }

    /// The socket.
    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    /// Shuts down sending, with TLS `close_notify` if it can be sent at once. Receiving remains possible.
    pub fn finish(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.connection.send_close_notify();
            let _ = tls.flush(&self.socket);
        }
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    /// Closes the connection, with TLS `close_notify` if it can be sent at once.
    pub fn close(mut self) {
        if let Some(tls) = &mut self.tls {
            tls.connection.send_close_notify();
            let _ = tls.flush(&self.socket);
        }
    }
}

/// Maximum number of reads without any data for the caller. A peer may send a record a byte at a time, or messages of TLS without
/// end: the caller must get to see its deadline, and an event loop its other connections.
const READS_AT_MOST: usize = 32;

impl Tls {
    fn receive(&mut self, socket: &TcpStream, room: &mut [u8]) -> io::Result<usize> {
        for _ in 0..READS_AT_MOST {
            match self.connection.reader().read(room) {
                Ok(bytes) => {
                    self.received = self.received.saturating_sub(bytes);
                    return Ok(bytes);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                    let early = self.connection.is_handshaking();
                    return if early { Err(ended_early()) } else { Ok(0) };
                }
                Err(e) => return Err(e),
            }
            self.read_records(socket)?;
        }
        Err(ErrorKind::WouldBlock.into())
    }

    fn send(&mut self, socket: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
        self.handshake(socket)?;
        loop {
            let taken = self.connection.writer().write(bytes)?;
            match self.flush(socket) {
                // Accepted bytes may remain buffered.
                Err(e) if taken > 0 && e.kind() == ErrorKind::WouldBlock => return Ok(taken),
                Err(e) => return Err(e),
                Ok(()) if taken > 0 || bytes.is_empty() => return Ok(taken),
                Ok(()) => {} // the buffer has room now
            }
        }
    }

    fn handshake(&mut self, socket: &TcpStream) -> io::Result<()> {
        let mut reads = 0;
        while self.connection.is_handshaking() {
            if self.ended {
                return Err(ended_early());
            }
            if reads == READS_AT_MOST {
                return Err(ErrorKind::WouldBlock.into());
            }
            reads += 1;
            self.read_records(socket)?;
        }
        Ok(())
    }

    /// Sends buffered TLS records, and reads records from the peer.
    fn read_records(&mut self, socket: &TcpStream) -> io::Result<()> {
        match self.flush(socket) {
            // The peer may send before it reads, so this side must not wait for it.
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            other => other?,
        }
        if self.connection.is_handshaking() && !self.connection.wants_read() {
            return Ok(());
        }
        self.ended = self.connection.read_tls(&mut Raw(socket))? == 0;
        match self.connection.process_new_packets() {
            Ok(state) => self.received = state.plaintext_bytes_to_read(),
            Err(e) => {
                let _ = self.flush(socket); // The alert tells the peer the reason.
                return Err(io::Error::new(ErrorKind::InvalidData, format!("TLS: {}", reason(&e))));
            }
        }
        match self.flush(socket) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(()),
            other => other,
        }
    }

    fn flush(&mut self, socket: &TcpStream) -> io::Result<()> {
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut Raw(socket)) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// The TLS error in words; an unknown certificate is the most common one.
fn reason(error: &rustls::Error) -> String {
    use rustls::CertificateError::{BadSignature, UnknownIssuer};
    match error {
        // A bad signature means that another certificate of the same name is trusted.
        rustls::Error::InvalidCertificate(UnknownIssuer | BadSignature) => {
            "the server's certificate is not trusted: neither it nor its issuer is known".to_owned()
        }
        other => other.to_string(),
    }
}

fn ended_early() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "TLS: the peer ended the connection in the handshake")
}

/// The socket as `Read` and `Write`, for rustls.
struct Raw<'a>(&'a TcpStream);

impl Read for Raw<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        receive(self.0, room)
    }
}

impl Write for Raw<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send(self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::Arc;
    use std::time::Duration;

    use platform::socket::readiness::Readiness;
    use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
    use rustls::pki_types::PrivatePkcs8KeyDer;
    use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection};

    use super::*;

    /// Time limit for each operation.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn pair() -> (Channel, Channel) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        for socket in [&client, &server] {
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            socket.set_write_timeout(Some(PATIENCE)).unwrap();
        }
        (Channel::new(client), Channel::new(server))
    }

    /// A record that arrives a byte at a time keeps neither a caller with a deadline nor an event loop.
    #[test]
    fn a_peer_that_drips_does_not_keep_the_caller() {
        let (mut client, server) = pair();
        client.start_tls(client_trusting(None, "localhost"));
        server.socket().set_nodelay(true).unwrap();
        let dripping = std::thread::spawn(move || {
            let _ = send(server.socket(), b"\x16\x03\x03\x40\x00");
            while send(server.socket(), &[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        assert_eq!(client.handshake().unwrap_err().kind(), ErrorKind::WouldBlock);
        let received = client.receive(&mut [0; 9]);
        assert_eq!(received.unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(client);
        dripping.join().unwrap();
    }

    fn client_trusting(identity: Option<&Identity>, name: &'static str) -> ClientConnection {
        let mut roots = RootCertStore::empty();
        if let Some(identity) = identity {
            roots.add(identity.0.cert.der().clone()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let configuration = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        ClientConnection::new(Arc::new(configuration), name.try_into().unwrap()).unwrap()
    }

    /// A self-signed certificate and its key.
    struct Identity(CertifiedKey<KeyPair>);

    impl Identity {
        fn configuration(&self) -> Arc<ServerConfig> {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let key = PrivatePkcs8KeyDer::from(self.0.signing_key.serialize_der());
            let configuration = ServerConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![self.0.cert.der().clone()], key.into());
            Arc::new(configuration.unwrap())
        }
    }

    fn identity() -> Identity {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        Identity(generate_simple_self_signed(names).unwrap())
    }

    fn secured() -> (Channel, Channel) {
        let (mut client, mut server) = pair();
        let identity = identity();
        client.start_tls(client_trusting(Some(&identity), "localhost"));
        server.start_tls(ServerConnection::new(identity.configuration()).unwrap());
        (client, server)
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 % 251) as u8).collect()
    }

    fn send_all(channel: &mut Channel, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = channel.send(bytes).unwrap();
            bytes = &bytes[taken..];
        }
        channel.flush().unwrap();
    }

    fn receive_all(channel: &mut Channel, room: usize) -> Vec<u8> {
        let (mut all, mut room) = (Vec::new(), vec![0; room]);
        loop {
            match channel.receive(&mut room).unwrap() {
                0 => return all,
                bytes => all.extend_from_slice(&room[..bytes]),
            }
        }
    }

    /// Receives `length` bytes on a blocking server, in another thread, and sends them back reversed.
    fn echo_reversed(mut server: Channel, length: usize) -> std::thread::JoinHandle<()> {
        std::thread::spawn(move || {
            let mut got = Vec::new();
            let mut room = [0; 7_000];
            while got.len() < length {
                let bytes = server.receive(&mut room).unwrap();
                assert!(bytes > 0, "it ended early");
                got.extend_from_slice(&room[..bytes]);
            }
            got.reverse();
            send_all(&mut server, &got);
            server.close();
        })
    }

    #[test]
    fn much_goes_both_ways_in_calls_that_wait() {
        let sent = pattern(600_000);
        let expected: Vec<u8> = sent.iter().rev().copied().collect();
        for (mut client, server) in [pair(), secured()] {
            let echo = echo_reversed(server, sent.len());
            send_all(&mut client, &sent);
            for room in [1, 3] {
                let mut some = vec![0; room];
                assert_eq!(client.receive(&mut some).unwrap(), room);
                let from = if room == 1 { 0 } else { 1 };
                assert_eq!(some, expected[from..from + room]);
            }
            assert!(receive_all(&mut client, 4_096) == expected[4..], "not what was sent");
            echo.join().unwrap();
        }
    }

    #[test]
    fn much_goes_both_ways_in_calls_that_do_not_wait() {
        let sent = pattern(600_000);
        let expected: Vec<u8> = sent.iter().rev().copied().collect();
        for (mut client, server) in [pair(), secured()] {
            let echo = echo_reversed(server, sent.len());
            client.socket().set_nonblocking(true).unwrap();
            let mut readiness = Readiness::new().unwrap();
            readiness.watch(client.socket(), 0, client.interest(true)).unwrap();
            let (mut to_send, mut got, mut room) = (&sent[..], Vec::new(), [0; 333]);
            let mut turns = 0;
            'over: loop {
                while !to_send.is_empty() {
                    match client.send(to_send) {
                        Ok(taken) => to_send = &to_send[taken..],
                        Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                        Err(e) => panic!("{e}"),
                    }
                }
                let _ = client.flush();
                loop {
                    match client.receive(&mut room) {
                        Ok(0) => break 'over,
                        Ok(bytes) => got.extend_from_slice(&room[..bytes]),
                        Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                        Err(e) => panic!("{e}"),
                    }
                }
                assert!(!client.has_received());
                turns += 1;
                assert!(turns < 100_000, "it turns for nothing");
                readiness.change(client.socket(), 0, client.interest(!to_send.is_empty())).unwrap();
                let mut ready = Vec::new();
                readiness.wait(Some(PATIENCE), &mut ready).unwrap();
                assert!(!ready.is_empty(), "nothing happens");
            }
            assert!(got == expected, "not what was sent");
            echo.join().unwrap();
        }
    }

    #[test]
    fn what_was_decrypted_but_not_taken_is_told_of() {
        let (mut client, mut server) = secured();
        let server = std::thread::spawn(move || {
            send_all(&mut server, b"hello");
            server
        });
        let mut one = [0];
        assert_eq!(client.receive(&mut one).unwrap(), 1);
        assert!(client.has_received() && !client.is_handshaking() && client.is_tls());
        assert_eq!(receive_exactly(&mut client, 4), b"ello");
        assert!(!client.has_received());
        drop(server.join().unwrap());
    }

    fn receive_exactly(channel: &mut Channel, bytes: usize) -> Vec<u8> {
        let mut room = vec![0; bytes];
        let mut got = 0;
        while got < bytes {
            got += channel.receive(&mut room[got..]).unwrap();
        }
        room
    }

    #[test]
    fn whom_one_does_not_trust_is_refused_with_the_reason() {
        for (trusts, name, reason) in [
            (false, "localhost", "certificate is not trusted"),
            (true, "elsewhere.example", "not valid for name"),
        ] {
            let (mut client, mut server) = pair();
            let identity = identity();
            client.start_tls(client_trusting(trusts.then_some(&identity), name));
            server.start_tls(ServerConnection::new(identity.configuration()).unwrap());
            let refused = std::thread::spawn(move || {
                server.handshake().or_else(|_| server.receive(&mut [0; 8]).map(drop))
            });
            let error = client.send(b"x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData);
            assert!(error.to_string().contains(reason), "{error}");
            drop(client);
            let result = refused.join().unwrap();
            assert!(result.is_err(), "the server gets the alert");
        }
    }

    #[test]
    fn plaintext_after_starttls_is_no_part_of_tls() {
        let (mut client, mut server) = pair();
        send_all(&mut client, b"MAIL FROM:<injected@example.com>\r\n");
        server.start_tls(ServerConnection::new(identity().configuration()).unwrap());
        let error = server.receive(&mut [0; 100]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn an_end_within_the_handshake_is_an_error_and_one_after_it_an_end() {
        let (client, mut server) = secured();
        drop(client);
        assert_eq!(server.handshake().unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(server.receive(&mut [0; 8]).unwrap_err().kind(), ErrorKind::UnexpectedEof);

        let (mut client, mut server) = secured();
        let other = std::thread::spawn(move || {
            assert_eq!(receive_exactly(&mut server, 2), b"ab");
            match server.receive(&mut [0; 8]) {
                // The connection is reset because the client has not read the server's tickets for resumption.
                Err(e) if e.kind() == ErrorKind::ConnectionReset => 0,
                received => received.unwrap(),
            }
        });
        send_all(&mut client, b"ab");
        drop(client); // without close_notify
        assert_eq!(other.join().unwrap(), 0);
    }
}
