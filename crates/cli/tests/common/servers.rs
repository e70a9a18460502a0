//! Deliveries to a sink that keeps the messages.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::hosted::Listening;
use super::{Bench, Said};

/// A message for tests of other properties.
pub const MESSAGE: &str = "From: me@sender.test\nSubject: Hello\n\nHello {address}\n";

/// Number of the next file, so that files of one bench have different names.
static NUMBER: AtomicU32 = AtomicU32::new(0);

fn number() -> u32 {
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// `oscost mail sink`, which ends with the test.
pub struct Sink {
    _sink: Listening,
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
        let sink = Listening::start(
            &mut bench.command(&format!("{listen} --capture {captured} {arguments}")),
        );
        Self { address: sink.address, _sink: sink, captured: bench.path(&captured) }
    }

    /// Delivers a message to a list by this sink, with further arguments, separated by spaces.
    pub fn send(&self, bench: &Bench, list: &str, message: impl AsRef<[u8]>, more: &str) -> Said {
        send(bench, list, message, &format!("--relay {} {more}", self.address))
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
