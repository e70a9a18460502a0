//! The program `plain-loops` as an agent: asked over pipes, as in other systems.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use loops::Ask;
use loops::agent::{Reply, Request};
use loops::answer::Answer;

struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Agent {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_plain-loops"));
        let piped = command.arg("agent").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let mut agent = Self { child, input, output: BufReader::new(output) };
        assert_eq!(agent.reply(), Reply::Ready);
        agent
    }

    fn reply(&mut self) -> Reply {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        Reply::in_line(&line).unwrap_or_else(|| panic!("{line:?}"))
    }

    fn ask(
        &mut self,
        operation: &str,
        length: Duration,
        limit: Duration,
    ) -> Result<Answer, String> {
        let warm_up = Duration::from_millis(20);
        let ask = Ask { operation: operation.to_owned(), length, warm_up, awake: false };
        writeln!(self.input.as_mut().unwrap(), "{}", Request { ask, limit }).unwrap();
        match self.reply() {
            Reply::Ended(ended) => ended,
            Reply::Ready => panic!("a second greeting"),
        }
    }
}

const SHORT: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn an_agent_runs_loops_until_its_input_ends() {
    let mut agent = Agent::start();
    for operation in ["syscall/getppid", "process/fork-exec program=static", "file/mkdir-rmdir"] {
        let answer = agent.ask(operation, SHORT, PATIENCE).unwrap();
        assert!(answer.ns > 0.0 && !answer.readings.is_empty(), "{operation}: {answer:?}");
        assert!(answer.first[1].is_some(), "{operation}: {answer:?}");
    }
    let error = agent.ask("a/b", SHORT, PATIENCE).unwrap_err();
    assert!(error.contains("no operation is called \"a/b\""), "{error}");
    drop(agent.input.take());
    assert!(agent.child.wait().unwrap().success());
}

#[test]
fn a_loop_that_takes_too_long_is_ended_and_the_next_one_runs() {
    let mut agent = Agent::start();
    // The number identifies the processes of this loop: the measuring one and its partner.
    let length = Duration::from_millis(3_600_000_000 + u64::from(std::process::id()));
    let error = agent.ask("switch/pipe as=processes place=same", length, SHORT).unwrap_err();
    assert!(error.starts_with("has not ended within 0.04 s"), "{error}");
    let began = Instant::now();
    while runs_with(&length.as_millis().to_string()) {
        assert!(began.elapsed() < PATIENCE, "a process is left");
        std::thread::sleep(SHORT);
    }
    assert!(agent.ask("syscall/getppid", SHORT, PATIENCE).is_ok());
}

/// Whether a process has this argument.
fn runs_with(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|one| std::fs::read(one.path().join("cmdline")).ok());
    lines.any(|line| line.split(|&byte| byte == 0).any(|word| word == argument.as_bytes()))
}
