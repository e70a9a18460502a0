//! Power cuts, simulated: what a program writes is recorded by strace(1), and what a cut at any moment may leave on the disk is laid
//! out again.
//!
//! After a cut a file has what was written before its last fsync(2), and any part of what was written later; a directory has the
//! names that it had at its own last fsync, and perhaps some of the later changes.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The calls that are recorded.
const CALLS: &str = "trace=openat,creat,write,pwrite64,lseek,ftruncate,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2,\
                     mkdir,mkdirat";
/// A cut may leave a part of a write, in whole sectors.
const SECTOR_BYTES: usize = 512;

/// A file, by the order of creation.
type Inode = usize;

/// What a program did.
#[derive(Debug, Clone)]
pub enum Event {
    /// It wrote to its standard output.
    Said(String),
    /// A file has a new name.
    Named(PathBuf, Inode),
    /// A directory was made.
    Made(PathBuf),
    /// A name is gone.
    Removed(PathBuf),
    /// Bytes of a file were written.
    Wrote(Inode, usize, Vec<u8>),
    /// A file was cut, or extended with zeros.
    Resized(Inode, usize),
    /// A file was synced.
    Synced(Inode),
    /// A directory was synced.
    SyncedNames(PathBuf),
}

/// Runs a program under strace; returns what it did, in order. `None`, with a report, where there is no strace.
///
/// # Panics
/// If the program fails; in CI if there is no strace.
pub fn record(command: &Command) -> Option<Vec<Event>> {
    let is_there = Command::new("strace").arg("-V").stdout(Stdio::null()).status();
    if crate::skip_unless(is_there.is_ok(), "systems: strace is not installed") {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let mut traced = Command::new("strace");
    traced.args(["-f", "-y", "-xx", "-s", "100000000", "-e", CALLS, "-e", "signal=none", "-o"]);
    traced.arg(&log).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        traced.env(name, value.unwrap_or_default());
    }
    let done = traced.output().expect("strace starts");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut reader = Reader::default();
    let mut begun: HashMap<&str, &str> = HashMap::new();
    let log = fs::read_to_string(&log).expect("a log");
    for line in log.lines() {
        let (process, call) = line.split_once(' ').unwrap_or_default();
        let call = call.trim_start();
        if let Some(beginning) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(process, beginning);
        } else if let Some((_, rest)) =
            call.strip_prefix("<... ").and_then(|call| call.split_once(" resumed>"))
        {
            let beginning = begun.remove(process).unwrap_or_default();
            reader.read(process, &format!("{beginning}{rest}"));
        } else {
            reader.read(process, call);
        }
    }
    Some(reader.events)
}

/// Reads the log of strace.
#[derive(Default)]
struct Reader {
    events: Vec<Event>,
    names: BTreeMap<PathBuf, Inode>,
    lengths: Vec<usize>,
    /// Where each process's descriptors write next; at the end for those opened with O_APPEND.
    positions: HashMap<(String, String), Option<usize>>,
}

impl Reader {
    fn read(&mut self, process: &str, call: &str) {
        let Some((name, rest)) = call.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        if result.starts_with('-') || result.starts_with('?') {
            return;
        }
        let arguments = arguments.trim_end().strip_suffix(')').unwrap_or(arguments);
        let arguments: Vec<&str> = arguments.split(", ").collect();
        let number = |text: &str| text.split(['<', ' ']).next().unwrap_or_default().to_owned();
        let key = |text: &str| (process.to_owned(), number(text));
        let returned = || number(result).parse::<usize>().unwrap_or_default();
        let quoted = || {
            let paths = arguments.iter().filter(|argument| argument.starts_with('"'));
            paths.map(|text| path_of(text.trim_matches('"')))
        };
        match name {
            "openat" | "creat" => {
                let flags = arguments.get(2).copied().unwrap_or("O_CREAT|O_TRUNC");
                let Some(path) = descriptor(result) else { return };
                let position = (!flags.contains("O_APPEND")).then_some(0);
                self.positions.insert(key(result), position);
                if !flags.contains("O_CREAT") && !self.names.contains_key(&path) {
                    return;
                }
                let inode = self.inode(&path);
                if flags.contains("O_TRUNC") && self.lengths[inode] > 0 {
                    self.resize(inode, 0);
                }
            }
            "mkdir" | "mkdirat" => self.events.extend(quoted().map(Event::Made)),
            "unlink" | "unlinkat" => {
                for path in quoted() {
                    self.names.remove(&path);
                    self.events.push(Event::Removed(path));
                }
            }
            "rename" | "renameat" | "renameat2" => {
                let [from, to] = [0, 1].map(|nth| quoted().nth(nth).unwrap_or_default());
                if let Some(inode) = self.names.remove(&from) {
                    self.names.insert(to.clone(), inode);
                    self.events.extend([Event::Named(to, inode), Event::Removed(from)]);
                }
            }
            "write" | "pwrite64" => {
                let bytes = bytes_of(arguments[1].trim_matches('"'));
                if number(arguments[0]) == "1" {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    return self.events.push(Event::Said(text));
                }
                let Some(inode) = self.known(arguments[0]) else { return };
                let bytes = bytes[..returned().min(bytes.len())].to_vec();
                let position = self.positions.get(&key(arguments[0])).copied().flatten();
                let at = match name {
                    "pwrite64" => arguments[3].parse().expect("an offset"),
                    _ => position.unwrap_or(self.lengths[inode]),
                };
                if name == "write" && position.is_some() {
                    self.positions.insert(key(arguments[0]), Some(at + bytes.len()));
                }
                self.lengths[inode] = self.lengths[inode].max(at + bytes.len());
                self.events.push(Event::Wrote(inode, at, bytes));
            }
            "lseek" => {
                if let Some(Some(position)) = self.positions.get_mut(&key(arguments[0])) {
                    *position = returned();
                }
            }
            "ftruncate" => {
                let length = arguments[1].parse().expect("a length");
                if let Some(inode) = self.known(arguments[0]) {
                    self.resize(inode, length);
                }
            }
            "fsync" | "fdatasync" => match self.known(arguments[0]) {
                Some(inode) => self.events.push(Event::Synced(inode)),
                None => self.events.extend(descriptor(arguments[0]).map(Event::SyncedNames)),
            },
            _ => {}
        }
    }

