//! Nodes of a Slurm cluster: one job for each, which holds the node alone while steps of it measure.
//!
//! The job's script only waits, so that everything it does is started by srun(1) from here and no shared file system is needed:
//! `--bcast` delivers the program, and srun returns the document. A job is found by its name, which is known before it is
//! submitted. The exit code of srun decides nothing: it is 0 for some steps whose node was lost.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Attempt, BIN, Transport, program, script_to_place};
use crate::binary::Binary;
use crate::error::FleetError;
use crate::exchange::{Ended, Halt, Input, SHORT_OUTPUT, exchange};
use crate::failure::{Failure, last_lines};
use crate::journal::Step;

/// The package with Slurm's commands.
const PACKAGE: &str = "slurm-client";
/// Time between two questions about a job.
const LOOK: Duration = Duration::from_millis(500);
/// How long a job must have a reason that waiting does not change: right after it was submitted it may have one.
const SETTLED: Duration = Duration::from_secs(3);
/// Time limit for steps other than the measurement.
const SHORT: Duration = Duration::from_secs(600);
/// Settings that are options of sbatch(1) with the same name.
const OPTIONS: [&str; 5] = ["account", "constraint", "partition", "qos", "reservation"];

/// Settings of the jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmSettings {
    /// Options of sbatch(1), by name.
    pub options: Vec<(String, String)>,
    /// The nodes: Slurm's expression such as `n[1-3]`, or a number of nodes that can be used now; all nodes if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<String>,
}

impl SlurmSettings {
    /// Parses `partition=P nodes=LIST`.
    ///
    /// # Errors
    /// The word that is no setting, and which ones there are.
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let mut settings = Self::default();
        for word in text.split_whitespace() {
            match word.split_once('=') {
                Some(("nodes", value)) if !value.is_empty() => {
                    settings.nodes = Some(value.to_owned())
                }
                Some((name, value)) if OPTIONS.contains(&name) && !value.is_empty() => {
                    settings.options.push((name.to_owned(), value.to_owned()));
                }
                _ => {
                    return Err(FleetError::Usage(format!(
                        "--slurm {word:?} is no setting: {} or nodes, each with = and a value; what is measured is named before \
                         --slurm",
                        OPTIONS.join(", ")
                    )));
                }
            }
        }
        Ok(settings)
    }

    fn partition(&self) -> Option<&str> {
        let found = self.options.iter().find(|(name, _)| name == "partition");
        found.map(|(_, value)| value.as_str())
    }

    /// The names of the nodes.
    ///
    /// # Errors
    /// If Slurm does not answer, or has too few nodes.
    pub fn node_names(&self) -> Result<Vec<String>, FleetError> {
        if platform::IS_WINDOWS {
            return Err(FleetError::Unsupported("Slurm has no commands for Windows".to_owned()));
        }
        let refused = |failure: Failure| {
            FleetError::Unsupported(format!("{}; {}", failure.reason, failure.remedy))
        };
        let ask = |name: &str, arguments: &[&str]| {
            let text = ask(name, arguments);
            text.map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).map_err(refused)
        };
        let count = match self.nodes.as_deref().map(str::parse::<usize>) {
            Some(Err(_)) => {
                return ask(
                    "scontrol",
                    &["show", "hostnames", self.nodes.as_deref().unwrap_or_default()],
                );
            }
            Some(Ok(count)) => Some(count),
            None => None,
        };
        let partition = match self.partition() {
            Some(partition) => partition.to_owned(),
            None => {
                let all = ask("sinfo", &["-h", "-o", "%P"])?;
                let default = all.iter().find_map(|name| name.strip_suffix('*'));
                let none = || {
                    FleetError::Usage(
                        "Slurm has no default partition: --slurm partition=P".to_owned(),
                    )
                };
                default.ok_or_else(none)?.to_owned()
            }
        };
        let usable: &[&str] = if count.is_some() { &["-t", "idle,mix,alloc"] } else { &[] };
        let mut names =
            ask("sinfo", &[&["-h", "-N", "-o", "%N", "-p", &partition], usable].concat())?;
        names.dedup();
        match count {
            Some(count) if names.len() < count => Err(FleetError::Usage(format!(
                "the partition {partition} has {} nodes that can be used, not {count}",
                names.len()
            ))),
            Some(count) => Ok(names.into_iter().take(count).collect()),
            None => Ok(names),
        }
    }
}

