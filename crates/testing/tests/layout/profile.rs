//! The release profile against the manifests: the crates that measure are optimised for speed, the others for size.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagram::Package;

/// The crate with the measured operations.
const MEASURES: &str = "cases";

/// Those crates of the workspace that are optimised for speed although they do not measure, or the other way round.
pub fn differences(manifest: &str, packages: &BTreeMap<String, Package>) -> Vec<String> {
    let measured = used_by(MEASURES, packages);
    let fast: BTreeSet<&str> = manifest
        .split("[profile.release.package.")
        .skip(1)
        .filter_map(|part| part.split_once("]\n"))
        .filter(|(_, options)| options.starts_with("opt-level = 3\n"))
        .map(|(name, _)| name)
        .filter(|name| packages.contains_key(*name))
        .collect();
    let slow = measured.difference(&fast);
    let slow = slow.map(|name| format!("{name} is measured, and Cargo.toml has no opt-level = 3"));
    let large = fast.difference(&measured);
    let large = large.map(|name| format!("{name} is not measured: no opt-level is needed"));
    slow.chain(large).collect()
}

/// A crate and all that it is built with.
fn used_by<'a>(name: &'a str, packages: &'a BTreeMap<String, Package>) -> BTreeSet<&'a str> {
    let (mut found, mut open) = (BTreeSet::from([name]), vec![name]);
    while let Some(package) = open.pop().and_then(|name| packages.get(name)) {
        open.extend(package.uses.iter().map(String::as_str).filter(|used| found.insert(used)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_measure_need_speed_and_others_do_not() {
        let package = |uses: &[&str]| Package {
            uses: uses.iter().map(ToString::to_string).collect(),
            tests_use: BTreeSet::new(),
        };
        let packages = BTreeMap::from([
            ("cases".to_owned(), package(&["measure"])),
            ("measure".to_owned(), package(&["platform"])),
            ("platform".to_owned(), package(&[])),
            ("report".to_owned(), package(&["platform"])),
        ]);
        let of = |names: &[&str]| {
            let parts = names
                .iter()
                .map(|name| format!("[profile.release.package.{name}]\nopt-level = 3\n"));
            differences(&format!("[profile.release]\n{}", parts.collect::<String>()), &packages)
        };
        assert_eq!(of(&["cases", "measure", "platform", "tokio"]), [""; 0]);
        assert!(of(&["cases", "measure"])[0].starts_with("platform is measured"));
        assert!(of(&["cases", "measure", "platform", "report"])[0].starts_with("report is not"));
    }
}
