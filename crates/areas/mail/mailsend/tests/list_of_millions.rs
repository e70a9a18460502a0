//! Memory and time of a list of five million recipients. Run this test alone, since memory is counted for the whole
//! process: `cargo test --release -p oscost-mailsend --test list_of_millions -- --ignored --nocapture`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use mailsend::list::List;

const RECIPIENTS: u32 = 5_000_000;
const DOMAINS: u32 = 200_000;
/// Maximum resident memory while the list is opened, in MB.
const WHILE_OPENING_MB: u64 = 300;
/// Maximum resident memory when the list is open, in MB.
const AFTER_MB: u64 = 200;

/// A value of this process's memory in MB, if the system reports it (proc(5)).
fn memory_mb(name: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':')
        .trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()
        .map(|kb| kb / 1_000)
}

/// The domain of a recipient: half of the recipients are in a few domains, as in real lists.
fn domain_of(n: u32) -> u32 {
    if n.is_multiple_of(2) { n / 2 % 5 } else { n / 2 % DOMAINS }
}

#[test]
#[ignore = "takes seconds, and memory is counted for the whole process"]
fn five_million_recipients_fit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.csv");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    writeln!(file, "email,name,token").unwrap();
    for n in 0..RECIPIENTS {
        let domain = domain_of(n);
        writeln!(
            file,
            "user{n}@domain{domain}.test,\"Name {n}\",{:08x}",
            n.wrapping_mul(2_654_435_761)
        )
        .unwrap();
    }
    file.flush().unwrap();
    drop(file);

    let begun = Instant::now();
    let list = List::open(&path, None).unwrap();
    let opened = begun.elapsed();
    let (peak, after) = (memory_mb("VmHWM"), memory_mb("VmRSS"));
    println!("opened in {opened:.2?}; MB at most {peak:?}, then {after:?}");
    assert_eq!((list.len(), list.deliverable()), (RECIPIENTS as usize, RECIPIENTS as usize));
    assert_eq!(list.domains(), DOMAINS as usize);

    let begun = Instant::now();
    let mut reader = list.reader();
    let mut octets = 0;
    for domain in 0..list.domains() {
        for number in list.members(domain) {
            octets += reader.record(*number).unwrap().values.as_slice().len();
        }
    }
    println!("all records read by domain in {:.2?}, {octets} octets", begun.elapsed());
    assert!(peak.is_none_or(|mb| mb < WHILE_OPENING_MB), "{peak:?}");
    assert!(after.is_none_or(|mb| mb < AFTER_MB), "{after:?}");
}
