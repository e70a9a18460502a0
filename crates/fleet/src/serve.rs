//! The part of a job on a node: it locks the node, measures into a store of its own, and returns the document.

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use platform::file::private;
use platform::process::hosted;
use results::{Document, JOB_TAG, NODE_TAG, Store, StoreError, to_json};

use crate::failure::{Failure, last_lines};
use crate::lock::{Holder, NodeLock, Owner, Record, own_holders};
use crate::order::{Act, Message, Order};

/// Maximum length of an order.
const ORDER_AT_MOST: u64 = 1 << 20;
/// Time between two looks at what is awaited. Each takes CPU time from the measurement, so there are few.
const LOOK: Duration = Duration::from_millis(500);
/// How long a run may take to end after it was asked to: it stores the round in progress.
const GRACE: Duration = Duration::from_secs(20);
/// The exit code of `oscost run` for wrong usage.
const WRONG_USAGE: i32 = 2;
/// How much of the run's messages is read.
const LOG_AT_MOST: u64 = 64 << 10;

/// Reads an order from `input`, executes it, and writes messages to `output`. A lost connection does not end a run: its
/// document stays in the job's directory, where a later order finds it.
///
/// # Errors
/// If the input has no order.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    input.take(ORDER_AT_MOST).read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line).map_err(io::Error::other)?;
    let mut say = |message: Message| {
        // Nobody may listen any more.
        let _ = message.write(output);
    };
    let said = match (directory(&order), order.act) {
        (Err(failure), _) => Message::Failed(failure),
        (Ok(directory), Act::End) => end(&order, &directory),
        (Ok(directory), Act::Measure) => {
            measure(&order, &directory, &mut say).unwrap_or_else(Message::Failed)
        }
    };
    say(said);
    Ok(())
}

/// The directory of what is kept on this node.
fn cache() -> Result<PathBuf, Failure> {
    let of =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
    let Some(cache) = cache else {
        return Err(Failure::lasting("the user has no home directory there", "set HOME there"));
    };
    Ok(cache.join("oscost"))
}

/// The directory of the job on this node: nodes may share a home directory.
fn directory(order: &Order) -> Result<PathBuf, Failure> {
    Ok(cache()?.join("fleet").join(&order.job).join(&order.node))
}

/// The directory of the records of runs.
fn records() -> Result<PathBuf, Failure> {
    Ok(cache()?.join("holders"))
}

/// The file whose presence asks the job to end on this node.
fn stop_file(directory: &Path) -> PathBuf {
    directory.join("stop")
}

fn measure(
    order: &Order,
    directory: &Path,
    say: &mut dyn FnMut(Message),
) -> Result<Message, Failure> {
    let of_directory = |error: io::Error| Failure::of_io(&directory.display().to_string(), &error);
    private::create_directories(directory).map_err(of_directory)?;
    match fs::remove_file(stop_file(directory)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(of_directory(error)),
        _ => {}
    }
    let records = records()?;
    let this = Holder::this_process(&order.job, &order.node, &order.by);
    let record = Record::write(&records, &this);
    let _record = record.map_err(|e| Failure::of_io(&records.display().to_string(), &e))?;
    let Some(lock) = lock(order, directory, &records, say)? else { return Ok(Message::Ended) };
    say(Message::Begun);
    let store = directory.join("store.sqlite");
    let begun = match stored(&store)? {
        Stored::Finished(document) => return Ok(in_parts(&document, say)),
        Stored::Begun(id) => Some(id),
        Stored::Nothing => None,
    };
    let log = directory.join("run.log");
    let ended = execute(order, directory, begun.as_deref(), &lock, &log)?;
    if ended == Ended::Stopped {
        return Ok(Message::Ended);
    }
    if let Stored::Finished(document) = stored(&store)? {
        return Ok(in_parts(&document, say));
    }
    let mut said = Vec::new();
    let read = File::open(&log).and_then(|file| file.take(LOG_AT_MOST).read_to_end(&mut said));
    read.map_err(of_directory)?;
    let said = String::from_utf8_lossy(&said);
    Err(match ended {
        Ended::Late => Failure::lasting(
            format!("the time limit of {} s for a node's run was over", order.limit.as_secs()),
            "fleet resume continues it; --limit gives it more",
        ),
        Ended::By(status) => {
            let failure =
                Failure::of_text(&format!("the run ended with {status}: {}", last_lines(&said)));
            // Wrong usage, such as a directory that is not there, stays wrong.
            Failure { again: failure.again && status.code() != Some(WRONG_USAGE), ..failure }
        }
        Ended::Stopped => Failure::passing("it was stopped", "fleet resume continues it"),
    })
}

/// Says a document but for the message that ends it, which is returned.
fn in_parts(document: &str, say: &mut dyn FnMut(Message)) -> Message {
    Message::parts(document).for_each(say);
    Message::Document { bytes: document.len() as u64 }
}

