//! A server may send anything, in any pieces. The first octet says how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smtp::reply::{LINE_OCTETS, LINES, Malformed, Reply, ReplyReader};

fn read_all(bytes: &[u8], piece: usize) -> Vec<Result<Reply, ()>> {
    let mut reader = ReplyReader::default();
    let mut all = Vec::new();
    for mut piece in bytes.chunks(piece) {
        while !piece.is_empty() {
            let (taken, read) = reader.read(piece);
            assert!(taken > 0 && taken <= piece.len());
            piece = &piece[taken..];
            match read {
                Some(Err(fault)) => {
                    check_shown(&fault.to_string(), &fault);
                    all.push(Err(()));
                    return all;
                }
                Some(Ok(reply)) => all.push(Ok(reply)),
                None => assert!(piece.is_empty()),
            }
        }
    }
    all
}

fn check_shown(shown: &str, fault: &Malformed) {
    assert!(!shown.contains(char::is_control) && shown.len() < 1_000, "{fault:?}");
}

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let whole = read_all(bytes, bytes.len().max(1));
    assert_eq!(read_all(bytes, usize::from(*piece).max(1)), whole);
    for reply in whole.into_iter().flatten() {
        assert!((200..600).contains(&reply.code));
        assert!((1..=LINES).contains(&reply.lines.len()));
        assert!(reply.lines.iter().all(|line| line.len() <= 3 * LINE_OCTETS));
        assert!(!reply.to_string().contains(char::is_control));
        let class = reply.enhanced().map(|code| u16::from(code.as_bytes()[0] - b'0'));
        assert!(class.is_none_or(|class| class == reply.code / 100));
    }
});
