//! `oscost mail send` with Postfix and Exim as packaged by Debian: they store exactly the sent messages, each once. The test of a
//! server that is not installed is skipped with a message, but fails in CI (`CI=true`).

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use mail_parser::MessageParser;

use crate::common::needs::{self, SMTP_SINK};
use crate::common::servers::{MESSAGE, Order};
use crate::common::{
    Bench, free_port, kill, number, of_repository, skip_unless, until, until_within,
};

const MESSAGES: usize = 1_000;
/// Maximum time in which a server delivers accepted messages: Exim starts several processes per message.
const DELIVERED_WITHIN: Duration = Duration::from_secs(600);
/// Number of messages whose signatures are checked.
const CHECKED: usize = 20;

/// A private instance of a server, which ends with the test.
struct Server {
    folder: tempfile::TempDir,
    address: SocketAddr,
    pid: u32,
}

impl Server {
    /// Starts a server, if it is installed.
    fn start(kind: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = free_port();
        let mut command = Command::new(of_repository("scripts/mail-servers/start"));
        let started = command.arg(kind).arg(folder.path()).arg(address.port().to_string());
        let started = started.output().expect("the script runs");
        let why = String::from_utf8_lossy(&started.stderr);
        if !needs::mail_server(started.status.success(), kind, why.trim()) {
            return None;
        }
        let pid = String::from_utf8_lossy(&started.stdout).trim().parse().expect("a process id");
        Some(Self { folder, address, pid })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The messages that the server has delivered.
    fn delivered(&self) -> Vec<Vec<u8>> {
        let Ok(folder) = fs::read_dir(self.path("mail/new")) else { return Vec::new() };
        folder.flatten().map(|entry| fs::read(entry.path()).expect("a message")).collect()
    }

    /// Waits until the server has delivered all accepted messages.
    fn finish(&self) {
        let queues =
            ["queue/incoming", "queue/active", "queue/deferred", "queue/maildrop", "spool/input"];
        until_within(DELIVERED_WITHIN, "what was accepted is delivered", || {
            queues.iter().all(|name| is_without_files(&self.path(name)))
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SAFETY: takes numbers only; the process was started for this test.
        unsafe { libc::kill(self.pid as libc::pid_t, libc::SIGTERM) };
        until("the server has ended", || !platform::pid::is_alive(self.pid));
    }
}

/// Whether a folder and its subfolders have no files. Files that are removed during the search are ignored.
fn is_without_files(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return true };
    entries.flatten().all(|entry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_without_files(&entry.path())
    })
}

/// The message: lines that begin with dots, one that is long, and text beyond ASCII.
fn message_to_all() -> String {
    let long = "0123456789".repeat(95);
    format!(
        "From: Sender <me@sender.test>\n\
         To: {{name}} <{{email}}>\n\
         Subject: For {{name}}, number {{number}}\n\
         X-Number: {{number}}\n\
         MIME-Version: 1.0\n\
         Content-Type: text/plain; charset=utf-8\n\
         Content-Transfer-Encoding: 8bit\n\
         \n\
         Grüße an {{name}} ({{number}}) – 日本語 🎉\n\
         .\n\
         ..\n\
         .{{number}}. begins with a dot\n\
         .\t.\n\
         {long} {{number}}\n\
         From the beginning of a line\n\
         spaces at the end   \n\
         \n\
         .\n\
         \n\
         the end of {{number}}\n"
    )
}

fn name(number: usize) -> String {
    let first = ["Jürgen", "Zoë", "Ólafur", "Нина", "美咲", "Jo"][number % 6];
    let last = ["Groß", "O'Neil, Jr.", "d’Été", "Smith"][number % 4];
    format!("{first} {last} {number}")
}

/// Address of a recipient in the list, and its form on the wire.
fn email(number: usize) -> (String, String) {
    match number % 4 {
        // The encoded form comes from another implementation (Python's encodings.idna).
        0 => (
            format!("n{number}@bücher{}.example", number % 7),
            format!("n{number}@xn--bcher{}-3ya.example", number % 7),
        ),
        _ => {
            let plain = format!("n{number}@domain{}.example", number % 50);
            (plain.clone(), plain)
        }
    }
}

fn list() -> String {
    let rows =
        (0..MESSAGES).map(|number| format!("{number},{},\"{}\"\n", email(number).0, name(number)));
    "number,email,name\n".to_owned() + &rows.collect::<String>()
}

/// Delivers to a server in both ways, and compares the stored messages with the sent ones.
fn deliver(kind: &str) {
    for how in ["", "--no-chunking"] {
        deliver_by(kind, how);
    }
}

fn deliver_by(kind: &str, how: &str) {
    let Some(server) = Server::start(kind) else { return };
    let bench = Bench::new();
    printed(&bench, "genrsa -out key.pem 2048");
    printed(&bench, "rsa -in key.pem -pubout -out public.pem");
    let order = Order::new(&bench, &list(), message_to_all());
    let ca = server.path("etc/cert.pem");
    let arguments = format!(
        "--relay {} --tls required --ca {} --connections 20 --dkim-key key.pem --dkim-selector s --json {how}",
        server.address,
        ca.display()
    );
    let said = bench.oscost(&order.command(&arguments)).with(0).json();
    assert_eq!(said["delivered"], MESSAGES, "{said}");
    assert_eq!(said["test_mode"], false);
    // Sender and recipient are sent together with the previous message (PIPELINING).
    let each = said["round_trips"].as_f64().expect("a number") / MESSAGES as f64;
    assert!(each < 3.5, "{each} round trips for each message: they were not pipelined");
    server.finish();
    let delivered = server.delivered();
    let run = said["run"].as_str().expect("a name");
    let expected: BTreeSet<String> =
        (0..MESSAGES).map(|number| format!("{run}.{number}@sender.test")).collect();
    let found: BTreeSet<String> = delivered.iter().map(|message| check(message)).collect();
    assert_eq!(delivered.len(), MESSAGES, "{kind} has some twice, or not at all");
    assert!(found == expected, "{kind}: {:?}", found.symmetric_difference(&expected).next());
    delivered.iter().step_by(MESSAGES / CHECKED).for_each(|message| verify(&bench, message));
}

#[test]
fn postfix_gets_each_message_once_and_as_it_is() {
    deliver("postfix");
}

#[test]
fn exim_gets_each_message_once_and_as_it_is() {
    deliver("exim");
}

/// The message as sent, without the fields that servers prepend.
fn own(message: &[u8]) -> &str {
    let text = std::str::from_utf8(message).expect("UTF-8, as it was sent");
    let begins = text.find("\nDKIM-Signature:").expect("a signature") + 1;
    &text[begins..]
}

/// Compares a message with the sent one; returns its Message-ID.
fn check(message: &[u8]) -> String {
    let own = own(message);
    let (header, body) = own.split_once("\n\n").expect("a header");
    let parsed = MessageParser::default().parse(own.as_bytes()).expect("a message");
    let number = header.lines().find_map(|line| line.strip_prefix("X-Number: "));
    let number = number.expect("its number").to_owned();
    let at: usize = number.parse().expect("a number");
    let name = name(at);
    let wanted = message_to_all().replace("{name}", &name).replace("{number}", &number);
    let wanted = wanted.split_once("\n\n").expect("a header").1;
    assert!(body == wanted, "the body of {number} is not as it was sent:\n{body}");
    assert_eq!(parsed.subject(), Some(&*format!("For {name}, number {number}")), "{header}");
    let to = parsed.to().and_then(|to| to.first()).expect("a recipient");
    assert_eq!(to.name(), Some(&*name), "{header}");
    assert_eq!(to.address(), Some(&*email(at).1), "{header}");
    let names: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '\t']))
        .filter_map(|line| line.split_once(':').map(|(name, _)| name))
        .collect();
    let plain = ["From", "To", "Subject", "X-Number", "MIME-Version", "Content-Type"];
    let rest = ["Content-Transfer-Encoding", "Message-ID", "Date"];
    let expected: BTreeSet<&str> =
        ["DKIM-Signature"].into_iter().chain(plain).chain(rest).collect();
    assert_eq!(names.len(), expected.len(), "{header}");
    assert_eq!(names.into_iter().collect::<BTreeSet<_>>(), expected, "{header}");
    for line in [
        "From: Sender <me@sender.test>",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Transfer-Encoding: 8bit",
    ] {
        assert!(header.lines().any(|one| one == line), "{line} is not in:\n{header}");
    }
    assert!(parsed.date().is_some_and(|date| date.is_valid()), "{header}");
    parsed.message_id().expect("a Message-ID").to_owned()
}

