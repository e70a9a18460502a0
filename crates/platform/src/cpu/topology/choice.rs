//! The choice of CPUs by their distance.

use crate::CaseError;

/// A CPU, and the parts of the machine it belongs to, each named by the lowest number of its CPUs; `None` where the system
/// does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuLocation {
    /// Number of the CPU.
    pub cpu: usize,
    /// Core.
    pub core: Option<usize>,
    /// Last-level cache.
    pub cache: Option<usize>,
    /// Socket.
    pub socket: Option<usize>,
}

/// The distance of CPUs: the smallest part of which each has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// Hardware threads of one core.
    Thread,
    /// Cores that share their last-level cache; where the caches are unknown, cores of one socket.
    Core,
    /// Cores of one socket with different last-level caches.
    Cache,
    /// Cores of different sockets.
    Socket,
}

/// The locations of some CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    cpus: Vec<CpuLocation>,
}

/// A part of the machine that CPUs belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Cpu,
    Core,
    Cache,
    Socket,
    Machine,
}

impl Part {
    /// The number of the CPU's part of this kind.
    fn of(self, location: &CpuLocation) -> Option<usize> {
        match self {
            Self::Cpu => Some(location.cpu),
            Self::Core => location.core,
            Self::Cache => location.cache,
            Self::Socket => location.socket,
            Self::Machine => Some(0),
        }
    }

    /// The description of CPUs that share such a part, for messages.
    fn what(self) -> &'static str {
        match self {
            Self::Cpu => "are the same",
            Self::Core => "are hardware threads of one core",
            Self::Cache => "share a cache",
            Self::Socket => "are in one socket",
            Self::Machine => "are in one machine",
        }
    }
}

impl Topology {
    /// The topology of `cpus`.
    pub fn of(cpus: Vec<CpuLocation>) -> Self {
        Self { cpus }
    }

    /// The CPUs, in the order they were given.
    pub fn cpus(&self) -> &[CpuLocation] {
        &self.cpus
    }

    /// CPUs for tasks in turn. Any two neighbours in the list are at this distance, as far as there are enough CPUs; the
    /// first two always are. Unless hardware threads are requested, there is one CPU per core. Where possible, the list
    /// begins with the last CPU of the topology, on which single measurements are made.
    ///
    /// # Errors
    /// `Unsupported` if no two CPUs are at this distance, or the system does not report it.
    pub fn cpus_apart(&self, distance: Distance) -> Result<Vec<usize>, CaseError> {
        let caches_are_known = self.cpus.iter().any(|at| at.cache.is_some());
        let (within, apart, missing) = match distance {
            Distance::Thread => (Part::Core, Part::Cpu, "no two hardware threads of one core"),
            Distance::Core if caches_are_known => {
                (Part::Cache, Part::Core, "no two cores that share a last-level cache")
            }
            Distance::Core => (Part::Socket, Part::Core, "no two cores of one socket"),
            Distance::Cache => {
                (Part::Socket, Part::Cache, "no two last-level caches of one socket")
            }
            Distance::Socket => (Part::Machine, Part::Socket, "no two sockets"),
        };
        for part in [apart, within] {
            if self.cpus.iter().all(|at| part.of(at).is_none()) {
                let what = part.what();
                let reason = format!("this system does not report which CPUs {what}");
                return Err(CaseError::Unsupported(reason));
            }
        }
        // The order is descending, so that the first one is the CPU of single measurements.
        let mut candidates: Vec<&CpuLocation> = self.cpus.iter().rev().collect();
        if distance != Distance::Thread {
            candidates = first_of_each(&candidates, Part::Core);
        }
        groups(&candidates, within)
            .into_iter()
            .map(|group| groups(&group, apart))
            .find(|parts| parts.len() >= 2)
            .map(|parts| in_turn(&parts))
            .ok_or_else(|| {
                CaseError::Unsupported(format!(
                    "{missing} among the CPUs that this process may use"
                ))
            })
    }
}

/// The first CPU of each part, without CPUs whose part is unknown.
fn first_of_each<'a>(cpus: &[&'a CpuLocation], part: Part) -> Vec<&'a CpuLocation> {
    groups(cpus, part).into_iter().map(|group| group[0]).collect()
}

/// The CPUs of each part, in the order in which the parts first occur, without CPUs whose part is unknown.
fn groups<'a>(cpus: &[&'a CpuLocation], part: Part) -> Vec<Vec<&'a CpuLocation>> {
    let mut groups: Vec<(usize, Vec<&CpuLocation>)> = Vec::new();
    for &cpu in cpus {
        let Some(number) = part.of(cpu) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == number) {
            Some((_, group)) => group.push(cpu),
            None => groups.push((number, vec![cpu])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// The first CPU of each part, then the second ones, and so on.
fn in_turn(parts: &[Vec<&CpuLocation>]) -> Vec<usize> {
    let most = parts.iter().map(Vec::len).max().unwrap_or(0);
    (0..most)
        .flat_map(|at| parts.iter().filter_map(move |part| part.get(at)))
        .map(|at| at.cpu)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Part = Option<usize>;

    /// CPUs with core, cache and socket.
    fn topology(cpus: &[(usize, Part, Part, Part)]) -> Topology {
        let location = |&(cpu, core, cache, socket): &_| CpuLocation { cpu, core, cache, socket };
        Topology { cpus: cpus.iter().map(location).collect() }
    }

    #[test]
    fn what_is_unknown_is_unsupported_with_that_reason() {
        let unknown = topology(&[(0, None, None, None), (1, None, None, None)]);
        for (distance, what) in [
            (Distance::Thread, "are hardware threads of one core"),
            (Distance::Core, "are hardware threads of one core"),
            (Distance::Cache, "share a cache"),
            (Distance::Socket, "are in one socket"),
        ] {
            let reason = format!("this system does not report which CPUs {what}");
            assert_eq!(unknown.cpus_apart(distance), Err(CaseError::Unsupported(reason)));
        }
    }

    #[test]
    fn a_single_cpu_is_far_from_none() {
        let one = topology(&[(3, Some(3), Some(0), Some(0))]);
        for distance in [Distance::Thread, Distance::Core, Distance::Cache, Distance::Socket] {
            let refused = one.cpus_apart(distance);
            assert!(
                matches!(&refused, Err(CaseError::Unsupported(why)) if why.starts_with("no two ")),
                "{refused:?}"
            );
        }
    }
}