    /// The file of an open descriptor, if the program made it.
    fn known(&self, argument: &str) -> Option<Inode> {
        self.names.get(&descriptor(argument)?).copied()
    }

    fn inode(&mut self, path: &Path) -> Inode {
        if let Some(known) = self.names.get(path) {
            return *known;
        }
        let inode = self.lengths.len();
        self.lengths.push(0);
        self.names.insert(path.to_owned(), inode);
        self.events.push(Event::Named(path.to_owned(), inode));
        inode
    }

    fn resize(&mut self, inode: Inode, length: usize) {
        self.lengths[inode] = length;
        self.events.push(Event::Resized(inode, length));
    }
}

/// The path that strace writes after a descriptor: `3</a/b>`.
fn descriptor(argument: &str) -> Option<PathBuf> {
    Some(path_of(argument.split_once('<')?.1.split_once('>')?.0))
}

fn path_of(text: &str) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&bytes_of(text)))
}

/// The bytes of a text of strace, which has `\xNN` for each.
fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4);
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(1..3).filter(|_| first == b'\\' && after[0] == b'x');
        let byte = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// What remains of what was not synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    /// Nothing.
    Lost,
    /// All, as after the end of the program alone.
    Kept,
    /// Some, chosen by this number.
    Random(u64),
}

/// A disk on which events happen.
#[derive(Debug, Default)]
pub struct Disk {
    files: HashMap<Inode, File>,
    /// What has a name for certain; `None` for a directory.
    names: BTreeMap<PathBuf, Option<Inode>>,
    /// Changes of names that no sync has made certain; `None` removes a name.
    changes: Vec<(PathBuf, Option<Option<Inode>>)>,
}

#[derive(Debug, Default)]
struct File {
    synced: Vec<u8>,
    later: Vec<Event>,
}

impl Disk {
    /// Lets something happen.
    pub fn happen(&mut self, event: &Event) {
        match event {
            Event::Said(_) => {}
            Event::Named(path, inode) => {
                self.files.entry(*inode).or_default();
                self.changes.push((path.clone(), Some(Some(*inode))));
            }
            Event::Made(path) => self.changes.push((path.clone(), Some(None))),
            Event::Removed(path) => self.changes.push((path.clone(), None)),
            Event::Wrote(inode, ..) | Event::Resized(inode, _) => {
                self.files.entry(*inode).or_default().later.push(event.clone());
            }
            Event::Synced(inode) => {
                let file = self.files.entry(*inode).or_default();
                for event in std::mem::take(&mut file.later) {
                    apply(&mut file.synced, &event, usize::MAX);
                }
            }
            Event::SyncedNames(folder) => {
                let is_in = |path: &Path| path.parent() == Some(folder);
                let changes = std::mem::take(&mut self.changes);
                let (now, later) = changes.into_iter().partition(|(path, _)| is_in(path));
                self.changes = later;
                name(&mut self.names, now);
            }
        }
    }

