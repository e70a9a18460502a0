//! Limits of control groups. A process's limit is the minimum over its group and all ancestors (the kernel's cgroup-v2 and
//! cgroup-v1 documents).

use super::tree::Tree;
use crate::format::{cpu_share, size};

/// The CPU time that this process's groups may use: `1.5 CPUs`, or `none`.
///
/// `own_kernel`: the kernel is Linux itself. In a sandbox, groups that show no limit may still be under one
/// of the host's.
pub(crate) fn cpu_limit(tree: &Tree, own_kernel: bool) -> Option<String> {
    shown(cpu_quota(tree)?, own_kernel, cpu_share)
}

/// The CPU time that this process's groups may use, in CPUs. The outer `None`: no groups can be read; the inner one: none
/// of them has a limit.
pub(crate) fn cpu_quota(tree: &Tree) -> Option<Option<f64>> {
    least(tree, "cpu", |directory| match tree.text(&format!("{directory}/cpu.max")) {
        Some(limit) => cpus_of_v2(&limit),
        None => {
            let number = |file: &str| tree.text(&format!("{directory}/cpu.cfs_{file}_us"));
            cpus_of_v1(&number("quota")?, &number("period")?)
        }
    })
}

/// The memory that this process's groups may use: `512 MiB`, or `none`.
pub(crate) fn memory_limit(tree: &Tree, own_kernel: bool) -> Option<String> {
    let limit = least(tree, "memory", |directory| {
        ["memory.max", "memory.limit_in_bytes"]
            .into_iter()
            .find_map(|file| bytes_of(&tree.text(&format!("{directory}/{file}"))?))
    })?;
    shown(limit, own_kernel, |bytes| size(bytes as u64))
}

/// The memory in bytes that this process's groups leave it, including reclaimable page cache; `None` if no group has a
/// limit.
pub(crate) fn memory_left(tree: &Tree) -> Option<u64> {
    let left = least(tree, "memory", |directory| {
        let first = |files: [&str; 2]| {
            files.into_iter().find_map(|file| bytes_of(&tree.text(&format!("{directory}/{file}"))?))
        };
        let limit = first(["memory.max", "memory.limit_in_bytes"])?;
        let used = first(["memory.current", "memory.usage_in_bytes"]).unwrap_or(0.0);
        let stat = tree.text(&format!("{directory}/memory.stat")).unwrap_or_default();
        let cached = ["total_inactive_file ", "inactive_file "].into_iter().find_map(|name| {
            stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
        });
        Some((limit - used + cached.unwrap_or(0.0)).max(0.0))
    });
    left?.map(|bytes| bytes as u64)
}

fn shown(limit: Option<f64>, own_kernel: bool, show: impl Fn(f64) -> String) -> Option<String> {
    match limit {
        Some(limit) => Some(show(limit)),
        None => own_kernel.then(|| "none".to_owned()),
    }
}

/// The limit in CPUs of a `cpu.max` such as `150000 100000` or `max 100000`.
fn cpus_of_v2(limit: &str) -> Option<f64> {
    let (quota, period) = limit.split_once(' ')?;
    cpus_of_v1(quota, period)
}

/// The limit in CPUs of a quota per period, both in microseconds; a quota of -1 is no limit.
fn cpus_of_v1(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (u64, u64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (period != 0).then(|| quota as f64 / period as f64)
}

fn bytes_of(limit: &str) -> Option<f64> {
    // Version 1 represents "no limit" by the greatest number of whole pages.
    const UNLIMITED: u64 = 1 << 62;
    let bytes: u64 = limit.parse().ok()?;
    (bytes < UNLIMITED).then_some(bytes as f64)
}

/// The minimum of a limit over this process's groups in all hierarchies that `controller` may be in. The outer `None`:
/// there is no such hierarchy; the inner one: no group in it has a limit.
fn least(tree: &Tree, controller: &str, read: impl Fn(&str) -> Option<f64>) -> Option<Option<f64>> {
    let directories = directories(tree, controller)?;
    let limits = directories.iter().filter_map(|directory| read(directory));
    Some(limits.reduce(f64::min))
}

/// The directories of this process's own group and of those above it, in each hierarchy that `controller` may
/// be in; `None` if there is no such hierarchy.
pub(crate) fn directories(tree: &Tree, controller: &str) -> Option<Vec<String>> {
    let mountinfo = tree.text("proc/self/mountinfo")?;
    let groups = tree.text("proc/self/cgroup")?;
    let hierarchies: Vec<Vec<String>> = mountinfo
        .lines()
        .filter_map(Mount::parse)
        .filter_map(|mount| {
            let own = own_group(&groups, &mount, controller)?;
            Some(mount.directories_up_from(own))
        })
        .collect();
    (!hierarchies.is_empty()).then(|| hierarchies.concat())
}

/// A hierarchy of groups, as listed in proc_pid_mountinfo(5).
struct Mount<'a> {
    /// The group that the mount point shows.
    root: &'a str,
    point: String,
    /// Controllers; empty for version 2, which has all of them in one hierarchy.
    controllers: Vec<&'a str>,
}

