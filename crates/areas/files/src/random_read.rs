use std::time::Duration;

use measure::stats::quantile;
use measure::trial::{Timed, TrialContext};
use measure::{CaseError, Params, Round};
use platform::file::filesystem::drop_contents;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::directory::Home;
use super::engine::{
    Engine, Mode, Reads, Schedule, one_at_a_time, read_by_threads, several_at_a_time,
};
use super::metrics;
use super::pattern::{PIECE, Pattern, whole_blocks};
use super::{BLOCK, DIR, WHOLE_AT_MOST};
use catalog::{Case, Extent, Param, Takes, Trials, count_of, size_of, value_of};

/// Maximum depth: more reads at once show nothing new.
const DEPTH_AT_MOST: u64 = 256;
/// Time after which a trial ends, between the minimum and the maximum number of reads. 1 % of the minimum is still one read.
const LENGTH: Duration = Duration::from_millis(25);
const READS_AT_LEAST: usize = 100;
const READS_AT_MOST: usize = 100_000;
/// Number of reads in the counting pass, which slows each call a lot.
const COUNTED_READS: usize = 256;

/// Single blocks read in random order, by synchronous and asynchronous calls.
pub const CASE: Case = Case {
    operation: "One block of 4 KiB read into a buffer from a random place of a file, with this number of reads under way at \
                once, and a look at the number in each of its sectors.",
    comparable_to: "fio's `rw=randread` with the ioengines psync, posixaio, io_uring, mmap and windowsaio, `iodepth` and \
            `direct`; sysbench's `fileio rndrd`. Latency is from the submission of a read until its block was checked.",
    trials: Some(Trials { includes, counted: true, on_host: true, ..Trials::new(takes) }),
    params: &[
        Param::new("engine", &["pread", "mmap", "threads", "posix-aio", "io_uring", "overlapped"])
            .meaning(
                "how blocks are read: pread by one thread, or by a thread for each read under \
                 way; a copy from a mapping; POSIX aio, io_uring, or overlapped reads with a \
                 completion port",
            ),
        Param::new("depth", &["1", "16"])
            .meaning("the number of reads under way at once")
            .full(&["1", "2", "4", "8", "16", "32", "64"])
            .takes(Takes::Count(DEPTH_AT_MOST)),
        Param::new("mode", &["cached", "direct"])
            .meaning(
                "whether blocks come from the cache, or past it from the device, or through it \
                 when they are not there (cold)",
            )
            .full(&["cached", "direct", "cold"]),
        Param::new("size", &["16m"])
            .meaning("the size of the file, in bytes")
            .full(&["256m"])
            .takes(Takes::Size(WHOLE_AT_MOST)),
        DIR,
    ],
    metrics: metrics::BLOCKS,
    run,
    ..Case::new("file", "random-read")
};

fn mode_of(params: &Params) -> Result<Mode, CaseError> {
    Ok(match value_of(params, "mode")? {
        "direct" => Mode::Direct,
        "cold" => Mode::Cold,
        _ => Mode::Cached,
    })
}

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    let (size, mode) = (whole_blocks(params)?, mode_of(params)?);
    let (name, depth) = (value_of(params, "engine")?, count_of(params, "depth")?);
    let home = Home::with_room(params, 1, size)?;
    let path = home.file(1);
    match mode {
        Mode::Cold => home.refuse_uncertain_cache()?,
        Mode::Direct => home.refuse_in_memory()?,
        Mode::Cached => {}
    }
    // The engine is tried on one block: if it is unsupported, the trial fails before much is written.
    let mut pattern = Pattern::new();
    let tried = home.file(2);
    drop(pattern.write_file(&tried, BLOCK)?);
    drop(Engine::new(name, &tried, BLOCK, mode, depth)?);
    std::fs::remove_file(&tried)?;

    let written = pattern.write_file(&path, size)?;
    if mode != Mode::Cached {
        written.sync_all().map_err(|e| CaseError::from_io("syncing a file", &e))?;
    }
    if mode == Mode::Cold {
        drop_contents(&written)?;
    }
    drop(written);
    let mut engine = Engine::new(name, &path, size, mode, depth)?;
    let mut order: Vec<u32> = (0..(size / BLOCK) as u32).collect();
    order.shuffle(&mut StdRng::seed_from_u64(u64::from(std::process::id())));
    let context = TrialContext::new(round, &round.order().cpus.clone())?;
    let schedule = Schedule {
        order: &order,
        repeats: mode != Mode::Cold,
        at_least: READS_AT_LEAST.max(depth),
        at_most: READS_AT_MOST,
        time: LENGTH,
        clock: context.clock(),
        clock_ns: round.order().clock.cost.get(),
    };
    if round.is_counting() {
        return count(round, engine, &schedule, (name, depth));
    }
    let trial = round.trial_of(&context, || {
        let reads = match &mut engine {
            Engine::Blocking(reader) => one_at_a_time(reader.as_mut(), &schedule, (0, 1))?,
            Engine::Queue(queue) => several_at_a_time(queue.as_mut(), &schedule, depth)?,
            Engine::Threads(readers) => read_by_threads(readers, &schedule)?,
        };
        let took = Duration::from_nanos(reads.elapsed_ns as u64);
        Ok(Timed { operations: reads.ns.len() as u64, value: reads, took })
    })?;
    report(round, trial.value, trial.usage.cpu);
    Ok(())
}