/// Waits for the lock of this node; `None` if the job was stopped meanwhile.
fn lock(
    order: &Order,
    directory: &Path,
    records: &Path,
    say: &mut dyn FnMut(Message),
) -> Result<Option<NodeLock>, Failure> {
    let (began, mut told) = (Instant::now(), None);
    loop {
        if let Some(lock) = NodeLock::take().map_err(|error| of_lock(&error))? {
            return Ok(Some(lock));
        }
        let Some(owner) = Owner::find(records).map_err(|error| of_lock(&error))? else { continue };
        if stop_file(directory).exists() {
            return Ok(None);
        }
        // An earlier order of this job may still be under way here, and will leave the result.
        let is_own = matches!(&owner, Owner::Known(by) if by.is_of(&order.job, &order.node));
        let words = owner.in_words();
        let patience = if is_own { order.limit + GRACE } else { order.wait };
        if began.elapsed() >= patience {
            return Err(Failure::passing(
                format!("the node is held by {words}"),
                "fleet resume tries again; --wait gives it more time",
            ));
        }
        if told.as_ref() != Some(&words) {
            say(Message::Waiting { holder: words.clone() });
            told = Some(words);
        }
        std::thread::sleep(LOOK);
    }
}

/// The failure of the question who has the lock.
fn of_lock(error: &io::Error) -> Failure {
    let reason = format!("the node's lock, an address of AF_UNIX sockets: {error}");
    Failure::lasting(reason, "permit such sockets there")
}

enum Stored {
    /// The document of the run.
    Finished(String),
    Begun(String),
    Nothing,
}

/// What the store of the job on this node has: at most one run.
fn stored(path: &Path) -> Result<Stored, Failure> {
    let failed = |error: StoreError| Failure::of_text(&error.to_string());
    let store = match Store::open_read_only(path) {
        Err(StoreError::Missing { .. }) => return Ok(Stored::Nothing),
        other => other.map_err(failed)?,
    };
    let runs = store.runs().map_err(failed)?;
    let Some(run) = runs.last() else { return Ok(Stored::Nothing) };
    if run.finished.is_none() {
        return Ok(Stored::Begun(run.id.clone()));
    }
    let document: Document = store.document(&run.id).map_err(failed)?;
    Ok(Stored::Finished(to_json(&document)))
}

#[derive(PartialEq, Eq)]
enum Ended {
    By(std::process::ExitStatus),
    Late,
    Stopped,
}

/// Runs `oscost run` to its end, or until the job is stopped or its time is over. It ends with this process.
fn execute(
    order: &Order,
    directory: &Path,
    begun: Option<&str>,
    lock: &NodeLock,
    log: &Path,
) -> Result<Ended, Failure> {
    let failed = |error: io::Error| Failure::of_io("starting the run", &error);
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.arg("run");
    match begun {
        Some(id) => command.args(["--resume", id]),
        None => command
            .args(&order.arguments)
            .args(["--tag", &format!("{JOB_TAG}={}", order.job)])
            .args(["--tag", &format!("{NODE_TAG}={}", order.node)]),
    };
    command.arg("--store").arg(directory.join("store.sqlite"));
    // The run has the lock as long as any of its processes lives.
    command.stdin(lock.for_child().map_err(failed)?).stdout(Stdio::null());
    command.stderr(private::create(log).map_err(|error| Failure::of_io("run.log", &error))?);
    let mut child = hosted::spawn(command, &platform::cpu::allowed(), None).map_err(failed)?;
    let began = Instant::now();
    let mut asked: Option<(Instant, Ended)> = None;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(asked.map_or(Ended::By(status), |(_, why)| why));
        }
        match &asked {
            None if stop_file(directory).exists() => asked = Some((Instant::now(), Ended::Stopped)),
            None if began.elapsed() >= order.limit => asked = Some((Instant::now(), Ended::Late)),
            Some((since, _)) if since.elapsed() >= GRACE => {
                child.kill().map_err(failed)?;
                hosted::in_group(child.id()).into_iter().for_each(hosted::kill);
            }
            _ => {}
        }
        lock.answer();
        if asked.as_ref().is_some_and(|(since, _)| since.elapsed() < LOOK) {
            hosted::ask_group_to_end(child.id());
        }
        std::thread::sleep(LOOK);
    }
}

/// Ends what the job runs on this node, and waits until it has ended.
fn end(order: &Order, directory: &Path) -> Message {
    if !directory.is_dir() {
        return Message::Ended;
    }
    if let Err(error) = private::create(&stop_file(directory)) {
        return Message::Failed(Failure::of_io("the request to stop", &error));
    }
    let records = match records() {
        Ok(records) => records,
        Err(failure) => return Message::Failed(failure),
    };
    let began = Instant::now();
    loop {
        let owner = match Owner::find(&records) {
            Ok(owner) => owner,
            Err(error) => return Message::Failed(of_lock(&error)),
        };
        let mut own = own_holders(&records);
        own.retain(|by| by.is_of(&order.job, &order.node));
        // What a killed process had started may take a moment to end.
        let left = owner.filter(Owner::has_ended);
        let Some(last) = own.first().cloned().map(Owner::Known).or(left) else {
            return Message::Ended;
        };
        if began.elapsed() > 2 * GRACE {
            return Message::Failed(Failure::passing(
                format!("it did not end: {}", last.in_words()),
                "fleet stop again",
            ));
        }
        // What does not look at the request, such as a stopped process, is killed, and its run with it.
        if began.elapsed() > GRACE + 4 * LOOK {
            own.iter().for_each(Holder::kill);
        }
        std::thread::sleep(LOOK);
    }
}
