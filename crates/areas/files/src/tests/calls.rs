//! Tests of the cases that sample single calls.

use measure::CaseError;
use measure::record::Line;
use measure::round::Mode;

use super::Folder;

use catalog::{Case, Takes};
use measure::Params;

/// The sampled cases, each with its default points.
fn points(folder: &Folder) -> Vec<(&'static Case, Params)> {
    let sampled = super::CASES.iter().copied().filter(|case| case.trials.is_none());
    let of_case = |case: &'static Case| {
        let in_folder = |mut params: Params| {
            let dirs = case.params.iter().filter(|param| param.takes == Takes::Directory);
            for param in dirs {
                params.insert(param.name.to_owned(), folder.params(&[])["dir"].clone());
            }
            (case, params)
        };
        rehearsal::default_points(case).into_iter().map(in_folder).collect::<Vec<_>>()
    };
    sampled.flat_map(of_case).collect()
}

#[test]
fn every_case_gives_samples_or_a_reason_and_leaves_nothing() {
    let folder = Folder::new("samples");
    let points = points(&folder);
    assert!(points.len() >= 10);
    for (case, params) in points {
        let name = format!("{}{params:?}", case.label());
        let (lines, result) = rehearsal::run(case, &params, Mode::Sample);
        match result {
            Ok(()) => {}
            Err(CaseError::Unsupported(reason)) => {
                println!("{name} is unsupported: {reason}");
                continue;
            }
            Err(case_error) => panic!("{name}: {case_error}"),
        }
        let samples = |line: &Line| match line {
            Line::Series(series) => series.samples.len(),
            other => panic!("{name}: {other:?}"),
        };
        assert!(lines.iter().map(samples).sum::<usize>() > 0, "{name}");
    }
}

#[test]
fn each_makes_as_many_system_calls_and_faults_as_it_says() {
    let folder = Folder::new("sampled-calls");
    let tracepoint = platform::counters::syscall_tracepoint();
    let mode = tracepoint.map_or(Mode::CountRest, Mode::Count);
    for (case, params) in points(&folder) {
        let name = format!("{}{params:?}", case.label());
        let (lines, result) = rehearsal::run(case, &params, mode);
        if result.is_err() {
            continue; // skipped with a reason by the other test
        }
        let [Line::Counts(counts)] = &lines[..] else { panic!("{name}: {lines:?}") };
        let each = |count: u64| count as f64 / counts.operations as f64;
        if let Some((expected, counted)) = counts.expected_syscalls.zip(counts.syscalls) {
            assert!((each(counted) - expected).abs() < 1e-9, "{name}: {} calls", each(counted));
        }
        if let Some((expected, counted)) = counts.expected_faults.zip(counts.page_faults) {
            assert!(each(counted) >= expected, "{name}: {} faults", each(counted));
        }
        if cfg!(unix) {
            assert!(counts.expected_syscalls.is_some(), "{name}");
        }
    }
}

#[test]
fn no_descriptor_stays_open() {
    let open = || std::fs::read_dir("/proc/thread-self/fd").map(Iterator::count);
    let folder = Folder::new("descriptors");
    if rehearsal::own_descriptors().is_err() {
        return;
    }
    let before = open().unwrap();
    for (case, params) in points(&folder) {
        let _ = rehearsal::run(case, &params, Mode::CountRest);
        assert_eq!(open().unwrap(), before, "{}{params:?}", case.label());
    }
}

#[test]
fn a_directory_that_is_there_already_is_no_figure() {
    use platform::file::system_path::SystemPath;

    let folder = Folder::new("there");
    let path = folder.0.join("d001");
    let system_path = SystemPath::new(&path).unwrap();
    let order = rehearsal::order("file/test", &Params::new(), Mode::CountRest);
    let mut out = Vec::new();
    let mut made = 0;
    // The broken variant creates a directory and does not remove it.
    let broken = measure::Round::new(&order, &mut out).time_call("mkdir", || {
        made += 1;
        system_path.make_directory().is_ok()
    });
    std::fs::remove_dir(&path).unwrap();
    assert!(
        matches!(&broken, Err(CaseError::Failed(why)) if why.contains("then failed")),
        "{broken:?}"
    );
    assert!(made > 1);
}
