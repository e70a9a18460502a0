//! Linux: /sys/devices/system/cpu (Documentation/ABI/stable/sysfs-devices-system-cpu).

use std::path::Path;

use super::choice::CpuLocation;
use crate::linux::tree::{Tree, cpus_in};

const CPUS: &str = "sys/devices/system/cpu";

pub fn locations(cpus: &[usize]) -> Vec<CpuLocation> {
    locations_under(&Tree::new(Path::new("/")), cpus)
}

fn locations_under(tree: &Tree, cpus: &[usize]) -> Vec<CpuLocation> {
    let location = |&cpu: &usize| {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        // Linux before 5.3 had only the second names of the lists.
        let first_in = |names: [&str; 2]| {
            names.into_iter().find_map(|name| lowest_in(tree, &format!("{topology}/{name}")))
        };
        CpuLocation {
            cpu,
            core: first_in(["core_cpus_list", "thread_siblings_list"]),
            cache: last_cache(tree, cpu),
            socket: first_in(["package_cpus_list", "core_siblings_list"]),
        }
    };
    cpus.iter().map(location).collect()
}

/// The lowest CPU in a file's list.
fn lowest_in(tree: &Tree, file: &str) -> Option<usize> {
    cpus_in(&tree.text(file)?)?.into_iter().min()
}

/// The lowest CPU that shares the highest-level data cache. `None` where only first-level caches are reported: the last
/// level is then unknown.
fn last_cache(tree: &Tree, cpu: usize) -> Option<usize> {
    let folder = format!("{CPUS}/cpu{cpu}/cache");
    let caches = tree.names(&folder)?.into_iter().filter(|name| name.starts_with("index"));
    let described = caches.filter_map(|name| {
        let file = |part: &str| format!("{folder}/{name}/{part}");
        let level = tree.number(&file("level")).filter(|&level| level > 1)?;
        let holds_data = tree.text(&file("type")).as_deref() != Some("Instruction");
        Some((level, lowest_in(tree, &file("shared_cpu_list"))?)).filter(|_| holds_data)
    });
    described.max_by_key(|(level, _)| *level).map(|(_, lowest)| lowest)
}

#[cfg(test)]
mod tests {
    use super::super::choice::{Distance, Topology};
    use super::*;
    use crate::CaseError;
    use crate::linux::tree::fixture::in_tree;

    /// The lists of one CPU: its core, its socket, and its caches by level.
    struct Cpu {
        core: String,
        socket: String,
        caches: Vec<(u32, String)>,
    }

    fn topology(cpus: &[Cpu]) -> Topology {
        topology_of(cpus, &(0..cpus.len()).collect::<Vec<_>>())
    }

    /// The topology of the `allowed` CPUs of a machine.
    fn topology_of(cpus: &[Cpu], allowed: &[usize]) -> Topology {
        let mut files: Vec<(String, String)> = Vec::new();
        for (number, cpu) in cpus.iter().enumerate() {
            let folder = format!("{CPUS}/cpu{number}");
            let mut add = |file: &str, text: &str| {
                files.push((format!("{folder}/{file}"), format!("{text}\n")));
            };
            add("topology/core_cpus_list", &cpu.core);
            add("topology/thread_siblings_list", &cpu.core);
            add("topology/package_cpus_list", &cpu.socket);
            if !cpu.caches.is_empty() {
                // This entry is the first-level instruction cache.
                add("cache/index9/level", "1");
                add("cache/index9/type", "Instruction");
                add("cache/index9/shared_cpu_list", &cpu.core);
            }
            for (index, (level, shared)) in cpu.caches.iter().enumerate() {
                add(&format!("cache/index{index}/level"), &level.to_string());
                let kind = if *level == 1 { "Data" } else { "Unified" };
                add(&format!("cache/index{index}/type"), kind);
                add(&format!("cache/index{index}/shared_cpu_list"), shared);
            }
        }
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        Topology::of(in_tree(&files, |tree| locations_under(tree, allowed)))
    }

    fn with_caches(core: String, last: &str, socket: &str) -> Cpu {
        let caches = vec![(1, core.clone()), (2, core.clone()), (3, last.to_owned())];
        Cpu { core, socket: socket.to_owned(), caches }
    }

    /// A server with two 16-core processors, numbered so that the second threads of all cores follow all first ones.
    fn two_sockets() -> Vec<Cpu> {
        let cpu = |cpu: usize| {
            let core = cpu % 32;
            let socket = if core < 16 { "0-15,32-47" } else { "16-31,48-63" };
            with_caches(format!("{core},{}", core + 32), socket, socket)
        };
        (0..64).map(cpu).collect()
    }

    /// A desktop processor of 16 cores in two complexes, each with an L3 cache of its own.
    fn two_complexes() -> Vec<Cpu> {
        let cpu = |cpu: usize| {
            let core = cpu % 16;
            let cache = if core < 8 { "0-7,16-23" } else { "8-15,24-31" };
            with_caches(format!("{core},{}", core + 16), cache, "0-31")
        };
        (0..32).map(cpu).collect()
    }

