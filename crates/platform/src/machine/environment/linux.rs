//! Linux: `/proc/stat`, `/proc/pressure` (the kernel's document on PSI), and the `cpu.stat` of control groups.

use super::readings::Environment;
use crate::linux::cgroup;
use crate::linux::tree::Tree;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

pub fn now(cpus: &[usize]) -> Environment {
    // The files are found once per process: it is rarely moved to another control group.
    static SOURCES: OnceLock<Sources> = OnceLock::new();
    let tree = root();
    SOURCES.get_or_init(|| Sources::find(&tree)).read(&tree, cpus, ticks_per_second())
}

pub fn cpu_quota() -> Option<f64> {
    cgroup::cpu_quota(&root())?
}

pub fn stolen_share(cpus: &[usize], wait: impl FnOnce()) -> Option<f64> {
    stolen_share_under(&root(), cpus, wait)
}

fn root() -> Tree<'static> {
    Tree::new(Path::new("/"))
}

/// The unit of the times in `/proc/stat`.
fn ticks_per_second() -> u64 {
    // SAFETY: sysconf has no pointers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}

/// The files with readings, besides `/proc/stat`.
struct Sources {
    /// The `cpu.stat` of this process's control group and of those ancestors that count throttling; each counts its own
    /// only.
    throttling: Vec<String>,
    /// Pressure files of CPU, I/O, and memory.
    pressure: [Option<String>; 3],
}

impl Sources {
    fn find(tree: &Tree) -> Sources {
        let groups = cgroup::directories(tree, "cpu").unwrap_or_default();
        let is_readable = |file: &String, read: fn(&str) -> Option<Duration>| {
            tree.text(file).as_deref().and_then(read).is_some()
        };
        let stats = groups.iter().map(|group| format!("{group}/cpu.stat"));
        Sources {
            throttling: stats.filter(|file| is_readable(file, throttled)).collect(),
            pressure: ["cpu", "io", "memory"].map(|resource| {
                let own = groups.iter().map(|group| format!("{group}/{resource}.pressure"));
                let mut files = std::iter::once(format!("proc/pressure/{resource}")).chain(own);
                files.find(|file| is_readable(file, pressure))
            }),
        }
    }

    fn read(&self, tree: &Tree, cpus: &[usize], ticks_per_second: u64) -> Environment {
        let stat = tree.text("proc/stat").unwrap_or_default();
        let times = self.throttling.iter().map(|file| throttled(&tree.text(file)?));
        let throttled: Option<Duration> = times.sum();
        let [cpu_pressure, io_pressure, memory_pressure] = self
            .pressure
            .each_ref()
            .map(|file| file.as_ref().and_then(|file| pressure(&tree.text(file)?)));
        let stolen = CpuTicks::of(&stat, cpus).map(|ticks| ticks.stolen);
        let nanoseconds = |ticks: u64| ticks.checked_mul(1_000_000_000 / ticks_per_second);
        Environment {
            steal: stolen.and_then(nanoseconds).map(Duration::from_nanos),
            throttled: throttled.filter(|_| !self.throttling.is_empty()),
            cpu_pressure,
            io_pressure,
            memory_pressure,
            interrupts: interrupts(&stat),
        }
    }
}

/// Times of some CPUs since boot, in ticks (proc_stat(5)).
#[derive(Debug, PartialEq, Clone, Copy)]
struct CpuTicks {
    busy: u64,
    stolen: u64,
}

impl CpuTicks {
    /// Parses `/proc/stat`; `None` if the kernel does not count stolen time, or not for all of `cpus`.
    fn of(stat: &str, cpus: &[usize]) -> Option<CpuTicks> {
        // Emulated kernels, or files mounted over it, contain only zeros.
        let counts = |ticks: &[u64; 8]| ticks.iter().any(|ticks| *ticks != 0);
        let whole = stat.lines().find_map(|line| columns(line.strip_prefix("cpu ")?));
        whole.filter(counts)?;
        let mut sum = CpuTicks { busy: 0, stolen: 0 };
        for cpu in cpus {
            let name = format!("cpu{cpu} ");
            let found = stat.lines().find_map(|line| columns(line.strip_prefix(name.as_str())?));
            let [user, nice, system, _idle, _iowait, irq, softirq, steal] = found?;
            sum.busy += user + nice + system + irq + softirq;
            sum.stolen += steal;
        }
        (!cpus.is_empty()).then_some(sum)
    }
}

/// The first eight numbers of a line; the guests' times after them are part of the first two.
fn columns(line: &str) -> Option<[u64; 8]> {
    let mut numbers = line.split_whitespace().map(|ticks| ticks.parse().ok());
    let mut columns = [0; 8];
    for column in &mut columns {
        *column = numbers.next()??;
    }
    Some(columns)
}

/// All interrupts since boot; `None` if there were none, which no machine that counts them has.
fn interrupts(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("intr "))?;
    let all = line.split(' ').next()?.parse().ok()?;
    (all != 0).then_some(all)
}

