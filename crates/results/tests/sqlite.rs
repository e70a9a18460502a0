//! What a store does, in an SQLite file.

mod battery;

use results::Store;

#[test]
fn the_battery_passes() {
    for (name, test) in battery::TESTS {
        println!("{name}");
        let folder = tempfile::tempdir().expect("a temporary folder");
        test(Store::open(&folder.path().join("store.sqlite")).expect("a new store"));
    }
}
