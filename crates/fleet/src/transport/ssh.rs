//! Nodes as hosts of OpenSSH: its own program with the user's configuration and keys, and never a question.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Attempt, BIN, Transport, program, script_to_place};
use crate::binary::Binary;
use crate::exchange::{Ended, Halt, Input, SHORT_OUTPUT, exchange};
use crate::failure::{Failure, last_lines};

/// Time limit for copying the program.
const COPY: Duration = Duration::from_secs(600);
/// OpenSSH's own failure; other codes are those of the remote command.
const OF_SSH: i32 = 255;

/// Hosts that OpenSSH reaches.
#[derive(Debug)]
pub struct Ssh {
    /// The command `ssh` with options.
    command: Vec<String>,
}

impl Ssh {
    /// Uses this command, `ssh` with options of the user.
    pub fn new(command: &[String]) -> Self {
        Self { command: command.to_vec() }
    }

    /// The command for a host, without time limits.
    fn base(&self, extra: &[&str]) -> Result<Command, Failure> {
        let (name, options) = self
            .command
            .split_first()
            .ok_or_else(|| Failure::lasting("--ssh names no command", "omit it, or name ssh"))?;
        let file =
            if name.contains(['/', '\\']) { name.into() } else { program(name, "openssh-client")? };
        let mut command = Command::new(file);
        // Messages are recognised in this language only.
        command.args(options).args(extra).env("LC_ALL", "C");
        Ok(command)
    }

    /// Time limits for what the user's configuration does not limit: of the connection, and of silence of the host.
    fn limits(&self, node: &str) -> Result<Vec<String>, Failure> {
        let mut command = self.base(&["-G", "--", node])?;
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
        let output = output.map_err(|e| Failure::lasting(format!("ssh: {e}"), "install it"))?;
        let settings = String::from_utf8_lossy(&output.stdout).to_lowercase();
        let is_set = |name: &str| {
            let value =
                settings.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            value.is_some_and(|value| !matches!(value, "none" | "0"))
        };
        let mut limits = Vec::new();
        if !is_set("connecttimeout") {
            limits.push("ConnectTimeout=10");
        }
        if !is_set("serveraliveinterval") {
            limits.extend(["ServerAliveInterval=15", "ServerAliveCountMax=4"]);
        }
        Ok(limits.into_iter().flat_map(|limit| ["-o".to_owned(), limit.to_owned()]).collect())
    }
}

impl Transport for Ssh {
    fn acquire(&self, _attempt: &mut Attempt<'_>) -> Result<String, Halt> {
        Ok(String::new())
    }

    fn shell(&self, node: &str, _grant: &str, script: &str) -> Result<Command, Failure> {
        let limits = self.limits(node)?;
        let mut command = self.base(&["-T", "-o", "BatchMode=yes"])?;
        command.args(limits).arg("--").arg(node);
        // The user's login shell there may not be sh(1).
        command.arg(format!("sh -c '{script}'"));
        Ok(command)
    }

    fn copy(&self, attempt: &mut Attempt<'_>, grant: &str, binary: &Binary) -> Result<(), Halt> {
        let script = format!(
            "umask 077; d=\"{BIN}\"; mkdir -p \"$d\" || exit 1; p=\"$d/part.{}.$$\"; \
             cat >\"$p\" || {{ rm -f \"$p\"; exit 1; }}; {}",
            attempt.node,
            script_to_place(binary)
        );
        let file = File::open(&binary.file);
        let file = file.map_err(|e| {
            Failure::lasting(format!("{}: {e}", binary.file.display()), "--binary FILE")
        })?;
        let (command, began) = (self.shell(attempt.node, grant, &script)?, Instant::now());
        let (is_stopped, node) = (attempt.is_stopped, attempt.node);
        let mut watch = || {
            let late =
                Failure::passing("copying oscost there took too long", "look at the network");
            match is_stopped() {
                true => Some(Halt::Stopped),
                false => (began.elapsed() > COPY).then_some(Halt::Failed(late)),
            }
        };
        let ended =
            exchange(command, Input::File(file), SHORT_OUTPUT, &mut |_| Ok(()), &mut watch)?;
        match ended.code {
            Some(0) => Ok(()),
            _ => Err(self.failure(node, grant, &ended).into()),
        }
    }

