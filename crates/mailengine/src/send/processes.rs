//! A process for each connection, forked for it. It asks the desk over a pair of sockets, a line of JSON for each
//! question and each answer.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use platform::children::{self, Fork};
use platform::readiness::{Interest, Readiness, Ready};
use serde::{Deserialize, Serialize};

use super::blocking::{Call, converse};
use super::desk::{Answer, Ask, Assignment, Office, Work};
use super::maker::Maker;
use super::tally::{Carried, Told};
use super::threads::call;
use super::{Plan, SendError, source};
use crate::smtp::session::{Fate, Outcome, Phase, Trouble};

/// When no process can be had, none is asked for so long.
const REST: Duration = Duration::from_millis(50);
/// A child that has closed its line has nothing more to do.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// How much is taken in at once from a child.
const BUFFER: usize = 16 * 1024;

/// What a child tells.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    /// It asks; there is an answer if the desk gives one.
    Ask(Ask),
    /// It is done, and has carried this.
    Done(Told),
    /// The delivery cannot go on.
    Failed(String),
}

/// A child, as its parent sees it.
struct Child {
    line: UnixStream,
    assignment: Assignment,
    heard: Vec<u8>,
    /// Whom it has in hand: places, and whether the message is being sent to them.
    in_hand: Vec<(u32, bool)>,
    has_asked: bool,
    is_closed: bool,
}

/// Carries a delivery out.
pub fn carry(plan: &Plan, office: &Office) -> Result<Carried, SendError> {
    let cannot = |e| SendError::System("a process for each connection", e);
    children::reap_by_handler().map_err(cannot)?;
    let mut parent = Parent {
        plan,
        office,
        maker: Maker::new(plan, Maker::same(plan)?),
        readiness: Readiness::new().map_err(cannot)?,
        children: Vec::new(),
        open: 0,
        made: 0,
        carried: Carried::default(),
    };
    office.wakes(parent.readiness.waker().map_err(cannot)?);
    parent.run()?;
    // What they spent is known of those only that were waited for.
    let until = Instant::now() + ENDS_WITHIN;
    while children::running() > 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(parent.carried)
}

struct Parent<'a> {
    plan: &'a Plan,
    office: &'a Office,
    maker: Maker<'a>,
    readiness: Readiness,
    children: Vec<Option<Child>>,
    open: usize,
    made: usize,
    carried: Carried,
}

