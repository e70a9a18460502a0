//! Mail from `oscost mail send` to `oscost mail sink`: intended recipients, actual recipients, and the journal.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;

use super::hosted::Listening;
use super::{Bench, Said, said_within, started};

/// Maximum duration of a delivery in these tests.
const DEADLINE: Duration = Duration::from_secs(1_200);
/// Options of all deliveries: deferred recipients are retried soon.
const SOON: &str = "--retry-after 20ms --retry-at-most 200ms --give-up 60s";
/// Event numbers of the journal, in order: sending, delivered, deferred, uncertain, failed, given up.
pub const SENDING: u8 = 0;
pub const DELIVERED: u8 = 1;
pub const UNCERTAIN: u8 = 3;
pub const FAILED: u8 = 4;
pub const GIVEN_UP: u8 = 5;

/// A personalised message.
pub const PERSONAL: &str =
    "From: Us <us@oscost.test>\nTo: {email}\nSubject: To {name}\n\nDear {name},\n.hello\n";
/// A message that is equal for all recipients.
pub const SHARED: &str =
    "From: Us <us@oscost.test>\nTo: all@oscost.test\nSubject: To all\n\nDear all\n";

/// A sink in a separate process.
pub struct Sink {
    sink: Listening,
    pub address: SocketAddr,
    log: PathBuf,
}

impl Sink {
    /// Starts a sink at any free port, with a log.
    pub fn start(bench: &Bench, arguments: &str) -> Self {
        Self::start_at(bench, "127.0.0.1:0", arguments)
    }

    /// Starts a sink that listens at these addresses.
    pub fn start_at(bench: &Bench, listen: &str, arguments: &str) -> Self {
        let command = format!("mail sink --listen {listen} --log log.jsonl {arguments}");
        let sink = Listening::start(&mut bench.command(&command));
        Self { address: sink.address, sink, log: bench.path("log.jsonl") }
    }

    /// The options of a delivery to this sink.
    pub fn relay(&self, more: &str) -> String {
        format!("--relay {} {more}", self.address)
    }

    /// Stops the sink by SIGTERM.
    pub fn stop(self) -> Received {
        self.sink.stop();
        Received::read(&self.log)
    }

    /// Kills the sink, as the system does when it is out of memory. Returns its address.
    pub fn kill(self) -> SocketAddr {
        self.address
    }
}

/// The number of messages that a sink has received for each recipient.
#[derive(Debug, Default)]
pub struct Received {
    times: HashMap<usize, usize>,
    pub messages: usize,
}

impl Received {
    /// Reads the log of a sink, also of one that was killed.
    pub fn read(log: &Path) -> Self {
        let mut all = Self::default();
        let text = std::fs::read_to_string(log).unwrap_or_default();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).expect("a line of JSON");
            all.messages += 1;
            for to in entry["to"].as_array().expect("recipients") {
                *all.times.entry(number_of(to.as_str().expect("an address"))).or_default() += 1;
            }
        }
        all
    }

    /// The number of messages for one recipient.
    pub fn times(&self, number: usize) -> usize {
        self.times.get(&number).copied().unwrap_or(0)
    }

    /// The number of recipients with several messages.
    pub fn repeats(&self) -> usize {
        self.times.values().filter(|&&times| times > 1).count()
    }

    /// The number of recipients with a message.
    pub fn recipients(&self) -> usize {
        self.times.len()
    }
}

/// The address of a recipient.
fn address_of(number: usize, domains: usize) -> String {
    format!("r{number}@d{}.test", number % domains)
}

fn number_of(address: &str) -> usize {
    let (local, _) = address.split_once('@').expect("an address");
    local[1..].parse().expect("a number")
}

/// Writes a list and a message.
pub fn write(bench: &Bench, recipients: usize, domains: usize, message: &str) {
    let mut list = "email,name\n".to_owned();
    for number in 0..recipients {
        let _ = writeln!(list, "{},Name {number}", address_of(number, domains));
    }
    bench.write("list.csv", &list);
    bench.write("message.eml", message);
}

