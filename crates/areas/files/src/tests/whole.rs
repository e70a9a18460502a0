//! Tests of the cases of one large file.

use std::fs;
use std::io;
use std::time::Duration;

use measure::record::{Line, MetricValue};
use measure::round::Mode as RoundMode;
use measure::survey::survey;
use measure::{CaseError, Params};

use super::Folder;
use crate::directory::COPY;
use crate::engine::reader::{BlockReader, ReadQueue};
use crate::engine::{
    Engine, Mode, Reads, Schedule, one_at_a_time, read_by_threads, several_at_a_time,
};
use crate::pattern::Pattern;
use crate::{BLOCK, copy, obstacle, random_read, sequential_read, sequential_write};
use catalog::Case;

const ENGINES: [&str; 6] = ["pread", "mmap", "threads", "posix-aio", "io_uring", "overlapped"];

/// Points of a case with all combinations of these values of parameters, and the first default of the others.
fn points(folder: &Folder, case: &Case, values: &[(&str, &[&'static str])]) -> Vec<Params> {
    let dir = folder.params(&[])["dir"].clone();
    rehearsal::combinations(case, |param| {
        let given = values.iter().find(|(name, _)| *name == param.name);
        match (given, param.name) {
            (Some((_, values)), _) => values.iter().map(|&value| value.to_owned()).collect(),
            (None, "dir") => vec![dir.clone()],
            (None, _) => vec![param.default[0].to_owned()],
        }
    })
}

/// Runs a trial. Returns its metrics, or the reason why it is unsupported.
fn metrics_of(case: &Case, params: &Params) -> Result<Vec<MetricValue>, String> {
    let lines = match super::run(case, params, RoundMode::Sample) {
        Ok(lines) => lines,
        Err(CaseError::Unsupported(reason)) => return Err(reason),
        Err(case_error) => panic!("{} {params:?}: {case_error}", case.label()),
    };
    let metric = |line: Line| if let Line::Metric(metric) = line { Some(metric) } else { None };
    assert!(lines.iter().any(|line| matches!(line, Line::Series(_))), "{params:?}: no time");
    let metrics: Vec<MetricValue> = lines.into_iter().filter_map(metric).collect();
    for name in case.metrics.iter().map(|metric| metric.name) {
        // The system may count CPU time in coarse steps.
        let is_there = metrics.iter().any(|metric| metric.name == name && metric.value > 0.0);
        assert!(is_there || name == "cpu", "{} {params:?}: no {name}", case.label());
    }
    Ok(metrics)
}

#[test]
fn a_file_is_written_read_and_copied_as_a_whole_or_not_with_a_reason() {
    let folder = Folder::new("whole");
    let sizes = ("size", &["4k", "1m", "1540k"][..]);
    for (case, name) in
        [(&sequential_write::CASE, "mode"), (&sequential_read::CASE, "mode"), (&copy::CASE, "how")]
    {
        let param = case.params.iter().find(|param| param.name == name).unwrap();
        for params in points(&folder, case, &[(name, param.full), sizes]) {
            match metrics_of(case, &params) {
                Ok(metrics) => assert_eq!(metrics.len(), 1, "{params:?}"),
                Err(reason) => {
                    println!("{} {params:?}: {reason}", case.label());
                    assert!(!["buffered", "read+write"].contains(&params[name].as_str()));
                }
            }
        }
    }
    for size in ["0", "100", "5000"] {
        let params = folder.params(&[("mode", "buffered"), ("size", size)]);
        let refused = super::run(&sequential_write::CASE, &params, RoundMode::Sample);
        assert!(matches!(refused, Err(CaseError::Failed(why)) if why.contains("no multiple")));
    }
}

#[test]
fn blocks_are_read_by_every_engine_or_not_with_a_reason() {
    let folder = Folder::new("blocks");
    let values = [
        ("engine", &ENGINES[..]),
        ("depth", &["1", "3", "64"]),
        ("mode", &["cached", "direct", "cold"]),
        ("size", &["1m"]),
    ];
    let mut measured = std::collections::BTreeSet::new();
    for params in points(&folder, &random_read::CASE, &values) {
        match metrics_of(&random_read::CASE, &params) {
            Ok(metrics) => {
                measured.insert(params["engine"].clone());
                let of = |name| metrics.iter().find(|metric| metric.name == name).unwrap().value;
                let quantiles = ["p50", "p90", "p99", "max"].map(of);
                assert!(quantiles.is_sorted(), "{params:?}: {quantiles:?}");
            }
            Err(reason) => println!("{params:?}: {reason}"),
        }
    }
    for everywhere in ["pread", "mmap", "threads"] {
        assert!(measured.contains(everywhere));
    }
}

#[test]
fn each_read_makes_as_many_system_calls_as_it_says() {
    let Some(tracepoint) = super::tracepoint() else { return };
    let folder = Folder::new("read-calls");
    let values = [
        ("engine", &ENGINES[..]),
        ("depth", &["1", "16"]),
        ("mode", &["cached"]),
        ("size", &["1m"]),
    ];
    for params in points(&folder, &random_read::CASE, &values) {
        let counts = match super::run(&random_read::CASE, &params, RoundMode::Count(tracepoint)) {
            Err(CaseError::Unsupported(_)) => continue,
            other => other.unwrap(),
        };
        let counted = match &counts[..] {
            [Line::Counts(counts)] => counts,
            [] if params["engine"] == "posix-aio" => continue,
            other => panic!("{params:?}: {other:?}"),
        };
        let each = counted.syscalls.unwrap() as f64 / counted.operations as f64;
        match (params["engine"].as_str(), params["depth"].as_str()) {
            ("pread" | "threads", _) | ("io_uring", "1") => assert_eq!(each, 1.0, "{params:?}"),
            ("mmap", _) => assert_eq!(each, 0.0),
            // There is one call per batch, and a few more when a read is not complete at once.
            ("io_uring", _) => assert!((1.0 / 16.0..1.0).contains(&each), "{each}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn too_little_room_is_found_before_anything_is_written() {
    let folder = Folder::new("whole-room");
    let params =
        folder.params(&[("mode", "buffered"), ("how", "read+write"), ("size", "1048576g")]);
    let write = obstacle("file/sequential-write", &params).unwrap().to_string();
    assert!(write.contains("1 file needs"), "{write}");
    let copied = obstacle(COPY, &params).unwrap().to_string();
    assert!(copied.contains("2 files need"), "{copied}");
    for case in [&sequential_write::CASE, &sequential_read::CASE, &copy::CASE] {
        let refused = super::run(case, &params, RoundMode::Sample).unwrap_err();
        assert!(refused.to_string().contains("are free"), "{refused}");
    }
    assert_eq!(obstacle("file/stat-missing", &folder.params(&[])), None);
    assert_eq!(copy::CASE.label(), COPY);
}

fn schedule<'a>(order: &'a [u32]) -> Schedule<'a> {
    let clock = survey().remove(0).clock().unwrap();
    Schedule {
        order,
        repeats: false,
        at_least: order.len(),
        at_most: order.len(),
        time: Duration::ZERO,
        clock,
        clock_ns: 0.0,
    }
}

fn read(engine: &mut Engine, schedule: &Schedule, depth: usize) -> Result<Reads, CaseError> {
    match engine {
        Engine::Blocking(reader) => one_at_a_time(reader.as_mut(), schedule, (0, 1)),
        Engine::Queue(queue) => several_at_a_time(queue.as_mut(), schedule, depth),
        Engine::Threads(readers) => read_by_threads(readers, schedule),
    }
}

#[test]
fn every_engine_notices_a_wrong_block_and_a_file_that_ends_early() {
    let folder = Folder::new("wrong-blocks");
    let path = folder.0.join("f0000001");
    let size = 64 * BLOCK;
    Pattern::new().write_file(&path, size).unwrap();
    let order: Vec<u32> = (0..64).rev().collect();
    let all = |expected: &str, beyond: u32| {
        let order: Vec<u32> = order.iter().map(|block| block + beyond).collect();
        for (name, depth) in ENGINES.into_iter().flat_map(|name| [(name, 1), (name, 5)]) {
            let mut engine = match Engine::new(name, &path, size, Mode::Cached, depth) {
                Ok(engine) => engine,
                Err(CaseError::Unsupported(_)) => continue,
                Err(other) => panic!("{name}: {other}"),
            };
            match read(&mut engine, &schedule(&order), depth) {
                Ok(reads) => {
                    assert_eq!((expected, reads.ns.len()), ("", 64), "{name} {depth}");
                    assert!(reads.elapsed_ns > 0.0);
                }
                Err(case_error) => {
                    let why = case_error.to_string();
                    assert!(!expected.is_empty() && why.contains(expected), "{name}: {why}");
                }
            }
        }
    };
    all("", 0);
    all("reading a block", 3);
    let mut bytes = fs::read(&path).unwrap();
    bytes[17 * BLOCK + 512] ^= 1;
    fs::write(&path, &bytes).unwrap();
    all("block 17 is not that block", 0);
    fs::remove_file(&path).unwrap();
}

/// A queue that reports reads as complete without reading.
struct Idle(Vec<usize>, Vec<u8>);

impl ReadQueue for Idle {
    fn submit(&mut self, slot: usize, _offset: u64) -> io::Result<()> {
        self.0.push(slot);
        Ok(())
    }

    fn wait(&mut self, done: &mut Vec<usize>) -> io::Result<()> {
        done.append(&mut self.0);
        Ok(())
    }

    fn block(&self, _slot: usize) -> &[u8] {
        &self.1
    }
}

impl BlockReader for Idle {
    fn read(&mut self, _offset: u64) -> io::Result<&[u8]> {
        Ok(&self.1)
    }
}

#[test]
fn reads_that_are_not_made_are_noticed() {
    let order = [3, 1, 2];
    let mut idle = Idle(Vec::new(), vec![0; BLOCK]);
    for failed in [
        several_at_a_time(&mut idle, &schedule(&order), 2).map(drop),
        one_at_a_time(&mut idle, &schedule(&order), (0, 1)).map(drop),
    ] {
        let why = failed.unwrap_err().to_string();
        assert!(why.contains("not that block"), "{why}");
    }
}
