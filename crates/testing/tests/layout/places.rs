//! What is done in one place.

use std::collections::BTreeSet;

use super::{before_tests, root, rust_files};

/// Words that only these files may use, for what other files then do through them.
const ONLY_IN: &[(&[&str], &[&str])] = &[
    // Names of temporary files are random, and recorded. The others measure in that directory, or name it.
    (
        &["temp_dir(", "\"TMPDIR\"", "mkstemp", "mkdtemp"],
        &[
            "crates/platform/src/cleanup/record.rs",
            "crates/platform/src/cleanup/directory.rs",
            "crates/systems/src/state.rs",
            "crates/systems/src/launcher/gvisor.rs",
            "crates/systems/src/launcher/uml.rs",
            "crates/catalog/src/case.rs",
            "crates/areas/primitives/src/syscall/unnamed_file.rs",
        ],
    ),
    // Results and notes pass the filter of control characters. The others write for programs: workers, agents, servers.
    (
        &["println!", "print!", "stdout()", "stderr()"],
        &[
            "crates/command/src/output.rs",
            "crates/command/src/progress.rs",
            "crates/areas/mail/mail/src/command/progress.rs",
            "crates/platform/src/process.rs",
            "crates/runner/src/worker.rs",
            "crates/cli/src/commands/agent.rs",
            "crates/cli/src/commands/fleet.rs",
            "crates/areas/own/src/time/worker.rs",
            "crates/serving/src/hosted.rs",
            "crates/measure/src/worker_group.rs",
            "crates/areas/primitives/src/partner.rs",
            "crates/loops/src/calls.rs",
            // First steps.
            "crates/cli/src/args.rs",
            // Tests' own.
            "crates/rehearsal/src/lib.rs",
        ],
    ),
];

#[test]
fn some_things_are_done_in_one_place() {
    let mut found = BTreeSet::new();
    for (path, text) in rust_files("crates") {
        let is_program = path.contains("/src/") && !path.contains("/src/bin/");
        let is_of_tests = path.ends_with("tests.rs") || path.contains("/tests/");
        if !is_program || is_of_tests || path.starts_with("crates/testing/") {
            continue;
        }
        let code = before_tests(&text).join("\n");
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            for (words, files) in ONLY_IN {
                let word = words.iter().find(|word| line.contains(*word));
                if let Some(word) = word.filter(|_| !files.contains(&path.as_str())) {
                    found.insert(format!("{path}: {word}"));
                }
            }
        }
    }
    assert_eq!(found, BTreeSet::new());
    for path in ONLY_IN.iter().flat_map(|(_, files)| *files) {
        assert!(root().join(path).is_file(), "{path} is gone");
    }
}
