//! Times the sorting of numbers with oscost's timing only:
//!
//!     cargo run --release -p measure --example repeat -- 10k 200ms
//!
//! The first argument is the count of numbers to sort, the second the time for which the sorting is repeated.

use std::time::Duration;

use measure::count::{ParseUnitError, format_duration, parse_count, parse_duration};
use measure::stats::{median, quantile};
use measure::survey::survey;
use measure::time::{Clock, Stopwatch};

fn main() -> Result<(), ParseUnitError> {
    let mut arguments = std::env::args().skip(1);
    let numbers = parse_count(arguments.next().as_deref().unwrap_or("10k"))?;
    let limit = parse_duration(arguments.next().as_deref().unwrap_or("200ms"))?;

    let best = &survey()[0];
    let clock = best.clock().unwrap_or_else(Clock::monotonic);
    println!("clock: {}, {:.1} ns a reading", best.name, best.cost.get());

    let mut times = Vec::new();
    let whole = Stopwatch::start();
    while times.is_empty() || whole.elapsed().get() < limit.as_nanos() as f64 {
        let mut list = scrambled(numbers);
        let watch = Stopwatch::start_on(clock);
        list.sort_unstable();
        times.push(watch.stop().get());
        std::hint::black_box(list);
    }

    let middle = median(&mut times);
    times.sort_by(f64::total_cmp);
    let shown = |ns: f64| format_duration(Duration::from_nanos(ns as u64));
    println!(
        "sorting {numbers} numbers, {} times: median {}, p95 {}",
        times.len(),
        shown(middle),
        shown(quantile(&times, 0.95))
    );
    Ok(())
}

/// Unsorted numbers, the same ones each time (Knuth's multiplicative hash of 0, 1, 2, ...).
fn scrambled(numbers: u64) -> Vec<u64> {
    (0..numbers).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}
