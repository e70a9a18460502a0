//! `oscost completions` and `oscost man`: completion scripts and manual pages.

use std::path::Path;

use anyhow::Context;
use command::ending::{Ending, Usage};
use command::output::{note, print};

use crate::args::definition;

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> anyhow::Result<Ending> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut definition(), "oscost", &mut script);
    print(&String::from_utf8(script).context("the script is not text")?)?;
    Ok(Ending::Done)
}

/// Writes the manual pages.
pub fn man(dir: &Path) -> anyhow::Result<Ending> {
    if !dir.is_dir() {
        return Err(Usage(format!("{} is not a folder", dir.display())).into());
    }
    clap_mangen::generate_to(definition(), dir)
        .map_err(|e| Usage(format!("cannot write manual pages into {}: {e}", dir.display())))?;
    note(&format!("manual pages are in {}", dir.display()));
    Ok(Ending::Done)
}