impl Parent<'_> {
    fn run(&mut self) -> Result<(), SendError> {
        let mut ready: Vec<Ready> = Vec::new();
        loop {
            let work = self.office.desk().desk().work(self.plan);
            let wait = match work {
                Work::Connect(assignment) => {
                    self.start(assignment)?;
                    Duration::ZERO
                }
                Work::Wait(wait) => wait,
                Work::Done => {
                    if self.office.is_stopped() {
                        self.leave_idle()?;
                    }
                    if self.open == 0 {
                        return Ok(());
                    }
                    REST
                }
            };
            let waited = self.readiness.wait(Some(wait), &mut ready);
            waited.map_err(|e| SendError::System("waiting for processes", e))?;
            for ready in &ready {
                self.hear(ready.number)?;
            }
        }
    }

    fn start(&mut self, mut assignment: Assignment) -> Result<(), SendError> {
        let source = source(&self.plan.sources, self.made, assignment.address);
        let call = call(&assignment, source);
        match self.fork(&call) {
            Ok(line) => {
                let number = self.children.iter().position(Option::is_none);
                let number = number.unwrap_or(self.children.len());
                if number == self.children.len() {
                    self.children.push(None);
                }
                let watched = self.readiness.watch(&line, number, Interest::Read);
                watched.map_err(|e| SendError::System("waiting for processes", e))?;
                let (heard, in_hand) = (Vec::new(), Vec::new());
                let (has_asked, is_closed) = (false, false);
                let child = Child { line, assignment, heard, in_hand, has_asked, is_closed };
                self.children[number] = Some(child);
                self.open += 1;
                self.made += 1;
            }
            Err(_) => {
                // It is our own shortage: the server is not to blame.
                self.carried.shortages += 1;
                self.office.ask(self.plan, &mut assignment, Ask::Closed(None))?;
                std::thread::sleep(REST);
            }
        }
        Ok(())
    }

    /// Forks; gives the parent its end of the line.
    fn fork(&mut self, call: &Call) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        match children::fork()? {
            Fork::Parent => {
                ours.set_nonblocking(true)?;
                Ok(ours)
            }
            Fork::Child => {
                drop(ours);
                be_child(self.plan, call, &mut self.maker, &theirs);
                children::exit();
            }
        }
    }

    /// Takes in what a child says, and answers.
    fn hear(&mut self, number: usize) -> Result<(), SendError> {
        let Some(child) = self.children.get_mut(number).and_then(Option::as_mut) else {
            return Ok(());
        };
        let mut buffer = [0; BUFFER];
        match child.line.read(&mut buffer) {
            Ok(bytes) if bytes > 0 => child.heard.extend_from_slice(&buffer[..bytes]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(());
            }
            Ok(_) | Err(_) => return self.gone(number),
        }
        while let Some(child) = self.children[number].as_mut()
            && let Some(end) = child.heard.iter().position(|&byte| byte == b'\n')
        {
            let line: Vec<u8> = child.heard.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Word::Ask(ask)) => {
                    child.has_asked = true;
                    child.is_closed |= matches!(ask, Ask::Closed(_));
                    child.takes_note(&ask);
                    let answer = self.office.ask(self.plan, &mut child.assignment, ask)?;
                    if let Some(answer) = answer {
                        if let Answer::Begin(places) = &answer {
                            child.in_hand.extend(places.iter().map(|&place| (place, false)));
                        }
                        // A child that takes no answer has gone, which is seen next.
                        let _ = write_line(&mut &child.line, &answer);
                    }
                }
                Ok(Word::Done(told)) => self.carried.hear(&told),
                Ok(Word::Failed(why)) => {
                    let error = io::Error::other(why);
                    return Err(SendError::System("a process for a connection", error));
                }
                Err(e) => return Err(SendError::System("a process for a connection", e.into())),
            }
        }
        Ok(())
    }

    /// Nothing more begins: children that wait for a server which has nothing of ours are not waited for. They end
    /// with this process, or when they next ask something.
    fn leave_idle(&mut self) -> Result<(), SendError> {
        for number in 0..self.children.len() {
            let child = self.children[number].as_ref();
            if child.is_some_and(|child| !child.has_asked) {
                self.gone(number)?;
            }
        }
        Ok(())
    }

    /// A child has ended. If it did not say so, what it had in hand is somebody else's now.
    fn gone(&mut self, number: usize) -> Result<(), SendError> {
        let Some(mut child) = self.children[number].take() else { return Ok(()) };
        self.readiness.forget(&child.line, number);
        self.open -= 1;
        if child.is_closed {
            return Ok(());
        }
        let why = "the process for the connection ended";
        let assignment = &mut child.assignment;
        // Told apart: a server that leaves some of a transaction for another takes no more at a time.
        for (sending, fate) in [(true, Fate::Uncertain), (false, Fate::Again)] {
            let of_them = child.in_hand.iter().filter(|(_, is_sending)| *is_sending == sending);
            let outcomes = of_them.map(|&(place, _)| Outcome { place, fate, why: why.into() });
            self.office.ask(self.plan, assignment, Ask::Settled(outcomes.collect()))?;
        }
        self.office.ask(self.plan, assignment, Ask::Closed(Some(lost(why))))?;
        Ok(())
    }
}

impl Child {
    /// Keeps in mind whom it has in hand.
    fn takes_note(&mut self, ask: &Ask) {
        match ask {
            Ask::Delivering(places) => {
                for (place, is_sending) in &mut self.in_hand {
                    *is_sending |= places.contains(place);
                }
            }
            Ask::Settled(outcomes) => self
                .in_hand
                .retain(|(place, _)| outcomes.iter().all(|outcome| outcome.place != *place)),
            Ask::Next | Ask::Closed(_) => {}
        }
    }
}

/// The child's part: one connection.
fn be_child(plan: &Plan, call: &Call, maker: &mut Maker, line: &UnixStream) {
    let mut answers = BufReader::new(line);
    let mut carried = Carried::default();
    let broken = |e: io::Error| SendError::System("the line to the desk", e);
    let told = converse(
        plan,
        call,
        maker,
        &mut carried,
        || false,
        |ask| {
            let is_answered = matches!(ask, Ask::Delivering(_) | Ask::Next);
            write_line(&mut &*line, &Word::Ask(ask)).map_err(broken)?;
            if !is_answered {
                return Ok(None);
            }
            let mut text = String::new();
            answers.read_line(&mut text).map_err(broken)?;
            serde_json::from_str(&text).map(Some).map_err(|e| broken(e.into()))
        },
    );
    let last = match told {
        Ok(()) => Word::Done(carried.told()),
        Err(e) => Word::Failed(e.to_string()),
    };
    let _ = write_line(&mut &*line, &last);
}

fn write_line(line: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(what)?;
    text.push(b'\n');
    line.write_all(&text)
}

/// What is told of a connection whose end nobody saw.
fn lost(why: &str) -> Trouble {
    Trouble { phase: Phase::Idle, why: why.into(), is_login: false }
}
