//! A client may send anything, in any pieces. The first octet says how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::command::{CommandReader, LINE_AT_MOST};

/// Every command, or what was wrong with it, as text; commands borrow what they were read from.
fn read_all(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut reader = CommandReader::default();
    let mut all = Vec::new();
    for mut piece in bytes.chunks(piece) {
        while !piece.is_empty() {
            let (taken, read) = reader.read(piece);
            assert!(taken > 0 && taken <= piece.len());
            let is_read = read.is_some();
            all.extend(read.map(|read| format!("{read:?}")));
            piece = &piece[taken..];
            assert!(is_read || piece.is_empty());
        }
    }
    all
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let whole = read_all(bytes, bytes.len().max(1));
    assert_eq!(read_all(bytes, usize::from(*piece).max(1)), whole);
    // Nothing longer than a line was kept, however it is shown.
    assert!(whole.iter().all(|read| read.len() < 16 * LINE_AT_MOST));
});
