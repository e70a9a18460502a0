//! A `systems.toml`, and what `--on` names.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use systems::{System, SystemError, SystemsFile};

fuzz_target!(|text: &str| {
    match SystemsFile::parse(text, Path::new("systems.toml")) {
        Ok(file) => {
            for name in file.names() {
                let system = System::parse(name, &file).expect("a system of the file");
                assert!((0.0..=1.0).contains(&system.slow_down()));
                assert!(!name.is_empty() && !name.contains(char::is_control));
            }
        }
        Err(SystemError::File { line, column, .. }) => {
            let found = text.split('\n').nth(line.checked_sub(1).expect("lines begin with 1"));
            let found = found.expect("a line of the file");
            assert!((1..=found.chars().count() + 1).contains(&column), "{line}:{column}");
        }
        Err(error) => panic!("{error}"),
    }
    drop(System::parse(text, &SystemsFile::default()));
});
