//! A client of HTTP may send anything, in any pieces. The first octet says how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serving::http::{Event, HEAD_AT_MOST, Requests};

/// Every request, and the refusal of the last one; a client that waits for 100 may also get none.
fn read_all(bytes: &[u8], piece: usize) -> Vec<Event> {
    let (mut requests, mut kept, mut all) = (Requests::default(), Vec::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        kept.extend_from_slice(piece);
        loop {
            let (used, event) = requests.next(&kept);
            kept.drain(..used);
            match event {
                Event::Incomplete => break,
                Event::Continue => assert!(kept.is_empty() && requests.is_in_content()),
                Event::Request(_) => {
                    assert!(!requests.is_in_content());
                    all.push(event);
                }
                Event::Refused(_) => {
                    all.push(event);
                    return all;
                }
            }
        }
        assert!(kept.len() < HEAD_AT_MOST);
    }
    all
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let whole = read_all(bytes, bytes.len().max(1));
    assert_eq!(read_all(bytes, usize::from(*piece).max(1)), whole);
});
