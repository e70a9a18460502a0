//! Nodes may print anything, a kill may cut a journal anywhere, and users write host files. The first octet says which it is.
#![no_main]

use fleet::fuzzing::{message, rows};
use fleet::{nodes_of, parse_host_file};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else { return };
    let text = &*String::from_utf8_lossy(bytes);
    match kind % 3 {
        0 => text.lines().for_each(|line| drop(message(line))),
        1 => {
            let nodes = nodes_of(&["n1", "n2"].map(str::to_owned)).expect("names");
            let all = rows(text, &nodes);
            assert_eq!(all.iter().map(|row| row.node.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
            // The rest of a line that a kill has cut changes nothing.
            let whole = text.rfind('\n').map_or("", |at| &text[..=at]);
            assert_eq!(rows(&format!("{whole}{{\"at\":\"\n"), &nodes), rows(whole, &nodes));
        }
        _ => {
            for node in parse_host_file(text).into_iter().flatten() {
                let first = node.name.chars().next().expect("a name");
                assert!(first.is_ascii_alphanumeric(), "{node:?}");
                assert!(
                    node.name.chars().all(|c| c.is_ascii_graphic() && !"/;&|`$'\"".contains(c))
                );
            }
        }
    }
});
