//! Makes points of the user's own functions and commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cases::op;
use cases::op::library::{checksum, file_name};
use cases::order::{NameOrder, WorkerOrder};
use cases::time;
use measure::Params;
use measure::user_code::{CommandLine, LibraryFile, UserCode};

use crate::launch::output_of;
use crate::plan::{PlanError, Point};

/// Time limit for loading a library and asking it for its name.
const NAMING_LIMIT: Duration = Duration::from_secs(5);

/// A point for the function in each of these libraries, which may use `memory` bytes. A worker asks each library for the
/// function's name. A function without a name is named after its file; its rounds will show the reason.
///
/// # Errors
/// If a file cannot be read, or two functions have the same name.
pub fn functions(paths: &[PathBuf], memory: u64) -> Result<Vec<(Point, UserCode)>, PlanError> {
    let mut paths_by_name: BTreeMap<String, String> = BTreeMap::new();
    let mut points = Vec::new();
    for path in paths {
        let library = library_at(path, memory)?;
        let name = name_of(&library).unwrap_or_else(|| file_name(&library.path));
        let shown = path.display().to_string();
        if let Some(first) = paths_by_name.insert(name.clone(), shown.clone()) {
            return Err(PlanError::SameName { name, first, second: shown });
        }
        let params = Params::from([(op::NAME.to_owned(), name)]);
        let point = Point { case: op::CASE_NAME.to_owned(), params };
        points.push((point, UserCode::Library(library)));
    }
    Ok(points)
}

fn library_at(path: &Path, memory: u64) -> Result<LibraryFile, PlanError> {
    let bad = |problem: String| PlanError::Library { path: path.display().to_string(), problem };
    let full = std::path::absolute(path).map_err(|e| bad(e.to_string()))?;
    let checksum = checksum(&full).map_err(|e| bad(e.to_string()))?;
    let path = full.to_str().ok_or_else(|| bad("its name is not UTF-8".to_owned()))?.to_owned();
    Ok(LibraryFile { path, checksum, memory })
}

/// The name that a library gives its function; `None` if the library cannot be loaded, crashes or hangs.
fn name_of(library: &LibraryFile) -> Option<String> {
    let order = NameOrder { library: library.clone(), parent: std::process::id() };
    let never = AtomicBool::new(false);
    let output = output_of(&mut WorkerOrder::Name(order).command(), NAMING_LIMIT, &never)?;
    output.lines().next().map(str::to_owned)
}

/// A point for each of these commands, with the parameters that distinguish them.
pub fn commands(commands: Vec<(Params, CommandLine)>) -> Vec<(Point, UserCode)> {
    let point = |params| Point { case: time::CASE_NAME.to_owned(), params };
    let points =
        commands.into_iter().map(|(params, command)| (point(params), UserCode::Command(command)));
    points.collect()
}