/// The nodes of a Slurm cluster.
#[derive(Debug)]
pub struct Slurm {
    settings: SlurmSettings,
}

/// A command of Slurm, whose messages are recognised in English only.
fn command(name: &str) -> Result<Command, Failure> {
    let mut command = Command::new(program(name, PACKAGE)?);
    command.env("LC_ALL", "C").stdin(Stdio::null());
    Ok(command)
}

/// The output of a command of Slurm that succeeds.
fn ask(name: &str, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = command(name)?;
    command.args(arguments);
    answer(command)
}

/// The output of a command that succeeds.
fn answer(command: Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (mut text, began) = (String::new(), Instant::now());
    let mut line = |line: &str| {
        text.extend([line, "\n"]);
        Ok(())
    };
    let mut watch = || {
        let late = || Failure::passing(format!("{name} timed out"), "scontrol ping");
        (began.elapsed() > SHORT).then(|| late().into())
    };
    let ended = exchange(command, Input::Text(""), SHORT_OUTPUT, &mut line, &mut watch);
    let ended = ended.map_err(|halt| match halt {
        Halt::Failed(failure) => failure,
        Halt::Stopped => Failure::passing(format!("{name} was stopped"), "fleet resume"),
    })?;
    if ended.code == Some(0) {
        return Ok(text.trim().to_owned());
    }
    let said = last_lines(&ended.errors);
    let reason = format!("{name} failed: {said}");
    Err(match said.contains("Unable to contact slurm controller") || said.contains("timed out") {
        true => Failure::passing(reason, "look whether slurmctld runs: scontrol ping"),
        false => Failure::lasting(reason, "see sinfo and scontrol show partition"),
    })
}

/// State and reason of a job, as scontrol(1) shows them; `None` once Slurm has forgotten it.
fn state_of(id: &str) -> Option<(String, String)> {
    let text = ask("scontrol", &["show", "job", "-o", id]).ok()?;
    let field = |name: &str| {
        let found =
            text.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_default().to_owned()
    };
    Some((field("JobState"), field("Reason")))
}

/// The name of the job for a node, which exists before the job does.
fn name_of(job: &str, node: &str) -> String {
    format!("oscost-{job}-{node}")
}

/// The number of the unfinished job with this name, if there is one.
fn find(name: &str, states: &str) -> Result<Option<String>, Failure> {
    let text = ask("squeue", &["-h", "-o", "%i", "--name", name, "--states", states])?;
    Ok(text.lines().next().map(str::to_owned))
}

impl Slurm {
    /// Uses a cluster with these settings.
    pub fn new(settings: &SlurmSettings) -> Self {
        Self { settings: settings.clone() }
    }

