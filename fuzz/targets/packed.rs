//! A store comes from anybody: its packed results, rounds and figures. The first octet says which, the next two a length or a checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;
use results::CaseResult;
use results::store::fuzzing::{
    lines_again, repacked, results_again, unpacked_lines, unpacked_results,
};

fuzz_target!(|data: &[u8]| {
    let [kind, low, high, bytes @ ..] = data else { return };
    let number = u16::from_le_bytes([*low, *high]);
    match kind % 4 {
        0 => {
            if let Some(results) = unpacked_results(bytes, number.into()) {
                let text = serde_json::to_string(&results).expect("results can be written");
                assert_eq!(results_again(&text).as_ref(), Some(&results));
            }
        }
        // Few inputs have the checksum; the others must not panic or take memory.
        1 => drop(unpacked_lines(bytes, number.into())),
        2 => {
            if let Some(again) = repacked(bytes) {
                assert!(again.len() <= bytes.len());
                assert_eq!(repacked(&again).as_ref(), Some(&again));
            }
        }
        _ => {
            let Ok(text) = std::str::from_utf8(bytes) else { return };
            if let Some(results) = results_again(text) {
                let plain: Vec<CaseResult> = serde_json::from_str(text).expect("these results");
                assert_eq!(results, plain);
            }
            assert_eq!(lines_again(text), text);
        }
    }
});
