//! An agent, or the console of its system, may send anything, in any pieces. The first octet says how long the pieces are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runner::fuzzing::frames;

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let (found, noise) = frames(bytes, bytes.len().max(1));
    assert!(!noise.contains(char::is_control) && noise.len() <= 600, "{noise:?}");
    assert_eq!(frames(bytes, usize::from(*piece).max(1)), (found, noise));
});