    fn failure(&self, node: &str, _grant: &str, ended: &Ended) -> Failure {
        let said = last_lines(&ended.errors);
        match ended.code {
            Some(OF_SSH) => of_ssh(&self.command, node, &ended.errors),
            None => {
                Failure::passing(format!("a signal ended ssh: {said}"), "fleet resume tries again")
            }
            Some(0) => Failure::passing(
                format!("ssh ended with exit code 0, but no result came: {said}"),
                "fleet resume tries again",
            ),
            Some(code) if said.is_empty() => Failure::passing(
                format!("what measured there ended with exit code {code}"),
                "fleet resume continues it",
            ),
            Some(_) => Failure::of_text(&ended.errors),
        }
    }
}

/// The failure that OpenSSH reports with these messages (ssh(1), and strerror(3) of connect(2)).
fn of_ssh(command: &[String], node: &str, errors: &str) -> Failure {
    let said = last_lines(errors);
    let words = command.iter().map(String::as_str).chain([node]);
    let ssh = shlex::try_join(words).unwrap_or_else(|_| format!("ssh {node}"));
    let is = |words: &[&str]| words.iter().any(|word| errors.contains(word));
    if is(&["IDENTIFICATION HAS CHANGED"]) {
        return Failure::lasting(
            "host key mismatch: the host's key is not the known one",
            format!("find out why; if the host was installed anew: ssh-keygen -R {node}"),
        );
    }
    if is(&["Host key verification failed", "key is known for"]) {
        return Failure::lasting(
            "no host key is known for this host",
            format!("compare and accept its key once: {ssh}"),
        );
    }
    if is(&["Permission denied ("]) {
        return Failure::lasting(
            format!("no permission to log in: {said}"),
            format!("let it accept a key without a question: ssh-copy-id {node}"),
        );
    }
    if is(&["Could not resolve hostname", "Bad owner or permissions", "Bad configuration option"]) {
        return Failure::lasting(said, "correct the name, or ssh's configuration");
    }
    if is(&[
        "Connection timed out",
        "Operation timed out",
        "timed out during banner exchange",
        "not responding",
    ]) {
        return Failure::passing(
            format!("the host does not answer: {said}"),
            format!("look whether it is up: {ssh} true"),
        );
    }
    Failure::passing(
        format!("ssh has no connection: {said}"),
        format!("look at the host and the network: {ssh} true"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_ssh_become_reasons() {
        for (errors, reason, again) in [
            (
                "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.\n",
                "host key mismatch",
                false,
            ),
            (
                "No ED25519 host key is known for a and you have requested strict checking.\nHost key verification failed.\n",
                "no host key is known",
                false,
            ),
            ("root@a: Permission denied (publickey).\n", "no permission to log in", false),
            ("ssh: connect to host a port 22: Connection timed out\n", "does not answer", true),
            ("Timeout, server a not responding.\n", "does not answer", true),
            (
                "ssh: connect to host a port 22: Connection refused\n",
                "no connection: ssh: connect",
                true,
            ),
            ("ssh: Could not resolve hostname a: Name or service not known\n", "resolve", false),
        ] {
            let failure =
                of_ssh(&["ssh".to_owned(), "-F".to_owned(), "my file".to_owned()], "a", errors);
            assert!(failure.reason.contains(reason), "{failure:?}");
            assert_eq!(failure.again, again, "{failure:?}");
            // What is proposed is tried with the user's own options.
            let remedy = &failure.remedy;
            assert!(!remedy.contains("ssh ") || remedy.contains("ssh -F 'my file' a"), "{remedy}");
        }
    }
}
