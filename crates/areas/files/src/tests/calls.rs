//! Tests of the cases that sample single calls.

use catalog::{Case, Takes};
use measure::round::Mode;
use measure::{CaseError, Params};

use super::Folder;

/// The sampled cases, each with its default points.
fn points(folder: &Folder) -> impl Iterator<Item = (&'static Case, Params)> {
    let sampled = super::CASES.iter().copied().filter(|case| case.trials.is_none());
    sampled.flat_map(|case| {
        let in_folder = |mut params: Params| {
            let dirs = case.params.iter().filter(|param| param.takes == Takes::Directory);
            for param in dirs {
                params.insert(param.name.to_owned(), folder.params(&[])["dir"].clone());
            }
            (case, params)
        };
        rehearsal::default_points(case).into_iter().map(in_folder).collect::<Vec<_>>()
    })
}

#[test]
fn every_case_gives_samples_and_counts_as_declared_and_leaves_nothing() {
    let folder = Folder::new("samples");
    let counted = rehearsal::check_points(points(&folder));
    assert!(points(&folder).count() >= 10);
    let all_declare = counted.iter().all(|(_, counts)| counts.expected_syscalls.is_some());
    assert!(all_declare || !cfg!(unix), "{counted:?}");
    for (name, counts) in counted {
        let faults = counts.expected_faults.map(|expected| expected * counts.operations as f64);
        let counted = counts.page_faults.map(|faults| faults as f64);
        assert!(counted.is_none() || counted >= faults, "{name}: {counts:?}");
    }
}

#[test]
fn a_directory_that_is_there_already_is_no_figure() {
    use platform::file::system_path::SystemPath;

    let folder = Folder::new("there");
    let path = folder.0.join("d001");
    let system_path = SystemPath::new(&path).unwrap();
    let order = rehearsal::order("file/test", &Params::new(), Mode::CountRest);
    let mut made = 0;
    // The broken variant creates a directory and does not remove it.
    let broken = || {
        made += 1;
        system_path.make_directory().is_ok()
    };
    let (_, broken) = rehearsal::round(&order, |round| round.time_call("mkdir", broken));
    std::fs::remove_dir(&path).unwrap();
    assert!(
        matches!(&broken, Err(CaseError::Failed(why)) if why.contains("then failed")),
        "{broken:?}"
    );
    assert!(made > 1);
}
