//! What the commands of this program share, those of areas and those of its own: options and their values, output, endings, and
//! measuring a run with its progress.

pub mod command_line;
pub mod ending;
pub mod interrupt;
pub mod measure;
pub mod options;
pub mod output;
mod progress;
pub mod store;
pub mod values;
