//! Mail servers to deliver to: the sink, and fake ones with scripted replies.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::{Bench, Said, started};

/// A message for tests of other properties.
pub const MESSAGE: &str = "From: me@sender.test\nSubject: Hello\n\nHello {address}\n";

/// Number of the next file, so that files of one bench have different names.
static NUMBER: AtomicU32 = AtomicU32::new(0);

fn number() -> u32 {
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// `oscost mail sink`, which ends with the test.
pub struct Sink {
    child: Child,
    /// Address at which the sink listens.
    pub address: SocketAddr,
    captured: PathBuf,
}

/// A message that the sink has accepted.
#[derive(Debug)]
pub struct Captured {
    /// The envelope: `from`, `to`, `tls` and more.
    pub envelope: Value,
    /// The message as received, without dot-stuffing.
    pub message: Vec<u8>,
}

impl Captured {
    /// The message as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.message).expect("a message in UTF-8")
    }
}

impl Sink {
    /// Starts a sink with these arguments, separated by spaces, and returns when it listens.
    pub fn start(bench: &Bench, arguments: &str) -> Self {
        let captured = format!("captured-{}", number());
        let listen = "mail sink --listen 127.0.0.1:0";
        let mut command = bench.command(&format!("{listen} --capture {captured} {arguments}"));
        let mut child = started(&mut command);
        let mut said = String::new();
        let stderr = child.stderr.as_mut().expect("a pipe");
        // The sink prints nothing more before its end.
        BufReader::with_capacity(1, stderr).read_line(&mut said).expect("it says where it listens");
        let mut words = said.split_whitespace();
        let address = words.find_map(|word| word.trim_end_matches(';').parse().ok());
        let address = address.unwrap_or_else(|| panic!("no address in: {said}"));
        Self { child, address, captured: bench.path(&captured) }
    }

    /// The messages accepted so far, in order.
    pub fn messages(&self) -> Vec<Captured> {
        let mut names = super::entries(&self.captured);
        names.retain(|name| name.ends_with(".eml"));
        names.sort();
        let read = |name: String| {
            let path = self.captured.join(name);
            let envelope = std::fs::read(path.with_extension("json")).expect("an envelope");
            Captured {
                envelope: serde_json::from_slice(&envelope).expect("an envelope in JSON"),
                message: std::fs::read(path).expect("a message"),
            }
        };
        names.into_iter().map(read).collect()
    }

    /// The only message that the sink has accepted.
    #[track_caller]
    pub fn message(&self) -> Captured {
        let mut all = self.messages();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Files of a delivery, with unique names.
pub struct Order {
    /// Name of the list.
    pub list: String,
    /// Name of the message.
    pub message: String,
}

impl Order {
    /// Writes the list and the message.
    pub fn new(bench: &Bench, list: &str, message: impl AsRef<[u8]>) -> Self {
        let number = number();
        let order = Self { list: format!("{number}.csv"), message: format!("{number}.eml") };
        bench.write(&order.list, list);
        std::fs::write(bench.path(&order.message), message).expect("a file is written");
        order
    }

    /// The command that delivers the message, with further arguments, separated by spaces.
    pub fn command(&self, arguments: &str) -> String {
        let Self { list, message } = self;
        format!("mail send --list {list} --message {message} --from me@sender.test {arguments}")
    }
}

/// Delivers a message to a list, with further arguments, separated by spaces.
pub fn send(bench: &Bench, list: &str, message: impl AsRef<[u8]>, arguments: &str) -> Said {
    bench.oscost(&Order::new(bench, list, message).command(arguments))
}

/// A server that answers each line by its beginning, and all others by `250 ok`. It ends with the test program.
pub struct Fake {
    /// Address at which the server listens.
    pub address: SocketAddr,
    received: Arc<Mutex<Vec<u8>>>,
}

impl Fake {
    /// Greets with `220 fake`. `answers` are the beginnings of commands with their replies; a missing line end is
    /// added, and an empty reply closes the connection.
    pub fn start(answers: &'static [(&'static str, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let received = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let received = Arc::clone(&all);
                std::thread::spawn(move || drop(converse(&stream, answers, &received)));
            }
        });
        Self { address, received }
    }

    /// All data received over all connections.
    pub fn received(&self) -> Vec<u8> {
        self.received.lock().expect("not poisoned").clone()
    }

    /// All data received over all connections, as text.
    pub fn received_text(&self) -> String {
        String::from_utf8_lossy(&self.received()).into_owned()
    }
}

fn converse(
    mut stream: &TcpStream,
    answers: &[(&str, &str)],
    received: &Mutex<Vec<u8>>,
) -> std::io::Result<()> {
    stream.write_all(b"220 fake\r\n")?;
    let mut reader = BufReader::new(Listening(stream, received));
    let (mut line, mut is_data) = (Vec::new(), false);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line).into_owned();
        line.clear();
        if is_data && text != ".\r\n" {
            continue;
        }
        let given = answers.iter().find(|(words, _)| !is_data && text.starts_with(words));
        let usual = if text.starts_with("DATA") { "354 go on" } else { "250 ok" };
        let answer = given.map_or(usual, |(_, answer)| answer);
        is_data = !is_data && answer.starts_with("354");
        let end = if answer.ends_with("\r\n") { "" } else { "\r\n" };
        if answer.is_empty() {
            break;
        }
        stream.write_all(format!("{answer}{end}").as_bytes())?;
        if text.starts_with("QUIT") {
            break;
        }
    }
    Ok(())
}

/// Serves a connection, and records all received data.
struct Listening<'a>(&'a TcpStream, &'a Mutex<Vec<u8>>);

impl Read for Listening<'_> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.0.read(room)?;
        self.1.lock().expect("not poisoned").extend_from_slice(&room[..bytes]);
        Ok(bytes)
    }
}
