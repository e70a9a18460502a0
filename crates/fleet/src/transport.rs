//! Ways to start commands on nodes.

pub mod slurm;
pub mod ssh;

use std::process::Command;

use crate::binary::Binary;
use crate::durable::Arriving;
use crate::effort::Effort;
use crate::exchange::{Ended, Halt};
use crate::failure::Failure;
use crate::journal::Step;

/// What an attempt at a node has: whose it is, and what is done beside a step.
pub struct Attempt<'a> {
    /// The job.
    pub job: &'a str,
    /// The node.
    pub node: &'a str,
    /// The document that the node is asked for.
    pub document: Option<&'a mut Arriving>,
    /// Time limits of the job.
    pub effort: &'a Effort,
    /// Records a step before it is taken.
    pub record: &'a mut dyn FnMut(Step) -> Result<(), Halt>,
    /// Whether the job was stopped.
    pub is_stopped: &'a dyn Fn() -> bool,
}

/// A way to start commands on nodes.
pub trait Transport: Send + Sync {
    /// Makes a node ready for commands: waits until a scheduler grants it. Returns what identifies the grant.
    ///
    /// # Errors
    /// Why the node cannot be had.
    fn acquire(&self, attempt: &mut Attempt<'_>) -> Result<String, Halt>;

    /// The command that runs a script of sh(1) on a node, with this standard input, output and errors. The script has no single
    /// quotes.
    ///
    /// # Errors
    /// If the transport's own program is missing.
    fn shell(&self, node: &str, grant: &str, script: &str) -> Result<Command, Failure>;

    /// Copies the program to a node, complete or not at all.
    ///
    /// # Errors
    /// Why it was not copied.
    fn copy(&self, attempt: &mut Attempt<'_>, grant: &str, binary: &Binary) -> Result<(), Halt>;

    /// Why a command on a node gave no result, from its end and what the transport knows of the node.
    fn failure(&self, node: &str, grant: &str, ended: &Ended) -> Failure;

    /// Why nothing can come from a node any more while a command is under way; asked every few seconds.
    fn lost(&self, _node: &str, _grant: &str) -> Option<Failure> {
        None
    }

    /// Gives a node back after an attempt.
    fn release(&self, _node: &str, _grant: &str) {}

    /// Ends what a job has started on a node by means of the transport itself; `false` if the node must be asked.
    ///
    /// # Errors
    /// Why it could not be ended.
    fn end(&self, _job: &str, _node: &str) -> Result<bool, Failure> {
        Ok(false)
    }
}

/// The path of a program in PATH.
pub(crate) fn program(name: &str, package: &str) -> Result<std::path::PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let mut candidates = std::env::split_paths(&path).map(|directory| directory.join(&file));
    candidates.find(|path| path.is_file()).ok_or_else(|| {
        Failure::lasting(
            format!("this needs the program {name}"),
            format!("apt-get install {package}"),
        )
    })
}

/// The script that begins an order's execution: exit code 96 with the machine's name on another machine, 97 without the program.
pub(crate) fn script_to_serve(binary: &Binary) -> String {
    let Binary { hash, machine, .. } = binary;
    format!(
        "m=\"$(uname -s) $(uname -m)\"; \
         if [ \"$m\" != \"{machine}\" ]; then echo \"$m\"; exit {OTHER_MACHINE}; fi; \
         b=\"{BIN}/{hash}\"; [ -x \"$b\" ] || exit {NO_PROGRAM}; touch \"$b\"; exec \"$b\" fleet node"
    )
}

/// Directory of programs on nodes, as sh(1) expands it.
pub(crate) const BIN: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/oscost/bin";
/// Exit code of the script on a machine for which the program is not.
pub(crate) const OTHER_MACHINE: i32 = 96;
/// Exit code of the script if the program is not there.
pub(crate) const NO_PROGRAM: i32 = 97;

/// After how many days without use a program is removed from a node, when another is placed there.
const UNUSED_DAYS: u32 = 30;

/// The end of a script that installs `$p`, a part of the expected size, as the program in `$d`; removes it otherwise.
pub(crate) fn script_to_place(binary: &Binary) -> String {
    let Binary { hash, size, .. } = binary;
    // The size shows a copy that a lost connection has cut.
    format!(
        "if [ \"$(wc -c <\"$p\")\" -eq {size} ] && chmod 700 \"$p\" && mv \"$p\" \"$d/{hash}\"; then \
         find \"$d\" -maxdepth 1 -type f -mtime +{UNUSED_DAYS} -exec rm -f {{}} +; exit 0; fi; \
         rm -f \"$p\"; echo \"the copy is not complete\" >&2; exit 1"
    )
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_program_is_placed_whole_and_unused_ones_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        for (name, days) in [("unused", 32), ("used", 20)] {
            let file = std::fs::File::create(path(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(days * 86_400)).unwrap();
        }
        let binary = Binary {
            file: path("nowhere"),
            hash: "1f".to_owned(),
            size: 5,
            machine: "Linux x86_64".to_owned(),
        };
        let place = |content: &str| {
            std::fs::write(path("part"), content).unwrap();
            let variables = format!("d={}; p=$d/part; ", directory.path().display());
            let ended = Command::new("sh")
                .args(["-c", &(variables + &script_to_place(&binary))])
                .output()
                .unwrap();
            let files = std::fs::read_dir(directory.path()).unwrap().flatten();
            let mut files: Vec<_> =
                files.map(|entry| entry.file_name().into_string().unwrap()).collect();
            files.sort();
            (ended.status.code(), String::from_utf8(ended.stderr).unwrap(), files)
        };
        let (code, said, files) = place("four");
        assert_eq!((code, said.as_str()), (Some(1), "the copy is not complete\n"));
        assert_eq!(files, ["unused", "used"]);
        let (code, said, files) = place("fives");
        assert_eq!((code, said.as_str()), (Some(0), ""));
        assert_eq!(files, ["1f", "used"]);
    }
}
