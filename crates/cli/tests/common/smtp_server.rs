//! An SMTP server that replies as a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the server does after a command.
#[derive(Debug, Clone)]
pub enum Act {
    /// Replies.
    Say(&'static str),
    /// Replies, and closes the connection.
    SayAndClose(&'static str),
    /// Closes the connection without a reply.
    Close,
}

/// A command as the server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Number of the connection, from 0.
    pub connection: usize,
    /// Number of connections that are open.
    pub open: usize,
    /// Number of messages accepted on this connection before.
    pub messages: usize,
    /// `connect`, `.` after a message, or the command in upper case.
    pub verb: String,
    /// The whole line.
    pub line: String,
}

type Script = dyn Fn(&Seen) -> Option<Act> + Send + Sync;

/// The server. Its threads end with the test's process.
pub struct Server {
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    /// Starts a server that does what `script` says, and otherwise accepts everything. It offers PIPELINING.
    pub fn start(script: impl Fn(&Seen) -> Option<Act> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let (seen, received) = (Arc::default(), Arc::default());
        let (all, bytes): (Arc<_>, Arc<_>) = (Arc::clone(&seen), Arc::clone(&received));
        let script: Arc<Script> = Arc::new(script);
        std::thread::spawn(move || {
            let open = Arc::new(AtomicUsize::new(0));
            for (connection, socket) in listener.incoming().flatten().enumerate() {
                let (all, bytes, script, open) =
                    (Arc::clone(&all), Arc::clone(&bytes), Arc::clone(&script), Arc::clone(&open));
                let number = open.fetch_add(1, Ordering::SeqCst) + 1;
                std::thread::spawn(move || {
                    let client = Client { connection, all, bytes, script };
                    let _ = client.serve(socket, number);
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, seen, received }
    }

    /// Starts a server that replies to each line by its beginning. An empty reply closes the connection.
    pub fn replying(replies: &'static [(&'static str, &'static str)]) -> Self {
        Self::start(move |seen| {
            let (_, reply) = replies.iter().find(|(words, _)| seen.line.starts_with(words))?;
            Some(if reply.is_empty() { Act::Close } else { Act::Say(reply) })
        })
    }

    /// All data received over all connections.
    pub fn received(&self) -> String {
        String::from_utf8_lossy(&self.received.lock().expect("no panic")).into_owned()
    }

    /// Everything that the clients have said so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic").clone()
    }

    /// The number of commands with this verb.
    pub fn count(&self, verb: &str) -> usize {
        self.seen().iter().filter(|seen| seen.verb == verb).count()
    }
}

struct Client {
    connection: usize,
    all: Arc<Mutex<Vec<Seen>>>,
    bytes: Arc<Mutex<Vec<u8>>>,
    script: Arc<Script>,
}

/// A connection of which all received data is recorded.
struct Recorded(TcpStream, Arc<Mutex<Vec<u8>>>);

impl Read for Recorded {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.0.read(room)?;
        self.1.lock().expect("no panic").extend_from_slice(&room[..bytes]);
        Ok(bytes)
    }
}

impl Client {
    fn serve(&self, socket: TcpStream, open: usize) -> std::io::Result<()> {
        let mut stream = BufReader::new(Recorded(socket, Arc::clone(&self.bytes)));
        let (mut messages, mut in_message) = (0, false);
        let (mut line, mut bytes) = ("connect".to_owned(), Vec::new());
        loop {
            let verb = match line.trim_end() {
                "connect" => "connect".to_owned(),
                "." if in_message => ".".to_owned(),
                line => line.split(' ').next().unwrap_or_default().to_ascii_uppercase(),
            };
            if !in_message || verb == "." {
                let seen = Seen {
                    connection: self.connection,
                    open,
                    messages,
                    verb: verb.clone(),
                    line: line.trim_end().to_owned(),
                };
                let act = (self.script)(&seen).unwrap_or_else(|| usual(&verb));
                self.all.lock().expect("no panic").push(seen);
                match act {
                    Act::Say(reply) | Act::SayAndClose(reply) => {
                        write!(stream.get_mut().0, "{reply}\r\n")?;
                        stream.get_mut().0.flush()?;
                        in_message = verb == "DATA" && reply.starts_with("354");
                        messages += usize::from(verb == "." && reply.starts_with('2'));
                        if matches!(act, Act::SayAndClose(_)) || verb == "QUIT" {
                            return Ok(());
                        }
                    }
                    Act::Close => return Ok(()),
                }
            }
            bytes.clear();
            if stream.read_until(b'\n', &mut bytes)? == 0 {
                return Ok(());
            }
            line = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

fn usual(verb: &str) -> Act {
    match verb {
        "connect" => Act::Say("220 mx.test ESMTP"),
        "EHLO" => Act::Say("250-mx.test\r\n250 PIPELINING"),
        "DATA" => Act::Say("354 go on"),
        "QUIT" => Act::Say("221 bye"),
        _ => Act::Say("250 2.0.0 ok"),
    }
}
