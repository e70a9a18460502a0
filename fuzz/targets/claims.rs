//! Files of claims, and studies.
#![no_main]

use analysis::claim::{ClaimFile, FileError, judge_runs};
use analysis::study::{Size, Study};
use libfuzzer_sys::fuzz_target;

fn check(text: &str, error: &FileError) {
    let line = text.split('\n').nth(error.at.line.checked_sub(1).expect("lines begin with 1"));
    assert!(error.at.column > 0 && line.is_some(), "{error}");
    assert!(!error.problem.is_empty() && !error.problem.contains('\n'), "{error}");
}

fuzz_target!(|text: &str| {
    match ClaimFile::parse(text) {
        Ok(file) => {
            assert!(!file.claims.is_empty());
            drop(judge_runs(&file.claims, &[], false));
        }
        Err(error) => check(text, &error),
    }
    if let Err(error) = Study::parse(text, Size::Full) {
        check(text, &error);
    }
});