fn report(round: &mut Round, mut reads: Reads, cpu: Duration) {
    let count = reads.ns.len().max(1) as f64;
    round.metric(&metrics::READS, count / (reads.elapsed_ns / 1e9));
    reads.ns.sort_unstable_by(f64::total_cmp);
    for (metric, p) in metrics::READ_TIMES.iter().zip([0.5, 0.9, 0.99, 1.0]) {
        round.metric(metric, quantile(&reads.ns, p));
    }
    let each = cpu.as_nanos() as f64 / count;
    if each > 0.0 {
        round.metric(&metrics::READ_CPU, each);
    }
}

/// Counts the calls of this thread's reads. All threads make the same calls, so one is enough. The threads of POSIX aio are not
/// counted.
fn count(
    round: &mut Round,
    engine: Engine,
    schedule: &Schedule,
    (name, depth): (&str, usize),
) -> Result<(), CaseError> {
    let blocks = schedule.order.len();
    let reads = round.operations_to_count(COUNTED_READS, blocks);
    let reads = if schedule.repeats { reads } else { reads.min(blocks) };
    let schedule = Schedule { at_least: reads, at_most: reads, ..schedule.clone() };
    let mut reader = match engine {
        Engine::Queue(_) if name == "posix-aio" => return Ok(()),
        Engine::Queue(mut queue) => {
            return round.count_trial(reads as u64, || {
                several_at_a_time(queue.as_mut(), &schedule, depth).map(drop)
            });
        }
        Engine::Blocking(reader) => reader,
        Engine::Threads(mut readers) => readers.swap_remove(0),
    };
    if name != "mmap" {
        round.expect_unix_calls(1.0);
    }
    let read = || one_at_a_time(reader.as_mut(), &schedule, (0, 1)).map(drop);
    round.count_trial(reads as u64, read)
}

/// Whether a run measures the point. A blocking engine has one read at a time, and a mapping reads from the cache only. An
/// ordinary run measures engines with several reads at once at the greater depth, and io_uring at both; a quick run compares two
/// engines that this system has.
fn includes(params: &Params, extent: Extent) -> bool {
    let value = |name: &str| value_of(params, name).unwrap_or_default();
    let (engine, is_single, is_direct) =
        (value("engine"), value("depth") == "1", value("mode") == "direct");
    let blocking = matches!(engine, "pread" | "mmap");
    let is_possible = (is_single || !blocking) && !(is_direct && engine == "mmap");
    let is_queue = matches!(engine, "io_uring" | "overlapped");
    let is_here = platform::IS_WINDOWS == (engine == "overlapped");
    let is_telling = match extent {
        Extent::Full => true,
        Extent::Ordinary => blocking || is_queue || !is_single,
        Extent::Quick => is_direct && (engine == "pread" || is_queue && is_here && !is_single),
    };
    is_possible && is_telling
}

/// Approximate duration of a trial, including writing the file first, and syncing it unless it is cached.
fn takes(params: &Params) -> Duration {
    let is_elsewhere = match value_of(params, "engine") {
        Ok("overlapped") => platform::IS_UNIX,
        Ok("posix-aio") => platform::IS_WINDOWS,
        Ok("io_uring") => !platform::IS_LINUX,
        _ => false,
    };
    if is_elsewhere {
        return Duration::ZERO;
    }
    let mib = match value_of(params, "mode") {
        Ok("cached") => Duration::from_micros(600),
        _ => Duration::from_micros(2_500),
    };
    LENGTH + mib * size_of(params, "size").unwrap_or_default().div_ceil(PIECE) as u32
}
