//! The `oscost` command.
fn main() {}
