//! A server of HTTP may send anything, in any pieces. The first octet says how long the pieces of chunked content are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serving::http::{Chunked, Delimited, ReplyHead};

/// The data of chunked content, and whether it is complete; `None` if it is malformed.
fn read_chunks(bytes: &[u8], piece: usize) -> Option<(Vec<u8>, bool)> {
    let (mut chunked, mut kept, mut data) = (Chunked::default(), Vec::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        kept.extend_from_slice(piece);
        let (used, is_over) = chunked.read(&kept, |now| data.extend_from_slice(now)).ok()?;
        kept.drain(..used);
        if is_over {
            return Some((data, true));
        }
    }
    Some((data, false))
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let Ok(Some(head)) = ReplyHead::find(bytes) else { return };
    assert!(!(100..200).contains(&head.status) || head.status == 101);
    assert!(head.closes || head.content != Delimited::Close);
    let (own, content) = bytes.split_at(head.length);
    assert_eq!(ReplyHead::find(own), Ok(Some(head)));
    assert_eq!(ReplyHead::find(&own[..own.len() - 1]), Ok(None));
    let whole = read_chunks(content, content.len().max(1));
    assert_eq!(read_chunks(content, usize::from(*piece).max(1)), whole);
});
