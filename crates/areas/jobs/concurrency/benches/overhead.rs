//! Measures the cost of executors per object, beside the cheapest hand-written equivalents.
//!
//!     cargo bench -p oscost-concurrency [-- ROUNDS]
//!
//! All contenders of a table are timed in each round, in random order. A time is a whole call's, including the creation of
//! its threads, divided by the number of objects; the table has the median of the rounds with its 95 % interval. A ratio is
//! the median of the ratios within each round.

mod by_hand;

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant, SystemTime};

use concurrency::{ConcurrentExecution, Execution, Failure, Pool, Rayon, Threads, Tokio};
use platform::process::usage::ProcessUsage;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Handles all objects; returns the sum of the finished results.
type Call<'a> = Box<dyn Fn(&[u32]) -> u64 + 'a>;

/// A way to handle a list of objects, and its guarantees.
struct Contender<'a> {
    name: &'static str,
    promises: &'static str,
    call: Call<'a>,
    /// The names of the contenders with which this one is compared.
    beside: &'static [&'static str],
}

const ALL: &str = "all";
const NOT_HELD: &str = "finished on the caller; slot given on before";
const NO_FINISHER: &str = "none: no finisher at all";

const SERIAL: &[&str] = &["ours: do_serial"];
const BY_HAND_EACH: [&str; 2] =
    ["by hand: scope, thread each, channel", "by hand: scope, thread each, parking"];
const BY_HAND_TEAM: [&str; 2] =
    ["by hand: scope, n threads, channels", "by hand: scope, n threads, parking"];
const BY_RAYON: [&str; 3] =
    ["rayon: par_iter alone", "rayon: par_iter, sending", "rayon: par_iter, holding the slot"];

fn main() {
    let rounds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(15);
    compare(100_000, 2, rounds, true);

    compare(1_000_000, 64, rounds.min(5), false);
    tell_waiting();
    tell_one_cpu();
}

/// The handler of an empty object.
fn handler(object: &u32) -> u32 {
    black_box(*object)
}

fn compare(count: u32, degree: usize, rounds: usize, thread_each: bool) {
    println!("{count} empty objects, degree {degree}, {rounds} rounds\n");
    let objects: Vec<u32> = (0..count).collect();
    let expected: u64 = objects.iter().map(|&object| u64::from(object)).sum();
    let n = NonZeroUsize::new(degree).expect("no degree is zero");
    let (pool, rayon) = (Pool::new(n).unwrap(), Rayon::new(n).unwrap());
    let (many, one) = (Tokio::multi_thread(n, n).unwrap(), Tokio::current_thread(n).unwrap());
    let rayons_own = rayon::ThreadPoolBuilder::new().num_threads(degree).build().unwrap();
    let own = &rayons_own;

    let mut contenders = vec![
        ours(
            "ours: threads up front",
            ConcurrentExecution::new(n).threads(Threads::UpFront),
            handler,
            &BY_HAND_TEAM,
        ),
        by_hand(BY_HAND_TEAM[0], ALL, move |o, f| by_hand::team_channels(o, degree, handler, f)),
        by_hand(BY_HAND_TEAM[1], ALL, move |o, f| by_hand::team_parking(o, degree, handler, f)),
        ours("ours: pool", pool, handler, &BY_RAYON),
        Contender {
            name: BY_RAYON[0],
            promises: NO_FINISHER,
            call: Box::new(|objects| {
                by_hand::par_iter_alone(own, objects, handler);
                expected
            }),
            beside: &[],
        },
        by_hand(BY_RAYON[1], NOT_HELD, |o, f| by_hand::par_iter_sending(own, o, handler, f)),
        by_hand(BY_RAYON[2], ALL, |o, f| by_hand::par_iter_holding(own, o, handler, f)),
        ours("ours: rayon", rayon, handler, &[]),
        tokio("ours: tokio, multi-thread", many),
        tokio("ours: tokio, current thread", one),
    ];
    if thread_each {
        contenders.push(ours(
            "ours: thread each",
            ConcurrentExecution::new(n),
            handler,
            &BY_HAND_EACH,
        ));
        contenders.push(by_hand(BY_HAND_EACH[0], ALL, move |o, f| {
            by_hand::thread_each_channel(o, degree, handler, f)
        }));
        contenders.push(by_hand(BY_HAND_EACH[1], ALL, move |o, f| {
            by_hand::thread_each_parking(o, degree, handler, f)
        }));
    }
    let times = time(&contenders, &objects, expected, rounds);
    print_table(&contenders, &times);
}

fn ours<'a>(
    name: &'static str,
    execution: impl Execution<u32, u32> + 'a,
    handler: fn(&u32) -> u32,
    beside: &'static [&'static str],
) -> Contender<'a> {
    let call = move |objects: &[u32]| {
        let mut sum = 0;
        execution
            .do_for_all_objects(objects, handler, |_, result| sum += u64::from(result.unwrap()));
        sum
    };
    Contender { name, promises: ALL, call: Box::new(call), beside }
}

fn tokio<'a>(name: &'static str, execution: Tokio) -> Contender<'a> {
    let call = move |objects: &[u32]| {
        let mut sum = 0;
        execution.do_for_all_objects(
            objects,
            |object| Box::pin(async move { handler(object) }),
            |_, result: Result<u32, Failure>| sum += u64::from(result.unwrap()),
        );
        sum
    };
    Contender { name, promises: ALL, call: Box::new(call), beside: &[] }
}

