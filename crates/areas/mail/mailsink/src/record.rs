//! Records accepted messages: a line in a log, a file in a directory.
//!
//! Line and file are written before the client gets its reply. They survive the end of the sink, but not a crash of the
//! machine, since the sink does not wait for the disk. A message whose reply is lost is recorded too.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::digest::{Context, SHA256};
use serde::Serialize;

/// Maximum number of bytes of a header that are searched for the Message-ID.
const HEADER_AT_MOST: usize = 64 * 1024;

/// Maximum size of recipients and headers that are recorded for all messages in progress, in bytes.
const PENDING_AT_MOST: usize = 64 << 20;

/// Writes messages to a log, a directory, or both.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    log: Option<Log>,
    folder: Option<Folder>,
    /// Size of recipients and headers of all messages in progress.
    pending: Arc<AtomicUsize>,
}

impl Recorder {
    /// Opens a log to append to, a directory, or both.
    pub fn open(log: Option<&Path>, folder: Option<&Path>) -> io::Result<Self> {
        let log = log.map(Log::open).transpose()?;
        Ok(Self { log, folder: folder.map(Folder::open).transpose()?, ..Self::default() })
    }

    /// Whether neither log nor directory is written.
    pub fn is_none(&self) -> bool {
        self.log.is_none() && self.folder.is_none()
    }

    /// Begins to record a message. Errors are reported at the message's end.
    pub fn begin(&mut self, from: &str) -> Box<PendingRecord> {
        Box::new(PendingRecord {
            from: from.to_owned(),
            to: Vec::new(),
            header: Vec::new(),
            line: HeaderPosition::Begun,
            whole: Context::new(&SHA256),
            content: Context::new(&SHA256),
            part: self.folder.as_mut().map(Folder::begin),
            share: Share { own: 0, all: Arc::clone(&self.pending) },
        })
    }

    /// Writes an accepted message. If writing fails, nothing of the message remains.
    pub fn write(
        &mut self,
        kept: PendingRecord,
        bytes: u64,
        connection: u64,
        tls: bool,
    ) -> io::Result<()> {
        let PendingRecord { from, to, header, whole, content, part, .. } = kept;
        let entry = Entry {
            from: &from,
            to: &to,
            message_id: message_id(&header),
            bytes,
            sha256: hex(whole),
            body_sha256: hex(content),
            connection,
            tls,
        };
        let line = serde_json::to_vec(&entry)?;
        let files = part.transpose()?.map(|part| part.keep(&line)).transpose()?;
        if let Some(log) = &mut self.log {
            log.write(line).inspect_err(|_| {
                files.iter().flatten().for_each(|file| drop(fs::remove_file(file)));
            })?;
        }
        Ok(())
    }
}

/// The log entry of a message.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    from: &'a str,
    to: &'a [String],
    message_id: Option<String>,
    bytes: u64,
    sha256: String,
    body_sha256: String,
    connection: u64,
    tls: bool,
}

/// The record of a message that is being received.
pub(crate) struct PendingRecord {
    from: String,
    to: Vec<String>,
    header: Vec<u8>,
    line: HeaderPosition,
    whole: Context,
    content: Context,
    part: Option<io::Result<Part>>,
    share: Share,
}

/// The share of a message in what is recorded for all messages in progress.
struct Share {
    own: usize,
    all: Arc<AtomicUsize>,
}

impl Share {
    /// Adds `bytes`; returns whether there is room for them.
    fn add(&mut self, bytes: usize) -> bool {
        let has_room = self.all.load(Ordering::Relaxed) + bytes <= PENDING_AT_MOST;
        if has_room {
            self.own += bytes;
            self.all.fetch_add(bytes, Ordering::Relaxed);
        }
        has_room
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}

impl fmt::Debug for PendingRecord {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("PendingRecord")
            .field("from", &self.from)
            .field("to", &self.to)
            .finish_non_exhaustive()
    }
}

/// The position in the header, which ends with an empty line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderPosition {
    Text,
    Cr,
    Begun,
    BegunCr,
    /// The header is over.
    Over,
}

impl PendingRecord {
    /// Adds a recipient; returns whether there is room for it.
    pub fn add_recipient(&mut self, to: &str) -> bool {
        let has_room = self.share.add(size_of::<String>() + to.len());
        if has_room {
            self.to.push(to.to_owned());
        }
        has_room
    }

