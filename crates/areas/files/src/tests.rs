mod calls;
mod whole;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::Params;

use catalog::Param;
use measure::record::{Line, OperationCounts};
use measure::round::Mode;
use measure::{CaseError, Round, RoundOrder};

use super::directory::Fresh;
use super::figures::measure;
use super::phases::{FileOps, FileShard, Plain, Times};
use super::*;

/// The folder of one test, which must be empty when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("oscost-test-file-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn params(&self, more: &[(&str, &str)]) -> Params {
        let dir = [("dir", self.0.to_str().unwrap())];
        rehearsal::params(dir.iter().chain(more))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let left = fs::read_dir(&self.0).unwrap().count();
        fs::remove_dir_all(&self.0).unwrap();
        if !std::thread::panicking() {
            assert_eq!(left, 0, "something was left in {}", self.0.display());
        }
    }
}

fn order(params: &Params, mode: Mode) -> RoundOrder {
    let order = rehearsal::order("file/test", params, mode);
    RoundOrder { core_bound: false, quiet_samples: 1, limit_ms: 1_000, ..order }
}

/// Runs a case in a separate thread, which the case may pin to a CPU.
fn run(case: &Case, params: &Params, mode: Mode) -> Result<Vec<Line>, CaseError> {
    let (lines, result) = rehearsal::run_ordered(case, &order(params, mode));
    result.map(|()| lines)
}

/// The tracepoint that counts system calls, if they can be counted here.
fn tracepoint() -> Option<u64> {
    // Without a tracepoint a tracer counts the calls, which the tests of the binary cover.
    rehearsal::tracepoint().ok()
}

/// Cases whose trials are phases of many files.
fn cases_of_phases() -> impl Iterator<Item = &'static Case> {
    let has_files = |case: &&Case| case.params.iter().any(|param| param.name == "files");
    CASES.iter().copied().filter(has_files)
}

/// Points of a default run and of `--full`, with few files.
fn points(case: &Case, folder: &Folder) -> Vec<Params> {
    let values = |param: &'static Param| match param.name {
        "dir" => vec![folder.0.to_str().unwrap()],
        "files" => vec!["70"],
        _ => [param.default, param.full].concat(),
    };
    let mut points = rehearsal::combinations(case, values);
    points.sort();
    points.dedup();
    points
}

#[test]
fn every_case_reports_all_metrics_or_a_reason_and_leaves_no_file() {
    let folder = Folder::new("metrics");
    for case in cases_of_phases() {
        for params in points(case, &folder) {
            let lines = match run(case, &params, Mode::Sample) {
                Ok(lines) => lines,
                Err(CaseError::Unsupported(reason)) => {
                    let plain = ["file/small", "file/layout", "file/workers"];
                    assert!(!plain.contains(&case.label().as_str()), "{params:?}: {reason}");
                    continue;
                }
                Err(case_error) => panic!("{} {params:?}: {case_error}", case.label()),
            };
            let metrics: Vec<_> = rehearsal::metrics(&lines).collect();
            assert!(metrics.iter().all(|m| m.value.is_finite() && m.value > 0.0), "{metrics:?}");
            for name in case.metrics.iter().map(|metric| metric.name) {
                // Empty files have no bandwidth, unsynced ones no cost of sync, and the system's CPU time may be too coarse.
                let may_lack = (name.contains("bandwidth") && params["size"] == "0")
                    || (name == "sync-cost" && params["sync"] == "none")
                    || name == "cpu";
                let there = metrics.iter().any(|metric| metric.name == *name);
                assert!(there || may_lack, "{} {params:?}: no {name}", case.label());
            }
            for phase in ["create", "read", "stat", "rename", "delete"] {
                let of = |part: &str| rehearsal::value(&lines, &format!("{phase}-{part}"));
                let quantiles = ["p50", "p90", "p99", "max"].map(of);
                assert!(quantiles.is_sorted(), "{phase}: {quantiles:?}");
            }
            assert!(rehearsal::series(&lines).any(|series| series.batch == 70));
        }
    }
}

#[test]
fn system_calls_per_file_are_as_expected() {
    let Some(tracepoint) = tracepoint() else { return };
    let folder = Folder::new("calls");
    for case in cases_of_phases().filter(|case| case.trials.is_some_and(|trials| trials.counted)) {
        for params in points(case, &folder) {
            let lines = match run(case, &params, Mode::Count(tracepoint)) {
                Err(CaseError::Unsupported(_)) => continue,
                other => other.unwrap_or_else(|e| panic!("{} {params:?}: {e}", case.label())),
            };
            let OperationCounts { operations, expected_syscalls, syscalls, .. } =
                rehearsal::counts(&lines);
            assert_eq!(*operations, 70);
            let each = syscalls.unwrap() as f64 / *operations as f64;
            match expected_syscalls {
                Some(expected) => assert!((each - expected).abs() < 0.15, "{params:?}: {each}"),
                None => assert!((0.05..14.0).contains(&each), "{params:?}: {each}"),
            }
        }
    }
}

