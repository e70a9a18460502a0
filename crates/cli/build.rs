//! Links a program without relocations.

use std::env::var;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| {
        var(name).is_ok_and(|own| own.split(',').any(|part| part == value))
    };
    // Each round is a process: position-independent code would relocate 60,000 pointers in 350 pages in each. The static program
    // has its own linker and flags.
    if is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && !is("CARGO_CFG_TARGET_FEATURE", "crt-static")
    {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
