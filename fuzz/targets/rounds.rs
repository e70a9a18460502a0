//! The output of workers: in another system, or in a store that anybody filled. The first octet says of which kind of point; rounds
//! have a NUL between them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use measure::record::{Line, parse_lines};
use runner::fuzzing::{recorded_of, results_of};

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for line in parse_lines(text) {
        let written = serde_json::to_string(&line).expect("a line can be written");
        assert!(!written.contains('\n'));
        let again: Option<Line> = serde_json::from_str(&written).ok();
        assert_eq!(again.as_ref(), Some(&line), "{written}");
    }
    let rounds: Vec<&str> = text.split('\0').collect();
    drop(recorded_of(&rounds));
    simulated::areas::install();
    let case = ["clock/std-instant", "concurrency/jobs"][usize::from(kind % 2)];
    for result in results_of(case, &rounds) {
        // What is stored and exported can be imported.
        assert_eq!(result.sound().check(), Ok(()), "{result:?}");
    }
});
