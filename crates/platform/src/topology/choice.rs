//! The choice of CPUs by what they have in common.

use crate::CaseError;

/// A CPU, and what it is part of: each is named by the lowest number of the CPUs that it has, and is `None` where the system
/// does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuLocation {
    /// Its number.
    pub cpu: usize,
    /// Its core.
    pub core: Option<usize>,
    /// Its last-level cache.
    pub cache: Option<usize>,
    /// Its socket.
    pub socket: Option<usize>,
}

/// How far apart CPUs are: the smallest thing of which each has its own.
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

/// Where some CPUs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    cpus: Vec<CpuLocation>,
}

/// What a CPU is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Cpu,
    Core,
    Cache,
    Socket,
    Machine,
}

impl Part {
    /// Which one of its kind the CPU is part of.
    fn of(self, location: &CpuLocation) -> Option<usize> {
        match self {
            Self::Cpu => Some(location.cpu),
            Self::Core => location.core,
            Self::Cache => location.cache,
            Self::Socket => location.socket,
            Self::Machine => Some(0),
        }
    }

    /// What CPUs of one such part have in common.
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
    /// Of these CPUs.
    pub fn of(cpus: Vec<CpuLocation>) -> Self {
        Self { cpus }
    }

    /// The CPUs, in the order they were given.
    pub fn cpus(&self) -> &[CpuLocation] {
        &self.cpus
    }

    /// CPUs of which any two neighbours in the list are this far apart, as far as there are enough, and the first two always:
    /// tasks take them in turn. They are on one CPU per core, unless hardware threads are asked for. The last CPU of the
    /// topology, on which single measurements are made, is the first one where it can be.
    ///
    /// # Errors
    /// `Unsupported` if there are no two such CPUs, or the system does not report it.
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
        // From the last down, so that the first one has the CPU of single measurements.
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

/// The first CPU of each part; CPUs of which the part is unknown are left out.
fn first_of_each<'a>(cpus: &[&'a CpuLocation], part: Part) -> Vec<&'a CpuLocation> {
    groups(cpus, part).into_iter().map(|group| group[0]).collect()
}

/// The CPUs of each part, in the order in which the parts first occur, without those of which it is unknown.
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