/// Runs openssl, an independent implementation, in the folder of the bench, with these arguments, separated by spaces.
fn openssl(bench: &Bench, arguments: &str) -> Output {
    let mut command = Command::new("openssl");
    let command = command.args(arguments.split(' ')).current_dir(bench.path("."));
    command.output().expect("openssl is there")
}

/// What openssl prints if it succeeds.
fn printed(bench: &Bench, arguments: &str) -> Vec<u8> {
    let made = openssl(bench, arguments);
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "openssl {arguments}: {said}");
    made.stdout
}

/// Checks the signature as RFC 6376, section 3.7, says.
fn verify(bench: &Bench, message: &[u8]) {
    let own = own(message).replace('\n', "\r\n");
    let (header, body) = own.split_once("\r\n\r\n").expect("a header");
    let mut fields = fields(header);
    let signature = fields.remove(0);
    bench.write("hashed", &relaxed_body(body));
    bench.write("digest", &printed(bench, "dgst -sha256 -binary hashed"));
    let digest = printed(bench, "base64 -A -in digest");
    assert_eq!(tag(&signature, "bh").as_bytes(), digest, "the body has changed");
    let mut signed = String::new();
    for name in tag(&signature, "h").split(':') {
        let is_it = |field: &String| {
            field.split(':').next().is_some_and(|one| one.eq_ignore_ascii_case(name))
        };
        if let Some(at) = fields.iter().rposition(is_it) {
            signed += &(relaxed_field(&fields.remove(at)) + "\r\n");
        }
    }
    let own = relaxed_field(&signature);
    let (before, value) = own.split_at(own.rfind("b=").expect("a signature") + 2);
    signed += before;
    signed += value.find(';').map_or("", |at| &value[at..]);
    bench.write("signed", &signed);
    bench.write("base64", &tag(&signature, "b"));
    printed(bench, "base64 -d -A -in base64 -out raw");
    const VERIFY: &str = "dgst -sha256 -verify public.pem -signature raw signed";
    assert_eq!(printed(bench, VERIFY).trim_ascii(), b"Verified OK");
    // A field that is missing when the message is signed must make the signature invalid when it is added.
    bench.write("signed", &(signed + "x"));
    assert!(!openssl(bench, VERIFY).status.success());
}

