//! Tells the program what it was built from: `OSCOST_TARGET`, the target triple, and `OSCOST_COMMIT`, if it is known.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=OSCOST_COMMIT");
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo:rustc-env=OSCOST_TARGET={target}");
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let named = env::var("OSCOST_COMMIT").ok().filter(|commit| !commit.is_empty());
    if let Some(commit) = named.or_else(|| packaged(&package)).or_else(|| fetched(&package)) {
        println!("cargo:rustc-env=OSCOST_COMMIT={commit}");
    }
}

/// The commit of a package from a registry: `cargo package` writes it beside the manifest.
fn packaged(package: &Path) -> Option<String> {
    let text = fs::read_to_string(package.join(".cargo_vcs_info.json")).ok()?;
    let commit = text.split("\"sha1\"").nth(1)?.split('"').nth(1)?;
    Some(commit.to_owned())
}

/// The commit of a repository that `cargo install --git` fetched, which Cargo marks by a file. In a developer's tree the commit
/// changes all the time, and would cause a build each time.
fn fetched(package: &Path) -> Option<String> {
    let root = package.ancestors().nth(2)?;
    if !root.join(".cargo-ok").is_file() {
        return None;
    }
    let git = Command::new("git").arg("-C").arg(root).args(["rev-parse", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(git.stdout).ok()?;
    git.status.success().then(|| commit.trim().to_owned())
}
