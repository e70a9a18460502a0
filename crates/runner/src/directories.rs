//! Checks the directories that a plan measures in.

use std::path::Path;

use catalog::{TEMP, obstacle};
use platform::file::filesystem;

use crate::error::RunError;
use crate::machine::directories;
use crate::plan::{Plan, Point};

/// Checks that the directories which the user named can be written to and have room for the plan's files, before
/// anything is written. The directory for temporary files is left to each case.
///
/// # Errors
/// [`RunError::NotWritable`] or [`RunError::NoRoom`] for the first that cannot be used.
pub fn check_directories(plan: &Plan) -> Result<(), RunError> {
    for dir in directories(plan).into_iter().filter(|&dir| dir != TEMP) {
        filesystem::may_write_to(Path::new(dir))
            .map_err(|source| RunError::NotWritable { dir: dir.to_owned(), source })?;
    }
    let is_named = |point: &&Point| point.params.get("dir").is_some_and(|dir| dir != TEMP);
    match plan.points.iter().filter(is_named).find_map(|point| obstacle(&point.case, &point.params))
    {
        Some(obstacle) => Err(RunError::NoRoom(obstacle)),
        None => Ok(()),
    }
}
