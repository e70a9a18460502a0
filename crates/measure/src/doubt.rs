//! Reasons to doubt a figure, and the only place with their wording.
//!
//! A doubt is stored as a code and fields, and recognised by its variant, so that its sentence can be reworded.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A reason to doubt a figure. Its `Display` is a sentence for people, with the values of its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Error)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Doubt {
    /// Too few rounds had quiet samples, so that all samples were used.
    #[error("hardly ever quiet: this figure is of disturbed samples too")]
    Disturbed,
    /// The quiet samples are a small share of all.
    #[error("quiet for less than 1 % of the time")]
    SeldomQuiet,
    /// The time of an operation went on changing.
    #[error("its time still changed when it had been repeated for 2 s")]
    NotSteady,
    /// Crashes of the worker ended the sampling.
    #[error("its worker died again and again: no more rounds were tried")]
    WorkerDied,
    /// Failures of the system ended the sampling.
    #[error("its system failed: no more rounds were tried")]
    SystemFailed,
    /// The system was started less often than planned.
    #[error("from fewer starts of its system than it should be")]
    FewStarts,
    /// There are fewer rounds than an interval needs.
    #[error("from fewer rounds than an interval needs")]
    FewRounds,
    /// Quiet samples form several levels, differently in each round.
    #[error("comes in several steady modes; which one prevails may change")]
    SeveralModes,
    /// The measured slope contradicts the declaration of the case.
    #[error(
        "its cycles change with the core's frequency, although the case is declared core-bound"
    )]
    NotCoreBound,
    /// The agent cannot start processes, so that rounds are not independent.
    #[error("measured in the agent's own process: only starts of the system are independent")]
    OwnProcess,
    /// The system's clock does not run at the rate of the processor's clock.
    #[error("{reason}: its times are not this processor's")]
    Emulated {
        /// The fact in the machine's description that shows it.
        reason: String,
    },
    /// Another tool measured the figure.
    #[error("measured by {tool}: {}", spread.words())]
    OtherTool {
        /// The tool, with its version if known.
        tool: String,
        /// The origin of its spread.
        spread: OtherSpread,
    },

    /// The load generator was the bottleneck: a rate is a lower bound of the server's.
    #[error("client-saturated: the load generator was the bottleneck")]
    ClientSaturated,
    /// The receiver of mail was the bottleneck: a rate is a lower bound of the sender's.
    #[error("receiver-saturated: the sink was the bottleneck")]
    ReceiverSaturated,
    /// Both sides of a mail transfer compete for the CPU.
    #[error("the sender and the sink share the only CPU")]
    SharedCpu,
    /// The requested work failed.
    #[error("the work for some requests failed")]
    WorkFailed,
    /// The server had too few processes or threads.
    #[error("the server could not start another process or thread")]
    ServerLacksProcess,
    /// The server had too few descriptors.
    #[error("the server had no descriptor for another connection")]
    ServerLacksDescriptor,
    /// The server had too little memory.
    #[error("the server had no memory for another connection")]
    ServerLacksMemory,
    /// The server closed connections of slow clients.
    #[error("the server closed connections of clients that were too slow")]
    ClientsTooSlow,
    /// The server accepted too slowly.
    #[error("the accept queue was full (net.core.somaxconn): the system dropped connections")]
    AcceptQueueFull,
    /// Clients could not connect.
    #[error("connections were refused")]
    ConnectionsRefused,
    /// Clients lost their connection.
    #[error("connections were reset")]
    ConnectionsReset,
    /// Clients timed out.
    #[error("connects or replies timed out")]
    TimedOut,
    /// The server ended connections too early.
    #[error("connections were closed before the reply")]
    ClosedEarly,
    /// The generator had too few ports.
    #[error("the generator had no local port for another connection")]
    GeneratorLacksPort,
    /// The generator had too few descriptors.
    #[error("the generator had no descriptor for another connection")]
    GeneratorLacksDescriptor,
    /// The sender of mail could not open more connections.
    #[error("the sender had no port, descriptor, thread or process for another connection")]
    SenderShortage,
    /// The sender of mail lost connections.
    #[error("connections failed or were lost")]
    ConnectionsLost,

    /// The files are on a file system without a device.
    #[error("{file_system} stores files in memory only: there is nothing to sync")]
    NothingToSync {
        /// Type of the file system, such as `tmpfs`.
        file_system: String,
    },
    /// Sync was faster than devices are.
    #[error("sync took too little time for the data to have reached a device")]
    SyncTooFast,
    /// Latency does not rise near the size of the cache.
    #[error("the sweep shows no end of {cache}")]
    NoEndOfCache {
        /// The cache.
        cache: Cache,
    },
    /// Latency rises at another size than the reported one.
    #[error("the sweep shows another size of {cache} than is reported")]
    OtherCacheSize {
        /// The cache.
        cache: Cache,
    },
    /// Wake-ups may include threads that did not sleep.
    #[error("the system does not count whether the thread slept")]
    SleepNotCounted,
    /// Runs of the timed command failed.
    #[error("the command {}", if how.is_empty() { "failed" } else { how })]
    CommandFailed {
        /// How runs ended that failed, and how many.
        #[serde(default)]
        how: String,
    },
    /// Runs of the timed command left processes behind.
    #[error("it left processes behind in {runs} of {of} runs, which were ended: is there a `&`?")]
    LeftProcesses {
        /// Number of these runs.
        runs: usize,
        /// Number of all runs.
        of: usize,
    },
    /// A contended lock stayed with one worker.
    #[error("no worker took the lock over from another while hand-overs were timed")]
    NoHandOver,

    /// The interval reaches the lower end of what was measured.
    #[error("it may lie below {lowest}, the {}", axis.lowest())]
    MayLieBelow {
        /// The quantity of the axis.
        axis: Axis,
        /// The lowest value measured.
        lowest: String,
    },
    /// The interval reaches the upper end of what was measured.
    #[error("it may lie above {highest}, the {}", axis.highest())]
    MayLieAbove {
        /// The quantity of the axis.
        axis: Axis,
        /// The highest value measured.
        highest: String,
    },
    /// A rate is only a lower bound, since the generator limited it.
    #[error("it may lie elsewhere: a rate at {} is a lower bound", listed(connections))]
    BoundedRates {
        /// Levels with such a rate, as ranges of neighbouring levels.
        connections: Vec<Vec<u32>>,
    },
    /// Some levels of connections were not measured.
    #[error("without {}, not measured with both", listed(connections))]
    ConnectionsNotMeasured {
        /// Levels not measured, as ranges of neighbouring levels.
        connections: Vec<Vec<u32>>,
    },
    /// Some levels of connections were ignored, because the generator limited their rates.
    #[error("without {}, where the generator was the bottleneck", listed(connections))]
    ConnectionsSaturated {
        /// Levels ignored, as ranges of neighbouring levels.
        connections: Vec<Vec<u32>>,
    },
    /// Some lengths of jobs were not measured.
    #[error("without {}, not measured", lengths.join(", "))]
    LengthsNotMeasured {
        /// Lengths not measured, as values of the parameter.
        lengths: Vec<String>,
    },
    /// Some degrees of concurrency were not measured.
    #[error("without {}, not measured often enough", named_degrees(degrees))]
    DegreesNotMeasured {
        /// Degrees not measured.
        degrees: Vec<f64>,
    },
    /// A fitted law does not describe the rates.
    #[error("{law} misses the rate at degree {degree} by {miss_percent} %")]
    PoorFit {
        /// The law.
        law: ScalingLaw,
        /// The degree of concurrency with the largest deviation.
        degree: f64,
        /// Deviation of the fitted rate from the measured one, in percent.
        miss_percent: u64,
    },
    /// The law has as many parameters as there are points.
    #[error("{degrees} degrees cannot show whether the law holds")]
    FewDegrees {
        /// The number of degrees measured.
        degrees: usize,
    },
    /// The interval of the knee is cut off.
    #[error("the knee may lie beyond {highest_degree}, the highest degree measured")]
    KneeBeyond {
        /// Highest degree of the sweep.
        highest_degree: f64,
    },
    /// The interval of the knee reaches the beginning of the sweep.
    #[error("the rate may fall from degree {lowest_degree} on")]
    FallsFrom {
        /// Lowest degree of the sweep.
        lowest_degree: f64,
    },
    /// The rate has not levelled off within the sweep.
    #[error("it may lie higher: the rate still rises at {connections}")]
    StillRises {
        /// Highest number of connections of the sweep.
        connections: u32,
    },
    /// A single value has no variance.
    #[error("one round has no interval")]
    OneRound,
}

