//! Opens pages in Chromium, as their readers do.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Path of Chromium on Debian.
const CHROMIUM: &str = "/usr/bin/chromium";

fn script() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser/check.js")
}

/// Whether pages can be opened here; says so where not.
pub fn is_missing() -> bool {
    if cfg!(windows) {
        testing::not_applicable("the browser is driven by programs of Linux");
        return true;
    }
    let packages = script().with_file_name("node_modules/puppeteer-core");
    let is_there = packages.exists() && Path::new(CHROMIUM).exists();
    testing::skip_unless(is_there, "needs Chromium and the packages of tests/browser")
}

/// Fails with all that is wrong with these pages: an array as `check.js` takes it.
pub fn check(pages: &Value) {
    let checked = Command::new("node")
        .arg(script())
        .arg(pages.to_string())
        .arg(CHROMIUM)
        .output()
        .expect("node");
    let [out, err] = [&checked.stdout, &checked.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(checked.status.success(), "{out}{err}");
}
