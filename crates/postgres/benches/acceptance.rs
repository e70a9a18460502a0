//! Writes a million results by 16 writers while the server is killed 20 times and connections are cut, and checks that
//! nothing is lost or doubled.
//!
//!     cargo bench -p oscost-postgres --bench acceptance

#[cfg(unix)]
#[path = "../../results/tests/battery/mod.rs"]
#[allow(dead_code, reason = "the tests of this file run elsewhere")]
mod battery;
#[cfg(unix)]
#[path = "../tests/server/faults.rs"]
#[allow(dead_code, reason = "the tests of this file run elsewhere")]
mod faults;
#[cfg(unix)]
#[path = "../tests/server/proxy.rs"]
mod proxy;

#[cfg(unix)]
fn main() {
    let (writers, runs, rounds, results, kills) = (16, 25, 60, 2_500, 20);
    let bytes = 8_000_000;
    let extent = faults::Extent { writers, runs, rounds, results, kills, bytes };
    let Some(outcome) = faults::written_meanwhile(&extent) else { return };
    println!(
        "{writers} writers, {} runs, {} results, {} rounds, {kills} kills: all there once; {outcome}",
        writers * runs,
        writers * runs * results,
        (writers * runs) as u64 * rounds
    );
}

#[cfg(not(unix))]
fn main() {}
