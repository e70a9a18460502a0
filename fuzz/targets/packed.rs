//! A store comes from anybody: its packed texts, rounds and figures. The first octet says which, the next two a length or a checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;
use results::store::fuzzing::{lines_again, repacked, text_again, unpacked, unpacked_lines};

fuzz_target!(|data: &[u8]| {
    let [kind, low, high, bytes @ ..] = data else { return };
    let number = u16::from_le_bytes([*low, *high]);
    match kind % 4 {
        0 => {
            if let Some(text) = unpacked(bytes, number.into()) {
                assert_eq!(text.len(), usize::from(number));
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
            assert_eq!(text_again(text), text);
            assert_eq!(lines_again(text), text);
        }
    }
});
