//! Makes points of the user's functions, which workers name.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use command::ending::Usage;
use measure::user_code::UserLibrary;
use measure::{CaseError, Params};
use runner::Point;
use serde::{Deserialize, Serialize};

use super::function::{CASE, NAME};
use super::library::{OF, OpLibrary, checksum, file_name};
use catalog::worker::{Task, read_order, worker};

/// Time limit for loading a library and asking it for its name.
const NAMING_LIMIT: Duration = Duration::from_secs(10);

/// Loads a library of the user and prints the name of the library's function.
pub const NAME_LIBRARY: Task = Task { name: "name", run: |order| name(&read_order(order)?) };

/// The library to name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct NameOrder {
    library: UserLibrary,
    /// Process id of the process that gave the order: the worker ends with it.
    parent: u32,
}

/// A point for the function in each of these libraries, which may use `memory` bytes. A worker asks each library for the
/// function's name. A function without a name is named after its file; its rounds will show the reason. Builds of one function have the
/// name of the function with that of their file, or its path if these are the same too.
///
/// # Errors
/// If a file cannot be read, or is given twice.
pub fn functions(paths: &[PathBuf], memory: u64) -> Result<Vec<(Point, UserLibrary)>, Usage> {
    let mut named = Vec::new();
    for path in paths {
        let library = library_at(path, memory)?;
        let name = name_of(&library).unwrap_or_else(|| file_name(&library.path));
        named.push((name, path.display().to_string(), library));
    }
    let names: Vec<[String; 3]> = named
        .iter()
        .map(|(name, shown, library)| {
            let file = file_name(&library.path);
            [name.clone(), format!("{name}{OF}{file}"), format!("{name}{OF}{shown}")]
        })
        .collect();
    let distinct = |nth: usize| {
        let is_one = |name: &&String| names.iter().filter(|all| all.contains(name)).count() == 1;
        names[nth].iter().find(is_one)
    };
    let mut points = Vec::new();
    for (nth, (_, shown, library)) in named.into_iter().enumerate() {
        let Some(name) = distinct(nth) else {
            return Err(Usage(format!("--op {shown} is given twice")));
        };
        let params = Params::from([(NAME.to_owned(), name.clone())]);
        points.push((Point { case: CASE.label(), params }, library));
    }
    Ok(points)
}

fn library_at(path: &Path, memory: u64) -> Result<UserLibrary, Usage> {
    let bad = |problem: String| Usage(format!("--op {}: {problem}", path.display()));
    let full = std::path::absolute(path).map_err(|e| bad(e.to_string()))?;
    // A FIFO would wait for its writer for ever.
    if full.metadata().is_ok_and(|facts| !facts.is_file() && !facts.is_dir()) {
        return Err(bad("it is not a file with a shared library".to_owned()));
    }
    let checksum = checksum(&full).map_err(|e| bad(e.to_string()))?;
    let path = full.to_str().ok_or_else(|| bad("its name is not UTF-8".to_owned()))?.to_owned();
    Ok(UserLibrary { path, checksum, memory })
}

/// The name that a library gives its function; `None` if the library cannot be loaded, crashes or hangs.
fn name_of(library: &UserLibrary) -> Option<String> {
    let order = NameOrder { library: library.clone(), parent: std::process::id() };
    let never = AtomicBool::new(false);
    let mut command = worker(NAME_LIBRARY.name, &order);
    let output = runner::output_of(&mut command, NAMING_LIMIT, &never)?;
    output.lines().next().map(str::to_owned)
}

/// Prints the name of the user's function.
fn name(order: &NameOrder) -> Result<(), CaseError> {
    platform::process::end_with_parent(Some(order.parent));
    platform::process::end_children_with_me();
    let (mut out, contained) = runner::worker::contain(order.library.memory);
    contained?;
    let library = OpLibrary::load(&order.library)?;
    writeln!(out, "{}", library.name())?;
    Ok(out.flush()?)
}
