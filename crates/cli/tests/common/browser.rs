//! Opens pages in Chromium, as their readers do.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::needs::CHROMIUM;

/// The script that drives Chromium.
pub fn script() -> PathBuf {
    super::of_repository("crates/cli/tests/browser/check.js")
}

/// Fails with all that is wrong with these pages: an array as `check.js` takes it.
pub fn check(pages: &Value) {
    let mut node = Command::new("node");
    let checked = super::run(node.arg(script()).arg(pages.to_string()).arg(CHROMIUM));
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
}
