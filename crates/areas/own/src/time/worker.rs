//! The worker that runs commands, one after the other: a small process, so that they start quickly and as if from a shell.

use std::fs::File;
use std::io::{BufRead, ErrorKind, PipeWriter, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use measure::CaseError;
use platform::process::command::{Exit, adopt_orphans, found_in_path, run};
use platform::process::inherited::null_device;

use super::order::{Order, Output, Reply, Run, Settings, in_words};
use catalog::worker::{Task, read_order};

/// Executes the orders that it reads from standard input, line by line, until its end.
pub const COMMANDS: Task = Task { name: "commands", run: |order| serve(&read_order(order)?) };

fn serve(settings: &Settings) -> Result<(), CaseError> {
    platform::process::end_with_parent(settings.parent);
    platform::process::end_children_with_me();
    adopt_orphans();
    let runner = Runner::new(settings)?;
    let mut replies = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let reply = runner.execute(&read_order(&line?)?);
        let reply = serde_json::to_string(&reply).expect("a reply has only plain values");
        writeln!(replies, "{reply}").and_then(|()| replies.flush())?;
    }
    Ok(())
}

/// Starts commands with the input and output of the settings.
struct Runner<'a> {
    settings: &'a Settings,
    input: File,
    output: Sink<'a>,
}

/// Where the commands' output goes.
enum Sink<'a> {
    Null(File),
    Pipe(PipeWriter),
    Inherit,
    File(&'a std::path::Path),
}

impl<'a> Runner<'a> {
    fn new(settings: &'a Settings) -> Result<Self, CaseError> {
        let opened = |path: &std::path::Path, file: std::io::Result<File>| {
            file.map_err(|e| CaseError::Failed(format!("{}: {e}", path.display())))
        };
        let null = || null_device().map_err(|e| CaseError::Failed(e.to_string()));
        let input = match settings.input.as_deref() {
            Some(path) => opened(path, File::open(path))?,
            None => null()?,
        };
        let output = match &settings.output {
            Output::Null => Sink::Null(null()?),
            Output::Pipe => Sink::Pipe(discarding()?),
            Output::Inherit => Sink::Inherit,
            Output::File(path) => Sink::File(path),
        };
        Ok(Self { settings, input, output })
    }

    fn execute(&self, order: &Order) -> Reply {
        let mut runs = Vec::with_capacity(order.runs);
        let end = (0..order.runs).try_for_each(|_| {
            if runs.last().is_some_and(|run: &Run| {
                run.exit == Exit::TimeLimit || order.stops_at_failure && !run.succeeded()
            }) {
                return Ok(());
            }
            self.off_the_clock(&order.before, "--prepare", order)?;
            runs.push(self.run(&order.words, order)?);
            self.off_the_clock(&order.after, "--conclude", order)
        });
        Reply { runs, end }
    }

    fn run(&self, words: &[String], order: &Order) -> Result<Run, CaseError> {
        let mut command = self.command(words)?;
        let limit = Duration::from_millis(order.limit_ms);
        Ok(run(&mut command, self.settings.counting.into(), limit)?.into())
    }

    /// Runs what prepares or follows a run, which must succeed.
    fn off_the_clock(
        &self,
        words: &[String],
        option: &str,
        order: &Order,
    ) -> Result<(), CaseError> {
        if words.is_empty() {
            return Ok(());
        }
        match self.run(words, order)?.exit {
            Exit::Code(0) => Ok(()),
            exit => Err(CaseError::Failed(format!(
                "the command of {option} {}; --show-output shows what it prints",
                in_words(exit)
            ))),
        }
    }

    fn command(&self, words: &[String]) -> Result<Command, CaseError> {
        // The search for the program is not part of the time.
        let command = found_in_path(words);
        let mut command =
            command.ok_or_else(|| CaseError::Failed("the command is empty".to_owned()))?;
        // Each run reads the input from its beginning.
        let input: Stdio = match &self.settings.input {
            Some(path) => File::open(path)?.into(),
            None => self.input.try_clone()?.into(),
        };
        let [output, errors]: [Stdio; 2] = match &self.output {
            Sink::Null(file) => [file.try_clone()?.into(), file.try_clone()?.into()],
            Sink::Pipe(pipe) => [pipe.try_clone()?.into(), pipe.try_clone()?.into()],
            Sink::Inherit => [std::io::stderr().into(), std::io::stderr().into()],
            Sink::File(path) => {
                let file = File::create(path)
                    .map_err(|e| CaseError::Failed(format!("{}: {e}", path.display())))?;
                [file.try_clone()?.into(), file.into()]
            }
        };
        command.stdin(input).stdout(output).stderr(errors);
        Ok(command)
    }
}

/// A pipe that a thread reads, and whose content is discarded.
fn discarding() -> Result<PipeWriter, CaseError> {
    let (mut reader, writer) = std::io::pipe()?;
    std::thread::Builder::new().spawn(move || {
        let mut part = vec![0; 64 << 10];
        loop {
            match reader.read(&mut part) {
                Ok(0) => return,
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    })?;
    Ok(writer)
}