    /// Submits the job that holds a node; returns its number.
    fn submit(&self, attempt: &Attempt<'_>) -> Result<String, Failure> {
        let effort = attempt.effort;
        let seconds = (effort.limit + effort.wait + SHORT).as_secs();
        let mut command = command("sbatch")?;
        command.args(["--parsable", "--nodes=1", "--exclusive", "--mem=0", "--no-requeue"]);
        command.args(["--output=/dev/null", "--error=/dev/null", "--chdir=/"]);
        command.arg(format!("--job-name={}", name_of(attempt.job, attempt.node)));
        command.arg(format!("--nodelist={}", attempt.node));
        command.arg(format!("--time={}", seconds.div_ceil(60)));
        command.args(self.settings.options.iter().map(|(name, value)| format!("--{name}={value}")));
        // The job ends with the measurement; its time limit ends it if no coordinator comes back.
        command.arg("--wrap").arg(format!("exec sleep {seconds}"));
        let text = answer(command)?;
        let id = text.lines().last().unwrap_or_default().split(';').next().unwrap_or_default();
        match !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) {
            true => Ok(id.to_owned()),
            false => Err(Failure::passing(
                format!("sbatch printed no number of a job: {text}"),
                "try sbatch",
            )),
        }
    }

    /// The command that runs a step.
    fn step(&self, node: &str, grant: &str) -> Result<Command, Failure> {
        let mut command = command("srun")?;
        command.args(["--overlap", "--nodes=1", "--ntasks=1", "--mpi=none", "--cpu-bind=none"]);
        command.args([format!("--jobid={grant}"), format!("--nodelist={node}")]);
        command.arg("--chdir=/");
        Ok(command)
    }

    /// Runs a short step; returns the lines that it printed.
    fn short_step(
        &self,
        attempt: &mut Attempt<'_>,
        grant: &str,
        command: Command,
    ) -> Result<Vec<String>, Halt> {
        let began = Instant::now();
        let mut lines = Vec::new();
        let mut watch = || match (attempt.is_stopped)() {
            true => Some(Halt::Stopped),
            false => (began.elapsed() > SHORT).then(|| {
                Halt::Failed(Failure::passing("a step of srun took too long", "see squeue -s"))
            }),
        };
        let ended = exchange(
            command,
            Input::Text(""),
            SHORT_OUTPUT,
            &mut |line| {
                lines.push(line.to_owned());
                Ok(())
            },
            &mut watch,
        )?;
        match ended.code {
            Some(0) => Ok(lines),
            _ => Err(self.failure(attempt.node, grant, &ended).into()),
        }
    }
}

