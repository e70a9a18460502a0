//! The names of areas, cases, parameters and metrics occur only in the folder of their area, not in other crates.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use results::PerOp;

/// All Rust files below a folder, except folders and files of tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the source tree") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// The names of `names` that occur in `code` as whole string literals.
fn literals<'a>(code: &str, names: &BTreeSet<&'a str>) -> Vec<&'a str> {
    names.iter().copied().filter(|name| code.contains(&format!("\"{name}\""))).collect()
}

#[test]
fn a_literal_is_found_and_a_longer_text_is_none() {
    let names = BTreeSet::from(["server-cpu", "reply-p99"]);
    assert_eq!(literals("let x = \"server-cpu\";", &names), ["server-cpu"]);
    assert!(literals("// server-cpu\nlet x = \"the server-cpu of\";", &names).is_empty());
}

#[test]
fn no_other_crate_has_names_of_cases_parameters_or_metrics_as_texts() {
    areas::install();
    let labels: Vec<String> = catalog::all().iter().map(|case| case.label()).collect();
    let params = catalog::all().into_iter().flat_map(|case| case.params).map(|param| param.name);
    let metrics = catalog::all().into_iter().flat_map(|case| case.metrics);
    // Names of one word, such as `rate`, also occur with other meanings.
    let others = params.chain(metrics.map(|metric| metric.name)).filter(|name| name.contains('-'));
    // Counts of the untimed pass have the same names as the metrics of whole commands.
    let counts = [PerOp::VOLUNTARY_SWITCHES, PerOp::INVOLUNTARY_SWITCHES, PerOp::PAGE_FAULTS];
    let others = others.filter(|name| !counts.contains(name));
    let names: BTreeSet<&str> = labels.iter().map(String::as_str).chain(others).collect();
    assert!(names.len() > 300, "{}", names.len());
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut copies = Vec::new();
    for package in fs::read_dir(crates).expect("the folder of crates") {
        let package = package.expect("an entry").path();
        let name = package.file_name().expect("a name").to_string_lossy().into_owned();
        // `measure` defines the metrics of its groups of workers, `simulated` areas for tests, and `loops` shares no code.
        if ["areas", "loops", "measure", "simulated"].contains(&name.as_str())
            || !package.join("src").is_dir()
        {
            continue;
        }
        let mut files = Vec::new();
        sources(&package.join("src"), &mut files);
        for file in files.iter().filter(|file| !is_module_of_tests(file)) {
            let text = fs::read_to_string(file).expect("readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let found = literals(code, &names);
            copies.extend(found.into_iter().map(|name| format!("{}: {name}", file.display())));
        }
    }
    assert!(copies.is_empty(), "{copies:#?}");
}

/// Whether the module of this file is declared for tests only.
fn is_module_of_tests(file: &Path) -> bool {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let folder = file.parent().expect("a folder");
    let parents = [folder.with_extension("rs"), folder.join("lib.rs"), folder.join("mod.rs")];
    let declared = parents.map(|parent| fs::read_to_string(parent).unwrap_or_default()).concat();
    declared.contains(&format!("#[cfg(test)]\nmod {name};"))
}
