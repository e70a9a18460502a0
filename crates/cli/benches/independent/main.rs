//! Compares oscost's figures with plain loops that share no code with it.
//!
//!     cargo bench -p oscost --bench independent [-- [FILTER...|--lengths] [--on SYSTEM...] [--turns N] [--list] [--json FILE]]
//!
//! Each operation is written twice: in `crates/areas`, and in `crates/loops` from the text that `oscost list --long` prints, by
//! nothing but calls of the C library and a clock. Both are measured in turn on the same CPUs, on this system or in each that
//! `--on` names. A ratio beyond 5 % here or 15 % there whose cause is not in `explanations.toml` makes the exit code 1.
//! docs/peers.md says how to read the table.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
use linux::main as compare;

#[cfg(not(target_os = "linux"))]
fn compare() -> std::process::ExitCode {
    eprintln!(
        "independent: the plain loops are calls of Linux; nothing is compared on this system"
    );
    std::process::ExitCode::SUCCESS
}

fn main() -> std::process::ExitCode {
    compare()
}