    /// A laptop processor: 4 large cores of two threads, and 4 small ones of one thread that share an L2 cache.
    fn hybrid() -> Vec<Cpu> {
        let large = |cpu: usize| {
            let first = cpu - cpu % 2;
            with_caches(format!("{first}-{}", first + 1), "0-11", "0-11")
        };
        let small = |cpu: usize| Cpu {
            core: cpu.to_string(),
            socket: "0-11".to_owned(),
            caches: vec![(1, cpu.to_string()), (2, "8-11".to_owned()), (3, "0-11".to_owned())],
        };
        (0..8).map(large).chain((8..12).map(small)).collect()
    }

    fn virtual_machine() -> Vec<Cpu> {
        let cpu = |cpu: usize| Cpu {
            core: cpu.to_string(),
            socket: "0-3".to_owned(),
            caches: Vec::new(),
        };
        (0..4).map(cpu).collect()
    }

    fn reason(result: Result<Vec<usize>, CaseError>) -> String {
        match result {
            Err(CaseError::Unsupported(reason)) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn of_two_sockets_all_distances_but_one_exist() {
        let machine = topology(&two_sockets());
        // CPU 63 is the second thread of core 31.
        assert_eq!(machine.cpus_apart(Distance::Thread).unwrap(), [63, 31]);
        let cores = machine.cpus_apart(Distance::Core).unwrap();
        assert_eq!(cores, (48..64).rev().collect::<Vec<_>>(), "one thread of each core");
        let sockets = machine.cpus_apart(Distance::Socket).unwrap();
        assert_eq!(sockets[..4], [63, 47, 62, 46]);
        assert_eq!(sockets.len(), 32);
        let why = reason(machine.cpus_apart(Distance::Cache));
        assert!(why.starts_with("no two last-level caches of one socket among the CPUs"), "{why}");
    }

    #[test]
    fn only_allowed_cpus_are_chosen_and_the_measuring_one_first() {
        let machine = topology_of(&two_sockets(), &[0, 1, 16, 32, 33]);
        assert_eq!(machine.cpus_apart(Distance::Thread).unwrap(), [33, 1]);
        assert_eq!(machine.cpus_apart(Distance::Core).unwrap(), [33, 32]);
        assert_eq!(machine.cpus_apart(Distance::Socket).unwrap(), [33, 16, 32]);
        let one_socket = topology_of(&two_sockets(), &[0, 1, 2]);
        let why = reason(one_socket.cpus_apart(Distance::Thread));
        assert_eq!(
            why,
            "no two hardware threads of one core among the CPUs that this process may use"
        );
        assert!(reason(one_socket.cpus_apart(Distance::Socket)).starts_with("no two sockets"));
        // The measuring CPU has no sibling among these; two others are siblings.
        let elsewhere = topology_of(&two_sockets(), &[0, 32, 5]);
        assert_eq!(elsewhere.cpus_apart(Distance::Thread).unwrap(), [32, 0]);
    }

    #[test]
    fn complexes_of_one_socket_have_caches_of_their_own() {
        let machine = topology(&two_complexes());
        assert_eq!(machine.cpus_apart(Distance::Thread).unwrap(), [31, 15]);
        assert_eq!(machine.cpus_apart(Distance::Core).unwrap(), (24..32).rev().collect::<Vec<_>>());
        let caches = machine.cpus_apart(Distance::Cache).unwrap();
        assert_eq!((&caches[..4], caches.len()), (&[31, 23, 30, 22][..], 16));
        assert!(reason(machine.cpus_apart(Distance::Socket)).starts_with("no two sockets"));
    }

    #[test]
    fn small_cores_without_threads_do_not_hide_those_that_have_them() {
        let machine = topology(&hybrid());
        assert_eq!(machine.cpus_apart(Distance::Thread).unwrap(), [7, 6]);
        // The last-level cache is that of the highest level, not the L2 cache of the small cores.
        let cores = machine.cpus_apart(Distance::Core).unwrap();
        assert_eq!(cores, [11, 10, 9, 8, 7, 5, 3, 1]);
        assert!(machine.cpus_apart(Distance::Cache).is_err());
        let small = topology_of(&hybrid(), &[8, 9, 10, 11]);
        assert!(reason(small.cpus_apart(Distance::Thread)).starts_with("no two hardware threads"));
    }

    #[test]
    fn a_virtual_machine_without_caches_still_has_cores() {
        let machine = topology(&virtual_machine());
        assert_eq!(machine.cpus_apart(Distance::Core).unwrap(), [3, 2, 1, 0]);
        assert_eq!(
            reason(machine.cpus_apart(Distance::Cache)),
            "this system does not report which CPUs share a cache"
        );
        assert!(machine.cpus_apart(Distance::Thread).is_err());
        assert!(machine.cpus_apart(Distance::Socket).is_err());
    }

    #[test]
    fn old_names_of_the_lists_are_read_too() {
        let files = [
            ("sys/devices/system/cpu/cpu4/topology/thread_siblings_list", "4-5\n"),
            ("sys/devices/system/cpu/cpu4/topology/core_siblings_list", "2-7\n"),
        ];
        let named = CpuLocation { cpu: 4, core: Some(4), cache: None, socket: Some(2) };
        let empty = CpuLocation { cpu: 9, core: None, cache: None, socket: None };
        assert_eq!(in_tree(&files, |tree| locations_under(tree, &[4, 9])), [named, empty]);
    }
}