    /// Lays out below `into` what is left of the directory `of` after a cut now.
    ///
    /// # Panics
    /// If a file cannot be written.
    pub fn lay(&self, of: &Path, into: &Path, unsynced: Unsynced) {
        let mut random = match unsynced {
            Unsynced::Random(seed) => Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            _ => Random(1),
        };
        let (mut names, mut changes) = (self.names.clone(), self.changes.clone());
        match unsynced {
            Unsynced::Lost => changes.clear(),
            Unsynced::Kept => {}
            // File systems keep the order of changes of names.
            Unsynced::Random(_) => changes.truncate(random.below(changes.len() + 1)),
        }
        name(&mut names, changes);
        fs::create_dir_all(into).expect("a folder");
        for (path, inode) in names {
            let Ok(inner) = path.strip_prefix(of) else { continue };
            let laid = into.join(inner);
            let Some(inode) = inode else {
                // It is in a directory whose own name is lost, unless its parent is there.
                let _ = fs::create_dir(&laid);
                continue;
            };
            let file = &self.files[&inode];
            let mut content = file.synced.clone();
            for event in &file.later {
                match unsynced {
                    Unsynced::Lost => {}
                    Unsynced::Kept => apply(&mut content, event, usize::MAX),
                    Unsynced::Random(_) => match random.below(4) {
                        0 => {}
                        1 => apply(&mut content, event, random.below(9) * SECTOR_BYTES),
                        _ => apply(&mut content, event, usize::MAX),
                    },
                }
            }
            if laid.parent().is_some_and(Path::is_dir) {
                fs::write(&laid, content).expect("laid out");
            }
        }
    }
}

fn name(
    names: &mut BTreeMap<PathBuf, Option<Inode>>,
    changes: Vec<(PathBuf, Option<Option<Inode>>)>,
) {
    for (path, what) in changes {
        match what {
            Some(what) => names.insert(path, what),
            None => names.remove(&path),
        };
    }
}

/// Changes the content of a file, by at most `most` bytes of a write.
fn apply(content: &mut Vec<u8>, event: &Event, most: usize) {
    match event {
        Event::Wrote(_, at, bytes) => {
            let bytes = &bytes[..bytes.len().min(most)];
            let end = at + bytes.len();
            content.resize(content.len().max(end), 0);
            content[*at..end].copy_from_slice(bytes);
        }
        Event::Resized(_, length) if most > 0 => content.resize(*length, 0),
        _ => {}
    }
}

/// A generator of Marsaglia, "Xorshift RNGs" (2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(events: &[Event], unsynced: Unsynced) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut disk = Disk::default();
        events.iter().for_each(|event| disk.happen(event));
        let folder = tempfile::tempdir().expect("a folder");
        disk.lay(Path::new("/d"), folder.path(), unsynced);
        let entries = fs::read_dir(folder.path()).expect("listed").flatten();
        let of_entry = |entry: fs::DirEntry| (entry.path(), fs::read(entry.path()).expect("read"));
        let named = |(path, text): (PathBuf, _)| {
            (path.strip_prefix(folder.path()).expect("below").to_owned(), text)
        };
        entries.map(of_entry).map(named).collect()
    }

    #[test]
    fn only_what_was_synced_is_left_for_certain() {
        let mut reader = Reader::default();
        for call in [
            r#"openat(AT_FDCWD</>, "\x2f\x64\x2f\x61", O_RDWR|O_CREAT, 0600) = 3<\x2f\x64\x2f\x61>"#,
            r#"write(3<\x2f\x64\x2f\x61>, "\x61\x62", 2) = 2"#,
            r"fsync(3<\x2f\x64\x2f\x61>) = 0",
            r#"pwrite64(3<\x2f\x64\x2f\x61>, "\x63", 1, 0) = 1"#,
            r#"write(1<\x70>, "\x6f\x6b", 2) = 2"#,
        ] {
            reader.read("1", call);
        }
        let mut events = reader.events;
        assert!(matches!(&events[4], Event::Said(text) if text == "ok"), "{events:?}");
        let file = |text: &str| BTreeMap::from([(PathBuf::from("a"), text.as_bytes().to_vec())]);
        assert_eq!(left(&events, Unsynced::Lost), BTreeMap::new(), "its name was not synced");
        assert_eq!(left(&events, Unsynced::Kept), file("cb"));
        events.push(Event::SyncedNames("/d".into()));
        assert_eq!(left(&events, Unsynced::Lost), file("ab"));
        let random = (0..50).map(|seed| left(&events, Unsynced::Random(seed)));
        assert_eq!(random.collect::<std::collections::BTreeSet<_>>().len(), 2);
        events.push(Event::Removed("/d/a".into()));
        assert_eq!(left(&events, Unsynced::Lost), file("ab"));
        assert_eq!(left(&events, Unsynced::Kept), BTreeMap::new());
    }
}