impl Transport for Slurm {
    fn acquire(&self, attempt: &mut Attempt<'_>) -> Result<String, Halt> {
        let name = name_of(attempt.job, attempt.node);
        // A coordinator that was killed may have submitted it.
        let id = match find(&name, "PENDING,CONFIGURING,RUNNING")? {
            Some(id) => id,
            None => self.submit(attempt)?,
        };
        (attempt.record)(Step::Queued { id: id.clone() })?;
        let began = Instant::now();
        let mut settled: Option<Instant> = None;
        loop {
            let (state, reason) = state_of(&id).unwrap_or_default();
            match state.as_str() {
                "RUNNING" => return Ok(id),
                "PENDING" | "CONFIGURING" | "" => {}
                _ => {
                    return Err(Failure::passing(
                        format!("job {id} of Slurm ended before it began: {state} ({reason})"),
                        format!("scontrol show job {id}"),
                    )
                    .into());
                }
            }
            let is_final =
                ["ReqNodeNotAvail", "DOWN", "PartitionTimeLimit", "PartitionDown", "Invalid"]
                    .iter()
                    .any(|word| reason.contains(word));
            let since = *settled.get_or_insert_with(Instant::now);
            let late = began.elapsed() > attempt.effort.wait;
            if late || (is_final && since.elapsed() > SETTLED) {
                self.release(attempt.node, &id);
                let what = format!("Slurm does not grant the node: {reason}");
                let remedy =
                    format!("scontrol show node {}; fleet resume tries again", attempt.node);
                return Err(match is_final {
                    true => Failure::lasting(what, remedy),
                    false => Failure::passing(what, format!("{remedy}; --wait gives it more time")),
                }
                .into());
            }
            if !is_final {
                settled = None;
            }
            if (attempt.is_stopped)() {
                return Err(Halt::Stopped);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn shell(&self, node: &str, grant: &str, script: &str) -> Result<Command, Failure> {
        let mut command = self.step(node, grant)?;
        command.args(["sh", "-c", script]);
        Ok(command)
    }

    fn copy(&self, attempt: &mut Attempt<'_>, grant: &str, binary: &Binary) -> Result<(), Halt> {
        let script = format!("umask 077; d=\"{BIN}\"; mkdir -p \"$d\" && echo \"$d\"");
        let shell = self.shell(attempt.node, grant, &script)?;
        let lines = self.short_step(attempt, grant, shell)?;
        let Some(directory) = lines.last().filter(|line| line.starts_with('/')) else {
            let ended = Ended { code: Some(0), errors: String::new() };
            return Err(self.failure(attempt.node, grant, &ended).into());
        };
        // Nodes may share the directory.
        let part = format!("{directory}/part.{}.{grant}", attempt.node);
        let mut command = self.step(attempt.node, grant)?;
        command.arg(format!("--bcast={part}")).arg(&binary.file).arg("--version");
        self.short_step(attempt, grant, command)?;
        let script = format!("d=\"{directory}\"; p=\"{part}\"; {}", script_to_place(binary));
        let shell = self.shell(attempt.node, grant, &script)?;
        self.short_step(attempt, grant, shell).map(|_| ())
    }

    fn failure(&self, node: &str, grant: &str, ended: &Ended) -> Failure {
        if let Some(lost) = self.lost(node, grant) {
            return lost;
        }
        let said = last_lines(&ended.errors);
        let state = state_of(grant).map_or_else(|| "unknown".to_owned(), |(state, _)| state);
        let resume = "fleet resume continues it";
        match ended.code {
            Some(0) => Failure::passing(
                format!(
                    "srun ended with exit code 0, but no result came from the node; state of job {grant}: {state}; {said}"
                ),
                resume,
            ),
            code => {
                let failure = Failure::of_text(&ended.errors);
                let code =
                    code.map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
                match failure.again {
                    false => failure,
                    true => Failure::passing(
                        format!("srun ended with {code}; state of job {grant}: {state}; {said}"),
                        resume,
                    ),
                }
            }
        }
    }

    fn lost(&self, node: &str, grant: &str) -> Option<Failure> {
        let (state, reason) = state_of(grant)?;
        let (what, again) = match state.as_str() {
            "NODE_FAIL" | "BOOT_FAIL" => {
                (format!("the node was lost: Slurm's state of job {grant} is {state}"), false)
            }
            "CANCELLED" | "PREEMPTED" | "TIMEOUT" | "OUT_OF_MEMORY" => {
                (format!("Slurm ended job {grant}: {state} ({reason})"), state == "PREEMPTED")
            }
            _ => return None,
        };
        let remedy = format!("scontrol show node {node}; fleet resume continues when it is back");
        Some(Failure { again, ..Failure::lasting(what, remedy) })
    }

    fn release(&self, _node: &str, grant: &str) {
        // The job's time limit ends it otherwise.
        let _ = ask("scancel", &["--quiet", grant]);
    }

    fn end(&self, job: &str, node: &str) -> Result<bool, Failure> {
        let name = name_of(job, node);
        ask("scancel", &["--quiet", "--name", &name])?;
        let began = Instant::now();
        while find(&name, "PENDING,CONFIGURING,RUNNING,COMPLETING")?.is_some() {
            if began.elapsed() > SHORT {
                return Err(Failure::passing(
                    format!("Slurm does not end its job {name}"),
                    "fleet stop again",
                ));
            }
            std::thread::sleep(LOOK);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_named_with_values() {
        let settings = SlurmSettings::parse("partition=a nodes=n[1-3] qos=low").unwrap();
        assert_eq!(settings.nodes.as_deref(), Some("n[1-3]"));
        assert_eq!(settings.options[1], ("qos".to_owned(), "low".to_owned()));
        assert_eq!(settings.partition(), Some("a"));
        assert_eq!(SlurmSettings::parse("").unwrap(), SlurmSettings::default());
        for wrong in ["syscall", "partition=", "wrap=true"] {
            let error = SlurmSettings::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("is no setting: account, constraint"), "{error}");
        }
    }
}