impl Mount<'_> {
    fn parse(line: &str) -> Option<Mount<'_>> {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (mount.next()?, mount.next()?);
        let mut filesystem = filesystem.split(' ');
        let controllers = match (filesystem.next()?, filesystem.nth(1)) {
            ("cgroup2", _) => Vec::new(),
            ("cgroup", Some(options)) => options.split(',').collect(),
            _ => return None,
        };
        Some(Mount {
            root,
            // Spaces are the only escaped characters that mount points contain in practice.
            point: point.replace("\\040", " "),
            controllers,
        })
    }

    /// The directories of `group` and of those above it, up to the mount point. For a group outside the mounted part, as in
    /// some containers, the mount point alone.
    fn directories_up_from(&self, group: &str) -> Vec<String> {
        let root = self.root.trim_end_matches('/');
        let below = group
            .strip_prefix(root)
            .filter(|below| below.is_empty() || below.starts_with('/'))
            .filter(|below| !below.split('/').any(|part| part == ".."))
            .unwrap_or_default();
        let mut names: Vec<&str> = below.split('/').filter(|name| !name.is_empty()).collect();
        let mut directories = Vec::new();
        loop {
            let directory = [&[self.point.as_str()], names.as_slice()].concat();
            directories.push(directory.join("/"));
            if names.pop().is_none() {
                return directories;
            }
        }
    }
}