impl Doubt {
    /// The mark at a figure whose interval itself may be wrong; `None` for reasons that are only notes.
    pub fn mark(&self) -> Option<&'static str> {
        match self {
            Doubt::SeveralModes => Some("modes"),
            Doubt::Disturbed | Doubt::SeldomQuiet => Some("busy"),
            Doubt::FewStarts | Doubt::WorkerDied | Doubt::SystemFailed => Some("rounds"),
            Doubt::NotCoreBound => Some("clock"),
            Doubt::NotSteady => Some("trend"),
            Doubt::ClientSaturated => Some("client"),
            Doubt::ReceiverSaturated => Some("receiver"),
            Doubt::Emulated { .. } => Some("emulated"),
            Doubt::OtherTool { .. } => Some("tool"),
            _ => None,
        }
    }

    /// Whether the load generator or the receiver limited a rate.
    pub fn is_saturated(&self) -> bool {
        matches!(self, Doubt::ClientSaturated | Doubt::ReceiverSaturated)
    }

    /// Whether something failed under load.
    pub fn is_failure_under_load(&self) -> bool {
        matches!(
            self,
            Doubt::WorkFailed
                | Doubt::ServerLacksProcess
                | Doubt::ServerLacksDescriptor
                | Doubt::ServerLacksMemory
                | Doubt::ClientsTooSlow
                | Doubt::AcceptQueueFull
                | Doubt::ConnectionsRefused
                | Doubt::ConnectionsReset
                | Doubt::TimedOut
                | Doubt::ClosedEarly
                | Doubt::GeneratorLacksPort
                | Doubt::GeneratorLacksDescriptor
                | Doubt::SenderShortage
                | Doubt::ConnectionsLost
        )
    }
}

