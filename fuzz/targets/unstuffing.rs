//! A message after DATA may hold anything, in any pieces. The first octet says how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::data::{stuffed, to_wire, too_long};
use smtp::unstuffing::Unstuffing;

/// The message, and the number of octets up to its end; `None` if it goes on.
fn read_all(bytes: &[u8], piece: usize) -> (Vec<u8>, Option<usize>) {
    let (mut unstuffing, mut message, mut before) = (Unstuffing::default(), Vec::new(), 0);
    for piece in bytes.chunks(piece) {
        if let Some(used) = unstuffing.feed(piece, |some| message.extend_from_slice(some)) {
            return (message, Some(before + used));
        }
        before += piece.len();
    }
    (message, None)
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let (message, end) = read_all(bytes, bytes.len().max(1));
    let (in_pieces, end_in_pieces) = read_all(bytes, usize::from(*piece).max(1));
    assert_eq!(end_in_pieces, end);
    assert!(in_pieces == message && message.len() <= bytes.len());
    if let Some(end) = end {
        // Nothing but CR LF . CR LF ends a message, also at its beginning.
        let begins = [b"\r\n", &bytes[..end]].concat();
        assert_eq!(memchr::memmem::find(&begins, b"\r\n.\r\n"), Some(begins.len() - 5));
    }
    // What is sent arrives, and nothing after it.
    let wire = to_wire(bytes);
    assert_eq!(to_wire(&wire), wire);
    let mut sent = Vec::new();
    stuffed(&wire, &mut sent);
    let length = sent.len();
    sent.extend_from_slice(b"QUIT\r\n");
    assert_eq!(read_all(&sent, usize::from(*piece).max(1)), (wire.clone(), Some(length)));
    if let Some(long) = too_long(&wire) {
        let line = wire.split(|byte| *byte == b'\n').nth(long.line - 1).expect("a line");
        assert_eq!(line.strip_suffix(b"\r").unwrap_or(line).len(), long.octets);
    }
});
