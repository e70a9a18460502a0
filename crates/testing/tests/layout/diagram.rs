//! The diagram of crates in ARCHITECTURE.md against the manifests.
//!
//! A line of the diagram is a crate's name, indented by two columns for each step, and what it is for; the next line
//! may be an arrow with the crates that it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// A crate of the workspace, by the name of its directory.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Package {
    /// The crates of the workspace that it is built with.
    pub uses: BTreeSet<String>,
    /// Those that only its tests use.
    pub tests_use: BTreeSet<String>,
}

/// The crates of the workspace below `root`, as cargo knows them.
pub fn packages(root: &Path) -> BTreeMap<String, Package> {
    let cargo = std::env::var_os("CARGO").expect("cargo runs this test");
    let command = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output =
        Command::new(cargo).args(command).current_dir(root).output().expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    packages_of(&serde_json::from_slice(&output.stdout).expect("JSON from cargo metadata"))
}

fn packages_of(metadata: &Value) -> BTreeMap<String, Package> {
    let directory = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    let of_one = |package: &Value| {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let name = directory(manifest.trim_end_matches("/Cargo.toml"));
        let mut known = Package::default();
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let Some(path) = dependency["path"].as_str() else { continue };
            let for_tests = dependency["kind"] == "dev";
            let used = if for_tests { &mut known.tests_use } else { &mut known.uses };
            used.insert(directory(path));
        }
        (name, known)
    };
    packages.iter().map(of_one).collect()
}

/// A crate as the diagram has it.
#[derive(Debug, PartialEq, Eq)]
struct Drawn {
    name: String,
    step: usize,
    uses: BTreeSet<String>,
}

/// The first code block of `text`, read as the diagram.
fn drawn(text: &str) -> Vec<Drawn> {
    let block = text.lines().skip_while(|line| !line.starts_with("```")).skip(1);
    let mut all: Vec<Drawn> = Vec::new();
    for line in block.take_while(|line| !line.starts_with("```")) {
        let indented = line.len() - line.trim_start().len();
        let mut words = line.split_whitespace();
        match (words.next(), all.last_mut()) {
            (Some("->"), Some(last)) => last.uses = words.map(str::to_owned).collect(),
            (Some(name), _) => {
                let (name, uses) = (name.to_owned(), BTreeSet::new());
                all.push(Drawn { name, step: indented / 2, uses });
            }
            _ => {}
        }
    }
    all
}

/// What differs between the diagram in `text` and the real packages, in sentences.
pub fn differences(text: &str, packages: &BTreeMap<String, Package>) -> Vec<String> {
    let drawn = drawn(text);
    let mut found = Vec::new();
    let names: Vec<&str> = drawn.iter().map(|one| one.name.as_str()).collect();
    for name in packages.keys() {
        let times = names.iter().filter(|drawn| *drawn == name).count();
        if times != 1 {
            found.push(format!("{name} is in the diagram {times} times"));
        }
    }
    for (at, one) in drawn.iter().enumerate() {
        let Some(package) = packages.get(&one.name) else {
            found.push(format!("there is no crate {}", one.name));
            continue;
        };
        if one.uses != package.uses {
            let real: Vec<&str> = package.uses.iter().map(String::as_str).collect();
            found.push(format!("{} uses: -> {}", one.name, real.join(" ")));
        }
        for used in one.uses.iter().filter(|used| names[..at].contains(&used.as_str())) {
            found.push(format!("{} uses {used}, which stands above it", one.name));
        }
        let users = drawn.iter().filter(|user| user.uses.contains(&one.name));
        let step = users.map(|user| user.step + 1).max().unwrap_or(0);
        if one.step != step {
            let (name, is) = (&one.name, one.step);
            found.push(format!("{name} is indented {is} steps, its users make that {step}"));
        }
        // A test must not need what is built on the crate under test: cargo allows it, but the two then exist twice.
        for used in &package.tests_use {
            let is_above = names[..at].contains(&used.as_str());
            if is_above {
                found.push(format!("tests of {} use {used}, which stands above it", one.name));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GOOD: &str = "text\n```\ntop      the program\n         -> middle low\n  middle what it is for\n         \
                        -> low\n    low  the lowest\n```\n";

    fn packages() -> BTreeMap<String, Package> {
        let package = |uses: &[&str]| Package {
            uses: uses.iter().map(|&name| name.to_owned()).collect(),
            ..Package::default()
        };
        let all = [("top", package(&["middle", "low"])), ("middle", package(&["low"]))];
        let mut all = BTreeMap::from(all.map(|(name, package)| (name.to_owned(), package)));
        all.insert("low".to_owned(), package(&[]));
        all
    }

    #[test]
    fn a_diagram_that_is_right_has_no_differences() {
        assert_eq!(differences(GOOD, &packages()), Vec::<String>::new());
    }

    #[test]
    fn a_crate_that_is_not_drawn_or_does_not_exist_is_found() {
        let found = differences(&GOOD.replace("low  the", "new  the"), &packages()).join("\n");
        assert!(found.contains("low is in the diagram 0 times"), "{found}");
        assert!(found.contains("there is no crate new"), "{found}");
    }

    #[test]
    fn an_arrow_that_is_wrong_is_found() {
        let found = differences(&GOOD.replace("-> middle low", "-> middle"), &packages());
        assert_eq!(found, ["top uses: -> low middle"]);
    }

    #[test]
    fn a_wrong_indentation_is_found() {
        let found = differences(&GOOD.replace("    low", "  low"), &packages());
        assert_eq!(found, ["low is indented 1 steps, its users make that 2"]);
    }

    #[test]
    fn a_dependency_that_points_upwards_is_found() {
        let mut packages = packages();
        packages.get_mut("low").expect("it is there").uses.insert("middle".to_owned());
        let text = GOOD.replace("low  the lowest\n", "low  the lowest\n-> middle\n");
        let found = differences(&text, &packages).join("\n");
        assert!(found.contains("low uses middle, which stands above it"), "{found}");
        packages.insert("low".to_owned(), Package::default());
        packages.get_mut("low").expect("it is there").tests_use.insert("top".to_owned());
        let found = differences(GOOD, &packages);
        assert_eq!(found, ["tests of low use top, which stands above it"]);
    }

    #[test]
    fn packages_are_known_by_their_directories() {
        let dependency =
            |path: &str, kind: Option<&str>| json!({"name": "x", "path": path, "kind": kind});
        let metadata = json!({"packages": [{
            "name": "program",
            "manifest_path": "/w/crates/top/Cargo.toml",
            "dependencies": [
                dependency("/w/crates/low", None),
                dependency("/w/crates/testing", Some("dev")),
                {"name": "serde", "kind": null},
            ],
        }]});
        let found = packages_of(&metadata);
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let top = Package { uses: set("low"), tests_use: set("testing") };
        assert_eq!(found, BTreeMap::from([("top".to_owned(), top)]));
    }
}