/// The origin of the spread of another tool's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OtherSpread {
    /// Each value is of a process that the tool started.
    Processes,
    /// The values are repetitions, perhaps in one process.
    Repetitions,
    /// The interval is the tool's own, of samples in one process.
    Samples,
    /// There is one number only.
    Nothing,
}

impl OtherSpread {
    fn words(self) -> &'static str {
        match self {
            Self::Processes => {
                "its interval is of processes of that tool, without checks for disturbances"
            }
            Self::Repetitions => {
                "its interval is of repetitions that may share a process, and may be too narrow"
            }
            Self::Samples => {
                "its interval is that tool's own, of samples in one process, and may be too narrow"
            }
            Self::Nothing => "one number, whose spread is unknown",
        }
    }
}

/// A cache whose size a sweep finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// L1d.
    FirstLevel,
    /// L2.
    SecondLevel,
}

impl fmt::Display for Cache {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Cache::FirstLevel => "the first-level cache",
            Cache::SecondLevel => "the second-level cache",
        })
    }
}

/// The quantity that a derived figure is a value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// The length of a job.
    JobLength,
    /// The work between acquisitions of a lock, as a time.
    Work,
    /// The resident memory of a process.
    Memory,
    /// The number of connections.
    Connections,
    /// The load offered to a server, as a multiple of its capacity.
    Load,
}

impl Axis {
    fn lowest(self) -> &'static str {
        match self {
            Axis::JobLength => "shortest measured",
            Axis::Work | Axis::Memory => "least measured",
            Axis::Connections => "lowest usable level",
            Axis::Load => "lowest load",
        }
    }

    fn highest(self) -> &'static str {
        match self {
            Axis::JobLength => "longest measured",
            Axis::Work | Axis::Memory => "most measured",
            Axis::Connections => "highest usable level",
            Axis::Load => "highest load",
        }
    }
}

