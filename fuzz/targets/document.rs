//! Documents come from anybody, and are shown and exported.
#![no_main]

use libfuzzer_sys::fuzz_target;
use results::{TEXT_FORMATS, parse_document, to_json};

fuzz_target!(|text: &str| {
    match parse_document(text) {
        Ok(document) => {
            assert_eq!(document.check(), Ok(()));
            let written = to_json(&document);
            let again = parse_document(&written).expect("what is exported can be imported");
            assert_eq!(to_json(&again), written);
            for format in TEXT_FORMATS {
                (format.write)(&document);
            }
        }
        Err(error) => {
            assert!((1..=text.split('\n').count()).contains(&error.line), "{error}");
            assert!(!error.message.contains(char::is_control), "{error:?}");
        }
    }
});