/// The time a group was throttled, from its `cpu.stat`: in microseconds in version 2 of control groups, in
/// nanoseconds in version 1.
fn throttled(stat: &str) -> Option<Duration> {
    let field = |name: &str| {
        let number = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        number.parse::<u64>().ok()
    };
    let microseconds = field("throttled_usec").map(Duration::from_micros);
    microseconds.or_else(|| field("throttled_time").map(Duration::from_nanos))
}

/// The total in the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, in microseconds.
fn pressure(text: &str) -> Option<Duration> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split(' ').find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Duration::from_micros)
}

/// The steal time of `cpus` as a share of the time in which they had work to do, while `wait` was called. `None` if they
/// had no steal time before.
fn stolen_share_under(tree: &Tree, cpus: &[usize], wait: impl FnOnce()) -> Option<f64> {
    // A single tick may be the rest of earlier steal time.
    const TICKS_AT_LEAST: u64 = 2;
    let ticks = || CpuTicks::of(&tree.text("proc/stat")?, cpus);
    let before = ticks().filter(|ticks| ticks.stolen > 0)?;
    wait();
    let after = ticks()?;
    let busy = after.busy.checked_sub(before.busy)?;
    let stolen = after.stolen.checked_sub(before.stolen)?;
    match stolen {
        0..TICKS_AT_LEAST => Some(0.0),
        _ => Some(stolen as f64 / (busy + stolen) as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tree::fixture::{Fixture, in_tree};

    /// A virtual machine with two CPUs on a busy host.
    const VM_STAT: &str = "\
cpu  112788 0 16313 29157 1207 0 326 1860 0 0
cpu0 55811 0 7531 16412 187 0 14 876 0 0
cpu1 56976 0 8782 12745 1020 0 311 984 0 0
intr 677063 0 0 161 93 0 25 1 125639
ctxt 875368
btime 1795349643
softirq 356242 0 45761 4 11426 125610 0 175 53983 0 119283
";
    const PRESSURE: &str = "some avg10=14.76 avg60=12.64 avg300=14.13 total=139038087\n\
        full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
    const V2_MOUNT: &str =
        "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNT: &str =
        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

    fn environment(files: &[(&str, &str)], cpus: &[usize]) -> Environment {
        in_tree(files, |tree| Sources::find(tree).read(tree, cpus, 100))
    }

    #[test]
    fn steal_time_of_the_requested_cpus_is_read() {
        let files = [
            ("proc/stat", VM_STAT),
            ("proc/pressure/cpu", PRESSURE),
            ("proc/pressure/io", "some avg10=0.00 avg60=0.12 avg300=0.48 total=11812400\n"),
            ("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
        ];
        let found = environment(&files, &[1]);
        let expected = Environment {
            steal: Some(Duration::from_millis(9_840)),
            throttled: None,
            cpu_pressure: Some(Duration::from_micros(139_038_087)),
            io_pressure: Some(Duration::from_micros(11_812_400)),
            memory_pressure: Some(Duration::ZERO),
            interrupts: Some(677_063),
        };
        assert_eq!(found, expected);
        assert_eq!(environment(&files, &[0, 1]).steal, Some(Duration::from_millis(18_600)));
        assert_eq!(environment(&files, &[0, 2]).steal, None);
        assert_eq!(environment(&files, &[]).steal, None);
    }

    #[test]
    fn throttling_is_summed_over_the_groups_around_us_in_version_2() {
        let group = "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\nnr_periods 120\n\
            nr_throttled 40\nthrottled_usec 1500000\nnr_bursts 0\nburst_usec 0\n";
        let files = [
            ("proc/self/mountinfo", V2_MOUNT),
            ("proc/self/cgroup", "0::/kubepods.slice/pod1.slice/app\n"),
            ("sys/fs/cgroup/cpu.stat", "usage_usec 99\nuser_usec 50\nsystem_usec 49\n"),
            ("sys/fs/cgroup/kubepods.slice/cpu.stat", "usage_usec 9\nthrottled_usec 0\n"),
            ("sys/fs/cgroup/kubepods.slice/pod1.slice/cpu.stat", group),
            ("sys/fs/cgroup/kubepods.slice/pod1.slice/app/cpu.stat", "throttled_usec 250\n"),
            ("sys/fs/cgroup/kubepods.slice/pod1.slice/app/cpu.pressure", PRESSURE),
            ("sys/fs/cgroup/other/cpu.stat", group),
        ];
        let found = environment(&files, &[0]);
        assert_eq!(found.throttled, Some(Duration::from_micros(1_500_250)));
        // The control group's pressure replaces the machine's, which this kernel does not report.
        assert_eq!(found.cpu_pressure, Some(Duration::from_micros(139_038_087)));
        assert_eq!(found.io_pressure, None);
    }

    #[test]
    fn throttling_is_in_nanoseconds_in_version_1() {
        let files = [
            ("proc/self/mountinfo", V1_MOUNT),
            ("proc/self/cgroup", "2:cpu,cpuacct:/docker/0a\n"),
            (
                "sys/fs/cgroup/cpu,cpuacct/docker/0a/cpu.stat",
                "nr_periods 12\nnr_throttled 3\nthrottled_time 210000000\n",
            ),
            (
                "sys/fs/cgroup/cpu,cpuacct/cpu.stat",
                "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
            ),
        ];
        assert_eq!(environment(&files, &[0]).throttled, Some(Duration::from_millis(210)));
    }

    #[test]
    fn without_pressure_files_it_is_unknown() {
        let found = environment(&[("proc/stat", VM_STAT)], &[0]);
        assert_eq!(
            (found.cpu_pressure, found.io_pressure, found.memory_pressure),
            (None, None, None)
        );
        assert_eq!(found.steal, Some(Duration::from_millis(8_760)));
        assert_eq!(found.interrupts, Some(677_063));
    }

    #[test]
    fn hidden_counters_are_none_not_zero() {
        // Masked files are empty; files that sandboxes emulate contain zeros.
        let zeros = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 1795349643\n";
        for stat in ["", zeros, "cpu  odd\ncpu0\nintr\n", "cpu  1 2 3 4\ncpu0 1 2 3 4\n"] {
            let files = [
                ("proc/stat", stat),
                ("proc/pressure/cpu", ""),
                ("proc/self/mountinfo", V2_MOUNT),
                ("proc/self/cgroup", "0::/\n"),
                ("sys/fs/cgroup/cpu.stat", "usage_usec 99\n"),
            ];
            assert_eq!(environment(&files, &[0]), Environment::default(), "{stat:?}");
        }
        assert_eq!(environment(&[], &[0]), Environment::default());
    }

    #[test]
    fn malformed_totals_are_unknown() {
        assert_eq!(pressure("some avg10=0.00 total=12\n"), Some(Duration::from_micros(12)));
        assert_eq!(pressure("full avg10=0.00 total=12\n"), None);
        assert_eq!(pressure("some avg10=0.00 total=-1\n"), None);
        assert_eq!(throttled("throttled_usec 3\n"), Some(Duration::from_micros(3)));
        assert_eq!(throttled("nr_throttled 3\n"), None);
        assert_eq!(throttled("throttled_usec x\n"), None);
    }

    fn stolen_between(before: &str, after: &str, cpus: &[usize]) -> Option<f64> {
        let fixture = Fixture::new(&[("proc/stat", before)]);
        let change = || std::fs::write(fixture.root().join("proc/stat"), after).unwrap();
        stolen_share_under(&Tree::new(fixture.root()), cpus, change)
    }

    #[test]
    fn the_stolen_share_is_of_the_time_in_which_there_was_work() {
        let stat = |busy: u64, idle: u64, stolen: u64| {
            format!("cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\n")
        };
        // The CPU had work in 40 ticks, 10 of them stolen; the 60 idle ones do not count.
        assert_eq!(stolen_between(&stat(100, 0, 5), &stat(130, 60, 15), &[0]), Some(0.25));
        assert_eq!(stolen_between(&stat(100, 0, 5), &stat(102, 60, 6), &[0]), Some(0.0));
        assert_eq!(stolen_between(&stat(100, 0, 5), &stat(130, 60, 4), &[0]), None);
        assert_eq!(stolen_between(&stat(100, 0, 5), "", &[0]), None);
        // CPU 0 never had steal time, so nothing is waited for.
        assert_eq!(stolen_between(&stat(100, 0, 0), &stat(130, 0, 30), &[0]), None);
    }

    #[test]
    fn this_machine_counts_its_interrupts_forwards() {
        let cpus = crate::cpu::allowed();
        let first = now(&cpus);
        let second = now(&cpus);
        if let (Some(first), Some(second)) = (first.interrupts, second.interrupts) {
            assert!(second >= first);
        }
        assert_eq!(first.interrupts.is_some(), second.since(first).interrupts.is_some());
    }
}
