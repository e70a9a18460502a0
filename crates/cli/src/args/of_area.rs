//! The commands of areas.

use clap::error::ErrorKind;
use clap::{ArgMatches, Error, FromArgMatches, Subcommand};
use command::ending::Ending;

/// A command of an area, with its arguments.
#[derive(Debug)]
pub struct OfArea {
    name: String,
    arguments: ArgMatches,
}

impl OfArea {
    /// Executes the command.
    ///
    /// # Errors
    /// The reason why the command failed.
    pub fn run(&self) -> anyhow::Result<Ending> {
        let command = find(&self.name).expect("clap accepts only commands that exist");
        (command.run)(&self.arguments)
    }
}

fn find(name: &str) -> Option<&'static catalog::Command> {
    catalog::commands().find(|command| command.name == name)
}

impl FromArgMatches for OfArea {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (name, arguments) =
            matches.subcommand().ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        Ok(Self { name: name.to_owned(), arguments: arguments.clone() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for OfArea {
    fn augment_subcommands(all: clap::Command) -> clap::Command {
        catalog::commands().fold(all, |all, command| {
            all.subcommand((command.arguments)(clap::Command::new(command.name)))
        })
    }

    fn augment_subcommands_for_update(all: clap::Command) -> clap::Command {
        Self::augment_subcommands(all)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_some()
    }
}