/// Starts a delivery that prints its result as JSON.
pub fn begin(bench: &Bench, arguments: &str) -> Child {
    started(&mut send(bench, arguments))
}

/// The command for a delivery.
pub fn send(bench: &Bench, arguments: &str) -> Command {
    let soon = if arguments.contains("--retry-after") { "" } else { SOON };
    let command = format!(
        "mail send --list list.csv --message message.eml --from us@oscost.test --json {soon} {arguments}"
    );
    bench.command(&command)
}

/// Delivers to the end. Returns the output and the maximum memory in KiB.
pub fn deliver(bench: &Bench, arguments: &str) -> (Said, u64) {
    let child = begin(bench, arguments);
    let memory = watch_memory(&child);
    let said = said_within(child, DEADLINE);
    (said, memory.join().expect("a watcher"))
}

/// Watches a process until it ends. Returns its maximum memory in KiB.
pub fn watch_memory(child: &Child) -> std::thread::JoinHandle<u64> {
    let status = format!("/proc/{}/status", child.id());
    std::thread::spawn(move || {
        let mut most = 0;
        while let Ok(text) = std::fs::read_to_string(&status)
            && let Some(line) = text.lines().find(|line| line.starts_with("VmHWM:"))
        {
            let number = line.split_whitespace().nth(1).expect("a number");
            most = number.parse().expect("a number");
            std::thread::sleep(Duration::from_millis(10));
        }
        most
    })
}

/// The events of each recipient in the journal, in order.
pub fn events(bench: &Bench) -> HashMap<usize, Vec<u8>> {
    let journal = rusqlite::Connection::open(bench.path("list.csv.journal")).expect("a journal");
    // Event 6 is one of a server.
    let query = "SELECT recipient, what FROM event WHERE what < 6 ORDER BY number";
    let mut query = journal.prepare(query).expect("events");
    let rows =
        query.query_map([], |row| Ok((row.get::<_, u32>(0)? as usize, row.get::<_, u8>(1)?)));
    let mut all: HashMap<usize, Vec<u8>> = HashMap::new();
    for row in rows.expect("events") {
        let (recipient, what) = row.expect("an event");
        all.entry(recipient).or_default().push(what);
    }
    all
}

/// Checks that each recipient has a correct final status. Besides the reported duplicates, `excused` messages may have been
/// received twice.
#[track_caller]
pub fn judge(
    bench: &Bench,
    recipients: usize,
    report: &Value,
    received: &Received,
    excused: usize,
) {
    let events = events(bench);
    assert_eq!(events.len(), recipients, "everybody is in the journal");
    let mut counts = [0_u64; 6];
    for number in 0..recipients {
        let (all, times) = (&events[&number], received.times(number));
        let (last, before) = all.split_last().expect("an event");
        let is_final = |what: &u8| [DELIVERED, FAILED, GIVEN_UP].contains(what);
        assert!(is_final(last) && !before.iter().any(is_final), "{number}: {all:?}");
        counts[usize::from(*last)] += 1;
        let uncertain = all.iter().filter(|&&what| what == UNCERTAIN).count();
        let cut = all.windows(2).filter(|two| two == &[SENDING; 2]).count().min(excused);
        let least = usize::from(*last == DELIVERED);
        assert!((least..=least + uncertain + cut).contains(&times), "{number}: {times}, {all:?}");
    }
    assert_eq!(report["delivered"], counts[usize::from(DELIVERED)], "{report}");
    assert_eq!(report["failed"], counts[usize::from(FAILED)], "{report}");
    assert_eq!(report["deferred"], counts[usize::from(GIVEN_UP)], "{report}");
    assert_eq!(report["left"], 0, "{report}");
    let reported = report["possibly_repeated"].as_u64().expect("a number") as usize;
    let repeats = received.repeats();
    assert!(repeats <= reported + excused, "{repeats} came twice, not {reported} and {excused}");
}

/// Waits for a delivery of any size.
pub fn said_of(child: Child) -> Said {
    said_within(child, DEADLINE)
}
