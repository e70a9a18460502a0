//! Plain loops in another system: an agent there that runs them as asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{bail, ensure};
use loops::Ask;
use loops::agent::{Reply, Request};
use loops::answer::Answer;
use loops::calls::cpus_allowed;
use loops::operation::Operation;
use loops::{child, operations, win32};
use systems::{Running, System, SystemsFile};

use crate::linux::figure::static_program;

/// Time besides its length after which the agent ends a loop, by the system's clock.
const ENDS_WITHIN: Duration = Duration::from_secs(60);
/// Time after which this process gives an agent up that does not answer: an emulated machine's clock may be slow.
const ANSWERS_WITHIN: Duration = Duration::from_secs(180);

/// Name of the launcher whose programs are those of Windows.
const WINE: &str = "wine";

/// A system, and an agent in it once it was asked.
pub struct Inside {
    system: System,
    agent: Option<Agent>,
}

struct Agent {
    running: Running,
    input: Box<dyn Write + Send>,
    replies: Receiver<Reply>,
}

impl Inside {
    /// The system that `text` names, as for `oscost run --on`, with the program of plain loops in place of oscost.
    ///
    /// # Errors
    /// If it names none, or the program is not built.
    pub fn new(text: &str) -> anyhow::Result<Self> {
        let system = System::parse(text, &SystemsFile::find(None)?)?;
        let program = match system.launcher() {
            WINE => static_program(
                "OSCOST_LOOPS_EXE",
                "windows/x86_64-win7-windows-gnu/release/plain-loops.exe",
                "scripts/windows-build --release -p oscost-loops",
            ),
            _ => static_program("OSCOST_LOOPS", "static/plain-loops", "scripts/static-loops"),
        };
        let system = system.with_binary(&program?);
        system.check()?;
        Ok(Self { system, agent: None })
    }

    /// The operations of which there are loops in the system.
    pub fn operations(&self) -> Box<dyn Iterator<Item = &'static Operation>> {
        match self.system.launcher() {
            WINE => Box::new(win32::all()),
            _ => Box::new(operations::all()),
        }
    }

    /// Name of the system.
    pub fn name(&self) -> &str {
        self.system.name()
    }

    /// Name and placement of the system, and whether its processor is emulated, for a heading.
    pub fn heading(&self) -> String {
        let placement = self.system.placement().map(|placement| format!(", {placement}"));
        let emulated = self.system.emulated().map(|reason| format!(" (emulated: {reason})"));
        format!("{}{}{}", self.name(), placement.unwrap_or_default(), emulated.unwrap_or_default())
    }

    /// Runs a loop in the system. The system is started if it does not run, and ended if it does not answer.
    ///
    /// # Errors
    /// If the system cannot be started or does not answer, or the reason of the loop.
    pub fn run(&mut self, ask: &Ask) -> anyhow::Result<Answer> {
        ensure!(!child::is_interrupted(), "interrupted");
        let mut agent = match self.agent.take() {
            Some(agent) => agent,
            None => Agent::start(&self.system)?,
        };
        let limit = ask.length + ask.warm_up;
        let request = Request { ask: ask.clone(), limit: limit + ENDS_WITHIN };
        writeln!(agent.input, "{request}").and_then(|()| agent.input.flush())?;
        let answer = match agent.reply(limit + ANSWERS_WITHIN)? {
            Reply::Ended(ended) => ended,
            Reply::Ready => bail!("the system has started again"),
        };
        // The end of a run under Wine stops the server that all programs of its prefix share.
        if self.system.launcher() != WINE {
            self.agent = Some(agent);
        }
        answer.map_err(anyhow::Error::msg)
    }
}

impl Agent {
    fn start(system: &System) -> anyhow::Result<Self> {
        let mut running = system.start(&cpus_allowed(), false)?;
        let (input, replies) = (running.take_input(), replies(running.take_output()));
        let mut agent = Self { running, input, replies };
        match agent.reply(system.boot_timeout())? {
            Reply::Ready => Ok(agent),
            Reply::Ended(_) => bail!("a result that was not asked for"),
        }
    }

    fn reply(&mut self, limit: Duration) -> anyhow::Result<Reply> {
        self.replies.recv_timeout(limit).map_err(|_| {
            anyhow::anyhow!("the system does not answer: {}", self.running.last_words())
        })
    }
}

/// Starts a thread that finds replies in the output of a system until it ends.
fn replies(output: Box<dyn Read + Send>) -> Receiver<Reply> {
    let (found, replies) = channel();
    std::thread::spawn(move || {
        let (mut output, mut line) = (BufReader::new(output), Vec::new());
        while output.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            if let Some(reply) = Reply::in_line(&String::from_utf8_lossy(&line))
                && found.send(reply).is_err()
            {
                break;
            }
            line.clear();
        }
    });
    replies
}
