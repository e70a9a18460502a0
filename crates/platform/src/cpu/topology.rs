//! Topology of CPUs, by hardware threads, caches and sockets, and the choice of CPUs by it.

mod choice;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

pub use choice::{CpuLocation, Distance, Topology};

#[cfg(target_os = "linux")]
use linux as os;
#[cfg(windows)]
use windows as os;

/// The topology of `cpus`, as the system reports it.
pub fn here(cpus: &[usize]) -> Topology {
    Topology::of(os::locations(cpus))
}

/// No topology: the BSDs and macOS report counts of cores, but not which CPUs belong to each.
#[cfg(not(any(target_os = "linux", windows)))]
mod os {
    use super::CpuLocation;

    pub fn locations(cpus: &[usize]) -> Vec<CpuLocation> {
        let unknown = |&cpu: &usize| CpuLocation { cpu, core: None, cache: None, socket: None };
        cpus.iter().map(unknown).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_each_cpu_once() {
        let allowed = crate::cpu::allowed();
        let here = here(&allowed);
        assert_eq!(here.cpus().iter().map(|at| at.cpu).collect::<Vec<_>>(), allowed);
        for distance in [Distance::Thread, Distance::Core, Distance::Cache, Distance::Socket] {
            match here.cpus_apart(distance) {
                Ok(cpus) => {
                    let distinct: std::collections::BTreeSet<_> = cpus.iter().collect();
                    assert!(cpus.len() >= 2 && distinct.len() == cpus.len(), "{cpus:?}");
                    assert!(cpus.iter().all(|cpu| allowed.contains(cpu)), "{cpus:?}");
                }
                Err(reason) => println!("{distance:?}: {reason}"),
            }
        }
    }
}
