//! The page that compares oscost with older suites names only existing cases.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn every_case_named_in_the_page_of_peers_exists() {
    areas::install();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/peers.md");
    let text = std::fs::read_to_string(page).expect("docs/peers.md");
    let areas: BTreeSet<&str> = areas::AREAS.iter().map(|area| area.name).collect();
    let quoted = text.split('`').skip(1).step_by(2);
    let named: BTreeSet<&str> = quoted
        .filter(|name| name.split_once('/').is_some_and(|(area, _)| areas.contains(area)))
        .collect();
    assert!(named.len() > 50, "the page names only {}", named.len());
    let unknown: Vec<_> = named.iter().filter(|name| catalog::find(name).is_none()).collect();
    assert!(unknown.is_empty(), "these do not exist: {unknown:?}");
}
