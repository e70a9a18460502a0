//! What a launcher is: a way to start an agent in a system. Each is a file in this folder.

use std::process::Command;

use crate::binary;
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings};
use crate::state::StateDirectory;

pub mod bwrap;
pub mod chroot;
pub mod command;
pub mod container;
pub mod gvisor;
pub mod qemu;
pub mod ssh;
pub mod uml;
pub mod wine;

/// The first argument of an agent.
pub const AGENT: &str = "agent";

/// What follows a launcher's name and a colon on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// The option that it is the value of.
    pub option: &'static str,
    /// As help prints it, such as `KERNEL`.
    pub syntax: &'static str,
    /// Whether the launcher needs it.
    pub required: bool,
}

/// Which oscost a system runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// This program.
    ThisProgram,
    /// The static one.
    Static,
    /// One that the user named.
    Named,
}

/// A way to start an agent in a system.
#[derive(Debug, Clone, Copy)]
pub struct Launcher {
    /// Its name.
    pub name: &'static str,
    /// What such a system is, in a few words.
    pub about: &'static str,
    /// What it needs, in a few words: Debian packages, or permissions.
    pub needs: &'static str,
    /// What follows its name on the command line.
    pub argument: Option<Argument>,
    /// Its options, besides those of all launchers.
    pub options: &'static [OptionSpec],
    /// The number of CPUs that such a system can use at most; `None` if it can use all.
    pub cpu_limit: fn(&Settings) -> Option<usize>,
    /// Which oscost it runs, unless its option `binary` names one.
    pub runs: fn(&Settings) -> Runs,
    /// Whether it runs on another machine, whose CPUs the option `cpus` then names.
    pub is_remote: bool,
    /// Why the processes of such a system are not among those that are started here, so that what they do on this machine
    /// cannot be counted; `None` if they are.
    pub elsewhere: Option<&'static str>,
    /// Checks that the programs and files that it needs are there; names the Debian package that has what is missing.
    pub check: fn(&Settings) -> Result<(), SystemError>,
    /// The command that starts the system with an agent in it; an error if what it needs cannot be created.
    pub launch: fn(&mut Starting) -> Result<Launch, SystemError>,
}

impl Launcher {
    /// Starts this program as a process of this system; the others say where they differ.
    pub const NATIVE: Self = Self {
        name: "native",
        about: "this system",
        needs: "nothing",
        argument: None,
        options: &[],
        cpu_limit: |_| None,
        runs: |_| Runs::ThisProgram,
        is_remote: false,
        elsewhere: None,
        check: |_| Ok(()),
        launch: |start| {
            let mut command = Command::new(start.own_binary()?);
            command.arg(AGENT);
            Ok(Launch::of(command))
        },
    };

    /// As [`Launcher::NATIVE`], with the static oscost.
    const STATIC: Self = Self { runs: |_| Runs::Static, ..Self::NATIVE };
}

/// A system that is being started.
pub struct Starting<'a> {
    /// Its options.
    pub settings: &'a Settings,
    /// The CPUs of the host that it may use.
    pub cpus: &'a [usize],
    /// Where to create files, and to record what else is created.
    pub state: &'a mut StateDirectory,
}

impl Starting<'_> {
    /// The oscost to start where programs of this system run.
    ///
    /// # Errors
    /// If the path of this program is unknown.
    pub fn own_binary(&self) -> Result<std::path::PathBuf, SystemError> {
        binary::own(self.settings)
    }

    /// The oscost to start where no libraries are.
    ///
    /// # Errors
    /// If there is none, with how to get one.
    pub fn static_binary(&self) -> Result<std::path::PathBuf, SystemError> {
        binary::without_libraries(self.settings)
    }
}

/// How a system is started.
#[derive(Debug)]
pub struct Launch {
    /// The command, whose standard input and output are the agent's.
    pub command: Command,
    /// Whether the system ends soon after the agent's input is closed.
    pub ends_with_input: bool,
}

impl Launch {
    /// A command that ends soon after its input is closed, as agents do.
    pub fn of(command: Command) -> Self {
        Self { command, ends_with_input: true }
    }

    /// A command that must be killed, such as a virtual machine's.
    pub fn until_killed(command: Command) -> Self {
        Self { command, ends_with_input: false }
    }
}
