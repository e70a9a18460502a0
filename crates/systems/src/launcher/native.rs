//! `native`: the agent is a process of this system.

use std::process::Command;

use super::{AGENT, Argument, Launch, Launcher, Runs, Starting};
use crate::error::SystemError;
use crate::options::{OptionSpec, Settings};

/// The launcher.
#[derive(Debug)]
pub struct Native;

impl Launcher for Native {
    fn name(&self) -> &'static str {
        "native"
    }

    fn about(&self) -> &'static str {
        "this system"
    }

    fn needs(&self) -> &'static str {
        "nothing"
    }

    fn argument(&self) -> Option<Argument> {
        None
    }

    fn options(&self) -> &'static [OptionSpec] {
        &[]
    }

    fn runs(&self, _settings: &Settings) -> Runs {
        Runs::ThisProgram
    }

    fn check(&self, _settings: &Settings) -> Result<(), SystemError> {
        Ok(())
    }

    fn launch(&self, start: &mut Starting) -> Result<Launch, SystemError> {
        let mut command = Command::new(start.own_binary()?);
        command.arg(AGENT);
        Ok(Launch::of(command))
    }
}