/// A law of scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScalingLaw {
    /// Amdahl 1967.
    Amdahl,
    /// Gunther 2007.
    Usl,
}

impl fmt::Display for ScalingLaw {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            ScalingLaw::Amdahl => "Amdahl's law",
            ScalingLaw::Usl => "the Universal Scalability Law",
        })
    }
}

/// Lists ranges of neighbouring levels: `1, 100 to 5000`.
pub fn listed(stretches: &[Vec<u32>]) -> String {
    let text_of = |stretch: &Vec<u32>| match stretch[..] {
        [first, _, .., last] => format!("{first} to {last}"),
        _ => stretch.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    };
    stretches.iter().map(text_of).collect::<Vec<_>>().join(", ")
}

fn named_degrees(degrees: &[f64]) -> String {
    let names: Vec<String> = degrees.iter().map(f64::to_string).collect();
    let these = if names.len() == 1 { "degree" } else { "degrees" };
    format!("{these} {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other programs read the codes, and people the sentences: neither may change unnoticed.
    #[test]
    fn a_doubt_is_stored_as_code_and_fields_and_shown_as_a_sentence() {
        let lowest = Doubt::MayLieBelow { axis: Axis::JobLength, lowest: "2us".to_owned() };
        let bounded = Doubt::BoundedRates { connections: vec![vec![1, 2], vec![100, 500, 1000]] };
        let poor = Doubt::PoorFit { law: ScalingLaw::Usl, degree: 3.0, miss_percent: 12 };
        for (doubt, stored, shown) in [
            (
                Doubt::ClientSaturated,
                r#"{"code":"client-saturated"}"#,
                "client-saturated: the load generator was the bottleneck",
            ),
            (
                Doubt::OtherCacheSize { cache: Cache::SecondLevel },
                r#"{"code":"other-cache-size","cache":"second-level"}"#,
                "the sweep shows another size of the second-level cache than is reported",
            ),
            (
                lowest,
                r#"{"code":"may-lie-below","axis":"job-length","lowest":"2us"}"#,
                "it may lie below 2us, the shortest measured",
            ),
            (
                bounded,
                r#"{"code":"bounded-rates","connections":[[1,2],[100,500,1000]]}"#,
                "it may lie elsewhere: a rate at 1, 2, 100 to 1000 is a lower bound",
            ),
            (
                poor,
                r#"{"code":"poor-fit","law":"usl","degree":3.0,"miss_percent":12}"#,
                "the Universal Scalability Law misses the rate at degree 3 by 12 %",
            ),
        ] {
            assert_eq!(serde_json::to_string(&doubt).unwrap(), stored);
            assert_eq!(serde_json::from_str::<Doubt>(stored).unwrap(), doubt);
            assert_eq!(doubt.to_string(), shown);
        }
        assert!(serde_json::from_str::<Doubt>(r#"{"code":"other"}"#).is_err());
    }

    #[test]
    fn one_degree_or_several_are_left_out() {
        let without =
            |degrees: &[f64]| Doubt::DegreesNotMeasured { degrees: degrees.to_vec() }.to_string();
        assert_eq!(without(&[3.0]), "without degree 3, not measured often enough");
        assert_eq!(without(&[3.0, 5.5]), "without degrees 3, 5.5, not measured often enough");
    }

    #[test]
    fn a_saturated_generator_is_no_failure_of_the_server() {
        assert!(Doubt::ClientSaturated.is_saturated() && Doubt::ReceiverSaturated.is_saturated());
        assert!(!Doubt::ClientSaturated.is_failure_under_load());
        assert!(Doubt::AcceptQueueFull.is_failure_under_load());
        assert!(!Doubt::AcceptQueueFull.is_saturated() && !Doubt::SharedCpu.is_saturated());
    }
}
