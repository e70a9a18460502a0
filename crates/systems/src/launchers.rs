//! The list of launchers.

use crate::launcher::Launcher;
use crate::launcher::{bwrap, chroot, command, container, gvisor, qemu, ssh, uml, wine};
use crate::options::{COMMON, OptionSpec};

/// All launchers, in the order of help and documents.
pub const LAUNCHERS: &[Launcher] = &[
    Launcher::NATIVE,
    command::COMMAND,
    chroot::CHROOT,
    bwrap::BWRAP,
    container::PODMAN,
    container::DOCKER,
    gvisor::GVISOR,
    uml::UML,
    qemu::QEMU,
    wine::WINE,
    ssh::SSH,
];

/// The launcher named `name`.
pub fn find(name: &str) -> Option<&'static Launcher> {
    LAUNCHERS.iter().find(|launcher| launcher.name == name)
}

/// All options of a launcher.
pub fn options_of(launcher: &Launcher) -> impl Iterator<Item = OptionSpec> {
    launcher.options.iter().chain(COMMON).copied()
}

/// A launcher, as help and documents describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// How the system is named, such as `qemu:KERNEL`.
    pub syntax: String,
    /// The kind of system.
    pub about: &'static str,
    /// Requirements.
    pub needs: &'static str,
    /// Options and their meanings.
    pub options: Vec<(&'static str, String)>,
}

/// Descriptions of all launchers, for help and documents.
pub fn descriptions() -> Vec<Description> {
    let description = |launcher: &'static Launcher| {
        let argument = match launcher.argument {
            None => String::new(),
            Some(argument) if argument.required => format!(":{}", argument.syntax),
            Some(argument) => format!("[:{}]", argument.syntax),
        };
        let options = launcher.options.iter();
        Description {
            syntax: format!("{}{argument}", launcher.name),
            about: launcher.about,
            needs: launcher.needs,
            options: options
                .map(|option| {
                    (option.name, format!("{} ({})", option.meaning, option.kind.expected()))
                })
                .collect(),
        }
    };
    LAUNCHERS.iter().map(description).collect()
}
