//! A small study: figures, verdicts by runs, and mistakes in its file.

mod files;
mod verdicts;

use results::{CaseResult, Document};
use simulated::{document_on as document, result};

use super::*;
use crate::claim::{ClaimVerdict, FileError};

const SMALL: &str = r#"
name = "s"
title = "t"
question = "q"
source = "o"
[sizes]
n = ["1", "2"]
[[measure]]
cases = ["lock/futex"]
params = { workers = ["$n"] }
[[table]]
title = "t"
rows-are = "r"
columns = [{ title = "c" }]
[[table.row]]
title = "r"
published = ["1"]
point = { case = "lock/futex", params = { workers = "$n" } }
[[claim]]
name = "c"
sentence = "s"
a = { case = "lock/futex", params = { workers = "$n" } }
relation = "value < 1 us"
[[about]]
claim = "c"
"#;

/// A study of the areas of tests.
fn parse(text: &str, size: Size) -> Result<Study, FileError> {
    simulated::areas::install();
    Study::parse(text, size)
}

/// The time of `lock/futex` by one worker.
fn futex(ns: f64) -> CaseResult {
    result("lock/futex", &[("workers", "1")], "time", "ns/op", ns)
}

fn verdict(study: &Study, runs: &[Document], claim: &str) -> ClaimVerdict {
    let judged = StudyFindings::of(study, runs).claims;
    judged.into_iter().find(|judged| judged.claim.name == claim).unwrap().verdict
}
