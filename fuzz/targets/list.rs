//! Lists are files that others write.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use oscost_fuzz::list::List;

static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("oscost-fuzz-{}.csv", std::process::id())));

fuzz_target!(|contents: &[u8]| {
    std::fs::write(&*FILE, contents).expect("a temporary file");
    let opened = List::open(&FILE, None);
    if let Ok(list) = &opened {
        check(list);
    }
    std::fs::remove_file(&*FILE).expect("it is there");
});

fn check(list: &List) {
    assert!(list.len() > 0 && list.address_column() < list.columns().len());
    let mut seen = vec![false; list.len()];
    let mut addresses = std::collections::HashSet::new();
    let mut reader = list.reader();
    for domain in 0..list.domains() {
        assert!(!list.members(domain).is_empty() && list.members(domain).is_sorted());
        for number in list.members(domain) {
            let recipient = reader.record(*number).expect("nobody changed it");
            assert_eq!(recipient.number, *number);
            assert_eq!(recipient.values.len(), list.columns().len());
            assert_eq!(recipient.address.domain(), list.domain_name(domain));
            assert!(!std::mem::replace(&mut seen[*number as usize], true));
            assert!(addresses.insert(recipient.address));
        }
    }
    for (number, line, why) in list.bad() {
        assert!(line > 0 && !why.is_empty() && !why.contains("changed"), "{why}");
        assert!(!std::mem::replace(&mut seen[number as usize], true));
        assert!(reader.record(number).is_err());
    }
    let left: Vec<usize> = (0..seen.len()).filter(|number| !seen[*number]).collect();
    assert_eq!(left.len(), list.duplicates());
    for number in left {
        let address = reader.record(number as u32).expect("nobody changed it").address;
        assert!(addresses.contains(&address));
    }
}