/// Creates correct files, then damages them.
struct Spoilt(fn(&[(usize, PathBuf, PathBuf)]));

impl FileOps for Spoilt {
    fn create(&mut self, shard: &FileShard, times: &mut Times) -> Result<(), CaseError> {
        Plain.create(shard, times)?;
        (self.0)(&shard.files);
        Ok(())
    }
}

fn change(name: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(name).unwrap();
    how(&mut bytes);
    fs::write(name, bytes).unwrap();
}

#[test]
fn damaged_files_fail_the_trial() {
    let folder = Folder::new("spoilt");
    let params = folder.params(&[("files", "20"), ("size", "4k")]);
    let order = order(&params, Mode::Sample);
    type Spoil = fn(&[(usize, PathBuf, PathBuf)]);
    let spoils: [(Spoil, &str); 7] = [
        (|_| {}, ""),
        (|files| change(&files[19].1, |bytes| bytes[4_095] ^= 1), "differ from those written"),
        (|files| change(&files[7].1, |bytes| bytes.truncate(4_095)), "4095 were read back"),
        (|files| change(&files[7].1, |bytes| bytes.push(0)), "4097 were read back"),
        (|files| change(&files[0].1, Vec::clear), "and 0 were read back"),
        (|files| fs::remove_file(&files[3].1).unwrap(), "reading a file: "),
        (
            |files| {
                let aside = files[0].1.with_extension("aside");
                fs::rename(&files[0].1, &aside).unwrap();
                fs::rename(&files[1].1, &files[0].1).unwrap();
                fs::rename(&aside, &files[1].1).unwrap();
            },
            "differ from those written",
        ),
    ];
    for (spoil, found) in spoils {
        let mut out = Vec::new();
        let mut round = Round::new(&order, &mut out);
        let fresh = Fresh::of(&params, &round).unwrap();
        let shard = FileShard::flat(&fresh, 0..fresh.files);
        let ended = measure(&mut round, &fresh, vec![(shard, Box::new(Spoilt(spoil)))]).map(drop);
        match ended {
            Ok(()) => assert_eq!(found, ""),
            Err(CaseError::Failed(why)) => {
                assert!(!found.is_empty() && why.contains(found), "{why}")
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_surplus_file_is_detected_by_listing() {
    let folder = Folder::new("listed");
    let params = folder.params(&[("files", "20"), ("size", "0")]);
    let order = order(&params, Mode::Sample);
    let mut out = Vec::new();
    let mut round = Round::new(&order, &mut out);
    let fresh = Fresh::of(&params, &round).unwrap();
    let shard = FileShard::flat(&fresh, 0..fresh.files);
    // The extra file is named like a file of the trial, so that it is removed with them.
    let spoil: Box<dyn FileOps> =
        Box::new(Spoilt(|files| fs::write(files[0].1.with_file_name("f0000099"), "").unwrap()));
    let case_error = measure(&mut round, &fresh, vec![(shard, spoil)]).map(drop).unwrap_err();
    assert_eq!(case_error, CaseError::Failed("listing 20 files gave 21 names".into()));
}

#[test]
fn insufficient_space_is_reported_before_anything_is_written() {
    let folder = Folder::new("room");
    let params = folder.params(&[("files", "1000000"), ("size", "1024k"), ("sync", "none")]);
    // Only the required amount is compared, since the free space changes all the time.
    let needed = |text: &str| text.split_once(" and ").map(|(needed, _)| needed.to_owned());
    let obstacle = needed(&obstacle("file/small", &params).unwrap().to_string()).unwrap();
    assert!(obstacle.contains(" files need "), "{obstacle}");
    let case_error = run(&small::CASE, &params, Mode::Sample).unwrap_err();
    assert_eq!(needed(&case_error.to_string()), Some(obstacle));
}

#[test]
fn the_estimated_duration_grows_with_the_files() {
    let of = |pairs: &[(&str, &str)]| takes(&rehearsal::params(pairs));
    assert_eq!(of(&[("files", "1000"), ("size", "0")]), Duration::from_millis(40));
    assert!(of(&[("files", "1000"), ("size", "128k")]) > of(&[("files", "1000"), ("size", "64k")]));
    let sync = |sync| of(&[("files", "100"), ("size", "4k"), ("sync", sync)]);
    assert!(sync("none") < sync("file") && sync("file") < sync("file+dir"));
}
