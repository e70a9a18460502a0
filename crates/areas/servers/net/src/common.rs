//! Shared by the cases of servers: the parameter `arch`, and the architectures that this system supports.

use catalog::{Extent, Param, Takes, Trials, value_of};
use measure::Params;
use servers::{ARCHITECTURES, Architecture};
use std::time::Duration;

/// The case of single replies.
pub const ANSWER: &str = "net/answer";
/// Cases of servers under load whose rates are compared.
pub const SERVERS: [&str; 2] = [ANSWER, "net/requests"];
/// The case of servers beside slow clients.
pub const SLOW: &str = "net/slow";

/// Settings of six trials per point, each with a new server: more points are more informative than more trials of fewer points.
pub const fn trials(
    takes: fn(&Params) -> Duration,
    includes: fn(&Params, Extent) -> bool,
) -> Trials {
    Trials { counted: true, on_host: true, at_most: 6, includes, ..Trials::new(takes) }
}

/// Whether this system supports the architecture of a point. If not, a trial ends at once as unsupported.
pub fn is_here(params: &Params) -> bool {
    let found = value_of(params, "arch").ok().and_then(Architecture::find);
    found.is_none_or(|architecture| architecture.missing_here().is_none())
}

/// Whether a default run lists an architecture that this system lacks: at one point, with the reason.
pub fn is_listed_as_missing(connections: usize, extent: Extent) -> bool {
    connections == 100 && extent == Extent::Ordinary
}

/// The parameter `arch`: architecture of the server, by default every one.
pub const ARCH: Param = Param::new("arch", &all_but::<15>(&[]))
    .meaning("the architecture of the server (`oscost net serve --list`)");

/// The parameter `work`: work for each request.
pub const WORK: Param = Param::new("work", &["none"])
    .meaning(
        "what the server does for each request before it replies, the same code for all \
         architectures: nothing (none), computing (cpu:TIME), reading a file \
         (file:SIZE), waiting for the storage device (fsync), or asking a name server \
         on loopback (dns)",
    )
    .takes(Takes::ServerWork);

/// The parameter `cpus`: number of the server's CPUs.
pub const CPUS: Param = Param::new("cpus", &["1"])
    .meaning(
        "the number of CPUs of the server; the load generator has the others, if there \
         are some",
    )
    .takes(Takes::Count(1_024));

/// The parameter `parent`: memory of the server's process.
pub const PARENT: Param = Param::new("parent", &["0"])
    .meaning(
        "memory that the server's first process uses besides what it needs, as an \
         application would: fork copies its page tables",
    )
    .takes(Takes::Size(4 << 30));

/// Default values of parameters, for cases that lack them.
pub const USUAL: &[(&str, &str)] = &[("work", "none"), ("cpus", "1"), ("parent", "0")];

/// Architectures that are variants of another one: event loops that wait by another call, programs instead of processes, and
/// fixed numbers of processes or threads.
pub const VARIANTS: &[&str] =
    &["exec", "prefork", "pool", "select", "poll", "wsapoll", "epoll-level", "epoll-per-cpu"];
/// One architecture of each kind on each system.
pub const ONE_OF_EACH_KIND: &[&str] = &all_but::<7>(VARIANTS);

/// The names of all architectures except `left_out`, in their order. Compilation fails unless there are `N`.
pub const fn all_but<const N: usize>(left_out: &[&str]) -> [&'static str; N] {
    let mut names = [""; N];
    let (mut nth, mut found) = (0, 0);
    while nth < ARCHITECTURES.len() {
        let name = ARCHITECTURES[nth].name;
        if !is_one_of(name, left_out) {
            names[found] = name;
            found += 1;
        }
        nth += 1;
    }
    assert!(found == N && found + left_out.len() == ARCHITECTURES.len(), "N or a name is wrong");
    names
}

pub const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let mut nth = 0;
    while nth < names.len() {
        if is_same(name.as_bytes(), names[nth].as_bytes()) {
            return true;
        }
        nth += 1;
    }
    false
}

/// Whether two names are equal: the operator `==` is not available in constant functions.
pub const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