/// Fields of a header, including folded lines.
fn fields(header: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in header.split("\r\n") {
        match all.last_mut() {
            Some(last) if line.starts_with([' ', '\t']) => *last += &format!("\r\n{line}"),
            _ => all.push(line.to_owned()),
        }
    }
    all
}

/// A field in relaxed form (RFC 6376, section 3.4.2).
fn relaxed_field(field: &str) -> String {
    let (name, value) = field.split_once(':').expect("a field");
    let words: Vec<&str> = value.split_ascii_whitespace().collect();
    format!("{}:{}", name.trim_end().to_lowercase(), words.join(" "))
}

/// A body in relaxed form (RFC 6376, section 3.4.4).
fn relaxed_body(body: &str) -> String {
    let relaxed = |line: &str| {
        let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let before = if line.starts_with([' ', '\t']) && !words.is_empty() { " " } else { "" };
        format!("{before}{}", words.join(" "))
    };
    let lines: Vec<String> = body.split("\r\n").map(relaxed).collect();
    lines.join("\r\n").trim_end_matches("\r\n").to_owned() + "\r\n"
}

fn tag(field: &str, name: &str) -> String {
    let value = field.split_once(':').expect("a field").1;
    let mut tags = value.split(';').filter_map(|tag| tag.trim().split_once('='));
    let value = tags.find(|(found, _)| *found == name).expect("it has that tag").1;
    value.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn smtp_sink_counts_as_many_messages_as_were_sent() {
    let is_there = Path::new(SMTP_SINK).exists();
    skip_unless!(needs::mail_server(is_there, "smtp-sink", "it is not installed"));
    let messages: usize = number("OSCOST_MAIL_RECIPIENTS", 10_000);
    let bench = Bench::new();
    let mut list = "email\n".to_owned();
    list.extend((0..messages).map(|number| format!("n{number}@domain{}.example\n", number % 997)));
    let address = free_port();
    let mut command = Command::new(SMTP_SINK);
    if testing::is_root() {
        command.args(["-u", "root"]);
    }
    let mut sink = command
        .args(["-c", &address.to_string(), "1000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("smtp-sink starts");
    let counted = Arc::new(AtomicUsize::new(0));
    let (mut counts, last) = (sink.stdout.take().expect("a pipe"), Arc::clone(&counted));
    // The generator prints "sess=1 quit=1 mesg=1" and a carriage return whenever one of them changes.
    let reader = std::thread::spawn(move || {
        let (mut text, mut buffer) = (String::new(), [0; 64 * 1024]);
        while let Ok(bytes @ 1..) = counts.read(&mut buffer) {
            text += &String::from_utf8_lossy(&buffer[..bytes]);
            let begins = text.rfind("mesg=").map_or(0, |at| at + "mesg=".len());
            if let Some((count, _)) = text[begins..].split_once('\r') {
                last.store(count.parse().expect("a number"), Relaxed);
                text.drain(..begins.saturating_sub("mesg=".len()));
            }
        }
    });
    until("smtp-sink listens", || std::net::TcpStream::connect(address).is_ok());
    let order = Order::new(&bench, &list, MESSAGE);
    let arguments = format!("--relay {address} --connections 200 --recipients 1 --json");
    let said = bench.oscost(&order.command(&arguments));
    let delivered = said.json()["delivered"].clone();
    until("all are counted", || counted.load(Relaxed) >= messages);
    kill(&mut sink);
    reader.join().expect("a reader");
    assert_eq!(delivered, messages, "{said:?}");
    assert_eq!(counted.load(Relaxed), messages);
}