fn by_hand<'a>(
    name: &'static str,
    promises: &'static str,
    call: impl Fn(&[u32], &mut dyn FnMut(&u32, u32)) + 'a,
) -> Contender<'a> {
    let call = move |objects: &[u32]| {
        let mut sum = 0;
        call(objects, &mut |_, result| sum += u64::from(result));
        sum
    };
    Contender { name, promises, call: Box::new(call), beside: &[] }
}

/// Measures the time per object in ns, by contender and round.
fn time(contenders: &[Contender], objects: &[u32], expected: u64, rounds: usize) -> Vec<Vec<f64>> {
    let mut times = vec![Vec::new(); contenders.len()];
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut random = StdRng::seed_from_u64(now.as_nanos() as u64);
    for _ in 0..rounds {
        order.shuffle(&mut random);
        for &which in &order {
            let began = Instant::now();
            let sum = (contenders[which].call)(objects);
            let took = began.elapsed();
            assert_eq!(sum, expected, "{} left some out", contenders[which].name);
            times[which].push(took.as_nanos() as f64 / objects.len() as f64);
        }
    }
    times
}

fn print_table(contenders: &[Contender], times: &[Vec<f64>]) {
    println!("{:<38} {:>28}  promises kept", "", "ns per object");
    for (contender, times) in contenders.iter().zip(times) {
        println!("{:<38} {:>28}  {}", contender.name, interval(times, 0), contender.promises);
    }
    println!();
    for (contender, own_times) in contenders.iter().zip(times) {
        for other in contender.beside {
            let other_times = contenders.iter().zip(times).find(|(c, _)| c.name == *other);
            let (_, other_times) = other_times.expect("all that are named take part");
            let ratios: Vec<f64> = own_times.iter().zip(other_times).map(|(a, b)| a / b).collect();
            println!("{:<24} / {:<38} {:>20}", contender.name, other, interval(&ratios, 2));
        }
    }
    println!();
}

/// The median of `values` and its interval, whose ends have the ranks that enclose the median with 95 % probability by the
/// binomial distribution; the extremes of too few values.
fn interval(values: &[f64], decimals: usize) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    let (mut below, mut term, mut rank) = (0.0, 0.5f64.powi(n as i32), 0);
    while rank < n / 2 && below + term <= 0.025 {
        below += term;
        term *= (n - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    let low = rank.saturating_sub(1);
    let (from, to) = (sorted[low], sorted[n - 1 - low]);
    format!("{median:.decimals$} ({from:.decimals$} - {to:.decimals$})")
}

/// Prints the CPU time used while all handlers sleep, which waiting takes from computing threads.
fn tell_waiting() {
    let two = NonZeroUsize::new(2).expect("it is not zero");
    println!("CPU time of the process while 2 handlers at a time sleep, 10 x 100 ms in all\n");
    let sleep = |_: &u32| std::thread::sleep(Duration::from_millis(100));
    let report = |name: &str, call: &dyn Fn(&[u32])| {
        let before = ProcessUsage::now();
        call(&[0; 10]);
        println!("{name:<28} {:?}", ProcessUsage::now().since(before).cpu);
    };
    let each = ConcurrentExecution::new(two);
    report("ours: thread each", &|o| each.do_for_all_objects(o, sleep, |_, _| ()));
    let up_front = each.clone().threads(Threads::UpFront);
    report("ours: threads up front", &|o| up_front.do_for_all_objects(o, sleep, |_, _| ()));
    let pool = Pool::new(two).unwrap();
    report("ours: pool", &|o| pool.do_for_all_objects(o, sleep, |_, _| ()));
    let rayon = Rayon::new(two).unwrap();
    report("ours: rayon", &|o| rayon.do_for_all_objects(o, sleep, |_, _| ()));
    println!();
}

/// Prints the time that an executor takes from computing handlers on the caller's CPU.
fn tell_one_cpu() {
    let cpu = platform::cpu::allowed()[0];
    if let Err(case_error) = platform::cpu::keep_process_to(&[cpu]) {
        return println!("not measured on one CPU: {case_error}");
    }
    println!("64 objects of about 5 ms of computing, degree 4, all on one CPU\n");
    let four = NonZeroUsize::new(4).expect("it is not zero");
    let pool = Pool::new(four).unwrap();
    let each = ConcurrentExecution::new(four);
    let contenders = [
        Contender {
            name: SERIAL[0],
            promises: ALL,
            call: Box::new(|objects| {
                let mut sum = 0;
                each.do_serial(objects, compute, |_, result| sum += u64::from(result.unwrap()));
                sum
            }),
            beside: &[],
        },
        ours("ours: thread each", each.clone(), compute, SERIAL),
        ours("ours: threads up front", each.clone().threads(Threads::UpFront), compute, SERIAL),
        ours("ours: pool", pool, compute, SERIAL),
    ];
    let objects: Vec<u32> = (0..64).collect();
    let times = time(&contenders, &objects, (0..64).sum(), 9);
    print_table(&contenders, &times);
}

fn compute(object: &u32) -> u32 {
    for number in 0..8_000_000 {
        black_box(number);
    }
    *object
}