/// The group of this process in the mounted hierarchy, if `controller` may be in it. `groups` has lines such as
/// `4:memory:/docker/0123`, and `0::/user.slice` for version 2 (cgroups(7)).
fn own_group<'a>(groups: &'a str, mount: &Mount, controller: &str) -> Option<&'a str> {
    let unified = mount.controllers.is_empty();
    if !unified && !mount.controllers.contains(&controller) {
        return None;
    }
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        let matches = match unified {
            true => controllers.is_empty(),
            false => controllers.split(',').any(|one| one == controller),
        };
        matches.then_some(group)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tree::fixture::in_tree;

    const V2: &str = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "22 27 0:21 / /proc rw - proc proc rw\n\
        32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    /// What `read` finds for a process with these mounts and groups, and files of groups below `/sys/fs/cgroup`.
    fn in_groups<T>(
        mounts: &str,
        groups: &str,
        files: &[(&str, &str)],
        read: impl FnOnce(&Tree) -> T,
    ) -> T {
        let folders = files.iter().map(|(file, text)| (format!("sys/fs/cgroup/{file}"), *text));
        let folders: Vec<(String, &str)> = folders.collect();
        let mut all = vec![("proc/self/mountinfo", mounts), ("proc/self/cgroup", groups)];
        all.extend(folders.iter().map(|(file, text)| (file.as_str(), *text)));
        in_tree(&all, read)
    }

    fn both_limits(tree: &Tree) -> (Option<String>, Option<String>) {
        (cpu_limit(tree, true), memory_limit(tree, true))
    }

    fn limits(
        mounts: &str,
        groups: &str,
        files: &[(&str, &str)],
    ) -> (Option<String>, Option<String>) {
        in_groups(mounts, groups, files, both_limits)
    }

    fn some(cpu: &str, memory: &str) -> (Option<String>, Option<String>) {
        (Some(cpu.to_owned()), Some(memory.to_owned()))
    }

    #[test]
    fn the_least_limit_on_the_way_up_holds_in_version_2() {
        let files = [
            ("kubepods.slice/cpu.max", "150000 100000\n"),
            ("kubepods.slice/pod1.slice/cpu.max", "max 100000\n"),
            ("kubepods.slice/pod1.slice/app/cpu.max", "400000 100000\n"),
            ("kubepods.slice/memory.max", "max\n"),
            ("kubepods.slice/pod1.slice/memory.max", "536870912\n"),
            ("kubepods.slice/pod1.slice/app/memory.max", "1073741824\n"),
            ("other.slice/memory.max", "1\n"),
        ];
        let found = limits(V2, "0::/kubepods.slice/pod1.slice/app\n", &files);
        assert_eq!(found, some("1.5 CPUs", "512 MiB"));
    }

    #[test]
    fn the_least_limit_on_the_way_up_holds_in_version_1() {
        let files = [
            ("cpu,cpuacct/jobs/cpu.cfs_quota_us", "50000\n"),
            ("cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"),
            ("cpu,cpuacct/jobs/one/cpu.cfs_quota_us", "-1\n"),
            ("cpu,cpuacct/jobs/one/cpu.cfs_period_us", "100000\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/jobs/memory.limit_in_bytes", "2147483648\n"),
            ("memory/jobs/one/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let groups = "4:memory:/jobs/one\n2:cpu,cpuacct:/jobs/one\n0::/\n";
        assert_eq!(limits(V1, groups, &files), some("0.5 CPUs", "2 GiB"));
    }

    #[test]
    fn a_container_sees_its_own_limit_at_the_mount_point() {
        // Docker mounts the container's own group there on version 1, but shows its name on the host.
        let mounts = "32 31 0:29 /docker/0a /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n\
            35 31 0:32 /docker/0a /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let files = [
            ("cpu/cpu.cfs_quota_us", "200000\n"),
            ("cpu/cpu.cfs_period_us", "100000\n"),
            ("memory/memory.limit_in_bytes", "268435456\n"),
        ];
        let found = limits(mounts, "4:memory:/docker/0a\n2:cpu:/docker/0a\n", &files);
        assert_eq!(found, some("2 CPUs", "256 MiB"));
        // A cgroup namespace shows a group outside it by `..`.
        let found = limits(V2, "0::/../../other\n", &[("cpu.max", "100000 100000\n")]);
        assert_eq!(found, some("1 CPU", "none"));
    }

    #[test]
    fn cached_files_count_as_memory_left() {
        let pod = [
            ("pod/memory.max", "1000000\n"),
            ("pod/memory.current", "700000\n"),
            ("pod/memory.stat", "anon 400000\ninactive_file 200000\n"),
        ];
        let app = [("pod/app/memory.max", "800000\n"), ("pod/app/memory.current", "900000\n")];
        for (groups, files, expected) in [
            ("0::/\n", &[][..], None),
            ("0::/pod/app\n", &[], None),
            ("0::/pod\n", &pod, Some(500_000)),
            ("0::/pod/app\n", &pod, Some(500_000)),
            ("0::/pod/app\n", &[&pod[..], &app].concat(), Some(0)),
        ] {
            let left = in_groups(V2, groups, files, memory_left);
            assert_eq!(left, expected, "{groups:?} {files:?}");
        }
    }

    #[test]
    fn groups_without_limits_have_none() {
        assert_eq!(limits(V2, "0::/\n", &[]), some("none", "none"));
        let of_another_kernel = |tree: &Tree| (cpu_limit(tree, false), memory_limit(tree, false));
        assert_eq!(in_groups(V2, "0::/\n", &[], of_another_kernel), (None, None));
    }

    #[test]
    fn without_groups_the_limit_is_unknown() {
        assert_eq!(in_tree(&[], both_limits), (None, None));
        let unmounted = "22 27 0:21 / /proc rw - proc proc rw\n";
        assert_eq!(limits(unmounted, "0::/\n", &[]), (None, None));
        assert_eq!(limits(V2, "odd\n", &[]), (None, None));
    }

    #[test]
    fn quotas_are_read_or_refused() {
        assert_eq!(cpus_of_v2("150000 100000"), Some(1.5));
        assert_eq!(cpus_of_v2("max 100000"), None);
        assert_eq!(cpus_of_v2("odd"), None);
        assert_eq!(cpus_of_v1("-1", "100000"), None);
        assert_eq!(cpus_of_v1("1", "0"), None);
        assert_eq!(bytes_of("max"), None);
        assert_eq!(bytes_of("4096"), Some(4096.0));
    }
}
