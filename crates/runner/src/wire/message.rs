//! The orders of a coordinator and the messages of an agent, which `docs/systems.md` describes for authors of agents.

use std::collections::BTreeMap;

use measure::RoundOrder;
use measure::cycles::Latency;
use measure::survey::ClockFacts;
use platform::CaseError;
use serde::{Deserialize, Serialize};

use crate::launch::RoundEnd;
use crate::machine::Description;

/// Version of the protocol: a coordinator and an agent of different versions do not work together.
pub(crate) const PROTOCOL: u32 = 1;

/// A coordinator's order, one line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Examine the machine and its clocks; answered by [`Message::Machine`].
    Examine(ExamineOrder),
    /// Read the clock; answered by [`Message::Clock`].
    Clock,
    /// Make a round; answered by [`Message::Began`], any number of [`Message::Part`] and [`Message::Ended`].
    Round(Box<NumberedRound>),
    /// End the agent; the end of the input has the same effect.
    Shutdown,
}

/// The extent of an examination.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct ExamineOrder {
    /// Directories whose file systems are described, as the parameter `dir` names them.
    pub(crate) dirs: Vec<String>,
}

/// A round with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NumberedRound {
    /// Number of the round, which all answers have.
    pub(crate) number: u64,
    /// The round; the agent fills in the parent.
    pub(crate) order: RoundOrder,
}

/// A message with the time of the agent's monotonic clock, in us since it started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stamped {
    /// Time of the agent's clock, in us.
    pub(crate) at_us: u64,
    pub(crate) message: Message,
}

/// A message of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Message {
    /// The agent is ready for orders; the first message.
    Hello(Hello),
    /// The machine as examined.
    Machine(Box<Machine>),
    /// The answer to [`Order::Clock`]: the message's own time.
    Clock,
    /// A round begins.
    Began {
        /// Number of the round.
        round: u64,
        /// CRC-32 of the line with the order, without its line break, which shows whether the order arrived unchanged.
        order_crc: u32,
    },
    /// The next part of the round's output, split anywhere between characters.
    Part {
        /// Number of the round.
        round: u64,
        /// The text.
        text: String,
    },
    /// A round has ended, and all of its output was sent.
    Ended {
        /// Number of the round.
        round: u64,
        /// How the round ended.
        end: RoundEnd,
    },
    /// A round could not begin.
    Failed {
        /// Number of the round.
        round: u64,
        /// The reason.
        error: CaseError,
    },
    /// The heartbeat: a round is in progress.
    Alive,
    /// An order could not be understood.
    Refused(String),
    /// The agent ends; the last message.
    Bye,
}

/// The greeting of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// The version of the protocol; see [`PROTOCOL`].
    pub(crate) protocol: u32,
    /// Version of oscost.
    pub(crate) version: String,
    /// Checksum of the program, or `unknown`.
    pub(crate) build: String,
    /// The target that the program is built for.
    pub(crate) target: String,
    /// Current time of the system's clock, in ms since 1970.
    pub(crate) unix_ms: i64,
    /// CPUs that the agent may use, ascending.
    pub(crate) cpus: Vec<usize>,
    /// Capabilities, by name.
    pub(crate) capabilities: BTreeMap<String, Capability>,
}

/// The result of probing an operation that agents perform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Capability {
    /// The operation worked.
    Works,
    /// The operation failed, for this reason.
    Fails(String),
}

/// The machine, as examined by an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// Facts, like those of a run.
    pub(crate) facts: Description,
    /// Clocks, the best first.
    pub(crate) clocks: Vec<ClockFacts>,
    /// How core cycles are counted on the last CPU.
    pub(crate) latency: Latency,
    /// Time to start a worker, in ms; 0 if none can be started.
    pub(crate) worker_start_ms: f64,
    /// The program that emulates the processor, if any.
    pub(crate) emulator: Option<String>,
    /// The id of the tracepoint that counts system calls, if it may be used.
    pub(crate) tracepoint: Option<u64>,
    /// The cases that this system lacks, with the reasons.
    pub(crate) missing: BTreeMap<String, String>,
}

impl Hello {
    /// Whether a capability works.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability) == Some(&Capability::Works)
    }

    /// The capabilities that do not work and the reasons, in words; `none` if all work.
    pub(crate) fn lacks(&self) -> String {
        let lacking = self.capabilities.iter().filter_map(|(name, capability)| match capability {
            Capability::Works => None,
            Capability::Fails(reason) => Some(format!("{name} ({reason})")),
        });
        let lacking: Vec<String> = lacking.collect();
        if lacking.is_empty() { "none".to_owned() } else { lacking.join(", ") }
    }
}
