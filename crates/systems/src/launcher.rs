//! Launchers: ways to start an agent in a system. Each is a file in the folder `launcher`.

use std::process::Command;

use crate::binary;
use crate::error::SystemError;
use crate::libraries::Program;
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

/// The argument of a launcher on the command line, after its name and a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Argument {
    /// The option whose value the argument is.
    pub option: &'static str,
    /// Name in the help, such as `KERNEL`.
    pub syntax: &'static str,
    /// Whether the launcher requires the argument.
    pub required: bool,
}

/// The oscost binary that a system runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// This program, whose libraries the system has.
    ThisProgram,
    /// This program with its libraries, which are brought into the system, or the static binary.
    Brought,
    /// The static binary.
    Static,
    /// A binary that the user named.
    Named,
}

/// A way to start an agent in a system.
#[derive(Debug, Clone, Copy)]
pub struct Launcher {
    /// Name.
    pub name: &'static str,
    /// The kind of system, in a few words.
    pub about: &'static str,
    /// Requirements in a few words: Debian packages, or permissions.
    pub needs: &'static str,
    /// The argument after the launcher's name on the command line.
    pub argument: Option<Argument>,
    /// Options, besides those of all launchers.
    pub options: &'static [OptionSpec],
    /// Whether processes or threads besides the measured one work for it, such as a kernel in user space or an emulator.
    pub has_helpers: bool,
    /// The oscost binary that the system runs, unless the option `binary` names one.
    pub runs: fn(&Settings) -> Runs,
    /// Whether the system is on another machine, whose CPUs the option `cpus` then names.
    pub is_remote: bool,
    /// Why the system's processes are not children of this one, so that their work on this machine cannot be counted;
    /// `None` if they are.
    pub elsewhere: Option<&'static str>,
    /// Why the processor of a system with these settings is emulated, so that its times are not the processor's; `None` if it is
    /// not, or only a start can tell. This may start the system's program for some seconds.
    pub emulated: fn(&Settings) -> Option<String>,
    /// Checks that the required programs and files exist; the error names the Debian package of a missing one.
    pub check: fn(&Settings) -> Result<(), SystemError>,
    /// The command that starts the system with an agent; an error if a file or object that it requires cannot be created.
    pub launch: fn(&mut Starting) -> Result<Launch, SystemError>,
}

impl Launcher {
    /// Starts this program as a process of this system; the base of all other launchers.
    pub const NATIVE: Self = Self {
        name: "native",
        about: "this system",
        needs: "nothing",
        argument: None,
        options: &[],
        has_helpers: false,
        runs: |_| Runs::ThisProgram,
        is_remote: false,
        elsewhere: None,
        emulated: |_| None,
        check: |_| Ok(()),
        launch: |start| {
            let mut command = Command::new(start.own_binary()?);
            command.arg(AGENT);
            Ok(Launch::of(command))
        },
    };

    /// [`Launcher::NATIVE`] with a binary that is brought into the system.
    const BRINGS: Self = Self { runs: |_| Runs::Brought, ..Self::NATIVE };
}

/// A system that is being started.
pub struct Starting<'a> {
    /// Options of the system.
    pub settings: &'a Settings,
    /// The host's CPUs that the system may use.
    pub cpus: &'a [usize],
    /// The directory for the system's files, which records everything else that the launcher creates.
    pub state: &'a mut StateDirectory,
}

impl Starting<'_> {
    /// The path of the oscost to start in a system that has this one's libraries.
    pub fn own_binary(&self) -> Result<std::path::PathBuf, SystemError> {
        binary::own(self.settings)
    }

    /// The oscost to bring into a system, with its libraries.
    ///
    /// # Errors
    /// If a file does not exist or is no program, or a library is missing.
    fn program(&self) -> Result<Program, SystemError> {
        binary::with_libraries(self.settings)
    }

    /// The path of the oscost to start in a system into which no libraries can be brought.
    ///
    /// # Errors
    /// If there is no such binary; the message says how to get one.
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