    /// Adds bytes of the message. Without room for the whole header, its Message-ID may be missing in the record.
    pub fn take(&mut self, bytes: &[u8]) {
        self.whole.update(bytes);
        let header = self.header_in(bytes);
        self.content.update(&bytes[header..]);
        let more = header.min(HEADER_AT_MOST - self.header.len());
        if more > 0 && self.share.add(more) {
            self.header.extend_from_slice(&bytes[..more]);
        }
        if let Some(Ok(part)) = &mut self.part
            && let Err(e) = part.file.write_all(bytes)
        {
            self.part = Some(Err(e));
        }
    }

    /// The number of `bytes` that belong to the header.
    fn header_in(&mut self, bytes: &[u8]) -> usize {
        for (at, &byte) in bytes.iter().enumerate() {
            self.line = match (self.line, byte) {
                (HeaderPosition::Over, _) => return at,
                (HeaderPosition::Begun, b'\r') => HeaderPosition::BegunCr,
                (_, b'\r') => HeaderPosition::Cr,
                (HeaderPosition::Cr, b'\n') => HeaderPosition::Begun,
                (HeaderPosition::BegunCr, b'\n') => HeaderPosition::Over,
                _ => HeaderPosition::Text,
            };
        }
        bytes.len()
    }
}

/// The value of the first Message-ID field, unfolded.
fn message_id(header: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"message-id:";
    let mut rest = header;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at(end);
        if line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)) {
            let mut end = line.len();
            for more in after.split_inclusive(|&byte| byte == b'\n') {
                if !more.starts_with(b" ") && !more.starts_with(b"\t") {
                    break;
                }
                end += more.len();
            }
            let value = String::from_utf8_lossy(&rest[NAME.len()..end]);
            return Some(value.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        rest = after;
    }
    None
}

