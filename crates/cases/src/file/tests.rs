use measure::Refusal;
use measure::survey::survey;
use measure::time::Clock;

use super::*;

#[test]
fn a_trial_takes_as_long_as_its_files() {
    let of = |pairs: &[(&str, &str)]| {
        takes(&pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
    };
    assert_eq!(of(&[("files", "1000"), ("size", "0")]), Duration::from_millis(100));
    assert!(of(&[("files", "1000"), ("size", "128k")]) > of(&[("files", "1000"), ("size", "64k")]));
    assert!(
        of(&[("files", "100"), ("size", "4k"), ("sync", "file")])
            > of(&[("files", "100"), ("size", "4k"), ("sync", "none")])
    );
    let _ = (Clock::monotonic(), survey().len(), Refusal::Failed(String::new()));
}