fn hex(context: Context) -> String {
    context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file with a line for each message.
#[derive(Debug)]
struct Log {
    file: File,
    /// Length of the file up to the last whole line.
    length: u64,
}

impl Log {
    fn open(path: &Path) -> io::Result<Self> {
        let open = OpenOptions::new().create(true).append(true).open(path);
        let file = open.map_err(|e| naming(path, &e))?;
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }

    fn write(&mut self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let written = self.file.write_all(&line);
        match &written {
            Ok(()) => self.length += line.len() as u64,
            // A partial line would corrupt the next one.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }
}

fn naming(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// A folder with a file for each message.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// The unique prefix of this sink's file names.
    prefix: String,
    begun: u64,
}

impl Folder {
    fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path).map_err(|e| naming(path, &e))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = format!("{}-{}", now.as_millis(), std::process::id());
        let folder = Self { path: path.to_owned(), prefix, begun: 0 };
        let probe = folder.path.join(format!(".{}.part", folder.prefix));
        File::create_new(&probe).map_err(|e| naming(path, &e))?;
        fs::remove_file(&probe)?;
        Ok(folder)
    }

    fn begin(&mut self) -> io::Result<Part> {
        self.begun += 1;
        let name = format!("{}-{:08}", self.prefix, self.begun);
        let path = self.path.join(format!(".{name}.part"));
        let file = File::create_new(&path)?;
        Ok(Part { file, path, message: self.path.join(name + ".eml"), kept: false })
    }
}

/// The temporary file of a message; removed unless the message is completed.
#[derive(Debug)]
struct Part {
    file: File,
    path: PathBuf,
    message: PathBuf,
    kept: bool,
}

impl Part {
    /// Renames the files, the envelope first, so that no message lacks an envelope. Returns their paths.
    fn keep(mut self, envelope: &[u8]) -> io::Result<[PathBuf; 2]> {
        let beside = self.message.with_extension("json");
        let begun = self.path.with_extension("json");
        let written = fs::write(&begun, envelope).and_then(|()| fs::rename(&begun, &beside));
        if let Err(e) = written {
            let _ = fs::remove_file(&begun);
            return Err(e);
        }
        if let Err(e) = fs::rename(&self.path, &self.message) {
            let _ = fs::remove_file(&beside);
            return Err(e);
        }
        self.kept = true;
        Ok([std::mem::take(&mut self.message), beside])
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The checksum of "ab\r\n", by another implementation (sha256sum).
    const SHA256_OF_AB: &str = "c7c0875507bd96d407f116eaf706de057c9f1f0255f07ff8f57d0f8a527d7a50";

    fn message(records: &mut Recorder, text: &str, piece: usize) -> Box<PendingRecord> {
        let mut kept = records.begin("from@x");
        assert!(kept.add_recipient("a@y") && kept.add_recipient("b@y"));
        text.as_bytes().chunks(piece).for_each(|some| kept.take(some));
        kept
    }

    #[test]
    fn a_message_has_its_line_and_its_files() {
        let directory = tempfile::tempdir().unwrap();
        let (log, folder) = (directory.path().join("log"), directory.path().join("folder"));
        let mut records = Recorder::open(Some(&log), Some(&folder)).unwrap();
        let text = "Subject: x\r\nMESSAGE-Id:\r\n <1@x>\r\nTo: a\r\n\r\nab\r\n";
        for piece in [1, 7, 1_000] {
            let kept = message(&mut records, text, piece);
            records.write(*kept, 7, 3, true).unwrap();
        }
        drop(message(&mut records, text, 5)); // the message is never accepted
        let lines = fs::read_to_string(&log).unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line == &lines[0]), "pieces make no difference");
        let line: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(line["to"], serde_json::json!(["a@y", "b@y"]));
        assert_eq!((&line["message_id"], &line["tls"]), (&"<1@x>".into(), &true.into()));
        assert_eq!((&line["bytes"], &line["connection"]), (&7.into(), &3.into()));
        assert_eq!(line["body_sha256"], SHA256_OF_AB);
        let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        assert_eq!(files.len(), 6, "{files:?}");
        for two in files.chunks(2) {
            assert_eq!(fs::read_to_string(&two[0]).unwrap(), text);
            assert_eq!(fs::read_to_string(&two[1]).unwrap(), lines[0]);
            assert_eq!(two[0].with_extension("json"), two[1]);
        }
    }

    #[test]
    fn messages_in_progress_are_bounded_together() {
        let directory = tempfile::tempdir().unwrap();
        let mut records = Recorder::open(Some(&directory.path().join("log")), None).unwrap();
        let header = format!("X: {}\r\n", "x".repeat(HEADER_AT_MOST));
        let mut all = Vec::new();
        for _ in 0..PENDING_AT_MOST / HEADER_AT_MOST {
            let mut kept = records.begin("from@x");
            kept.take(header.as_bytes());
            all.push(kept);
        }
        assert!(!records.begin("from@x").add_recipient("a@y"));
        drop(message(&mut Recorder::default(), "another sink", 1));
        records.write(*all.pop().unwrap(), 1, 1, false).unwrap();
        drop(message(&mut records, "\r\n", 1));
        let held: usize = all.iter().map(|one| one.header.len()).sum();
        assert_eq!(records.pending.load(Ordering::Relaxed), held);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("folder");
        let full = Path::new("/dev/full");
        if full.exists() {
            let mut records = Recorder::open(Some(full), Some(&folder)).unwrap();
            let kept = message(&mut records, "\r\nx", 1);
            assert_eq!(records.write(*kept, 1, 1, false).unwrap_err().raw_os_error(), Some(28));
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        }
        let mut records = Recorder::open(None, Some(&folder)).unwrap();
        fs::remove_dir(&folder).unwrap();
        let kept = message(&mut records, "\r\nx", 1);
        assert!(records.write(*kept, 1, 1, false).is_err());
        let nowhere = directory.path().join("no/log");
        let error = Recorder::open(Some(&nowhere), None).unwrap_err();
        assert!(error.to_string().contains("no/log"), "{error}");
    }

    #[test]
    fn the_header_ends_at_the_first_empty_line() {
        assert_eq!(
            message_id(b"X: message-id: 1\r\nMessage-ID: <2>\r\n x\r\nY: 3"),
            Some("<2> x".into())
        );
        assert_eq!(message_id(b"X: 1\r\n"), None);
        let mut records = Recorder::default();
        let mut kept = records.begin("");
        kept.take(b"\r\nMessage-ID: <no>\r\n");
        assert_eq!(kept.header, b"\r\n");
    }
}
