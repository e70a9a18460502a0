//! The CPUs of a server and its clients, and the network between them.

use std::net::{Ipv4Addr, SocketAddr};

use loadgen::{Generator, Load};
use measure::round::Mode;
use measure::trial::TrialContext;
use measure::{CaseError, Params, Round};
use platform::network_namespace::NamespacePair;
use servers::Protocol;
use servers::hosted::Hosted;

use crate::order::{ServeOrder, WorkerOrder, worker};
use crate::{Param, Takes, value_of};

/// On which CPUs.
pub const PLACE: Param = Param {
    name: "place",
    meaning: "whether the server has a CPU of its own and the clients the others, both have the same one, or \
              the system may place them anywhere",
    default: &["apart"],
    full: &["apart"],
    takes: Takes::Words(&["same", "any"]),
};

/// Over which network.
pub const NETWORK: Param = Param {
    name: "network",
    meaning: "whether they meet over loopback, or in two network namespaces joined by a pair of veth \
              devices (`--netns`)",
    default: &["loopback"],
    full: &["loopback"],
    takes: Takes::Words(&["veth"]),
};

/// Threads or processes started beforehand, where the architecture is such.
const WORKERS: usize = 64;
/// How long a client may keep the server waiting, in ms: longer than any wait of ours.
const TIMEOUT_MS: u64 = 20_000;

/// The CPUs and the network of a round.
pub struct TestBed {
    /// All the CPUs.
    pub context: TrialContext,
    server_cpus: Vec<usize>,
    client_cpu: Option<usize>,
    network: Option<NamespacePair>,
}

impl TestBed {
    /// As the parameters ask for.
    ///
    /// # Errors
    /// Where this system cannot place processes so, or does not permit namespaces.
    pub fn new(params: &Params, round: &Round) -> Result<Self, CaseError> {
        platform::limits::raise_descriptors();
        let cpus = &round.order().cpus;
        let (last, others) = cpus.split_last().ok_or_else(|| CaseError::Failed("no CPU".into()))?;
        let (server_cpus, client_cpu) = match value_of(params, "place")? {
            "any" => (cpus.clone(), None),
            "same" => (vec![*last], Some(*last)),
            _ => (vec![*last], Some(*others.first().unwrap_or(last))),
        };
        let network = match value_of(params, "network")? {
            "veth" => Some(NamespacePair::enter()?),
            _ => None,
        };
        let mut used: Vec<usize> = server_cpus.iter().copied().chain(client_cpu).collect();
        used.sort_unstable();
        used.dedup();
        Ok(Self { context: TrialContext::new(round, &used)?, server_cpus, client_cpu, network })
    }

    /// A server of the architecture that the parameters name, in a process of its own; in the untimed pass its
    /// system calls are counted.
    ///
    /// # Errors
    /// Unsupported where this system lacks the architecture.
    pub fn server(
        &self,
        params: &Params,
        protocol: Protocol,
        round: &Round,
    ) -> Result<Hosted, CaseError> {
        let arch = value_of(params, "arch")?;
        if let Some(why) = servers::Architecture::find(arch).and_then(|a| a.missing_here()) {
            return Err(CaseError::Unsupported(why.to_owned()));
        }
        let mut command = worker();
        let address = match &self.network {
            Some(network) => network.run_far(&mut command),
            None => Ipv4Addr::LOCALHOST,
        };
        let order = WorkerOrder::Serve(ServeOrder {
            architecture: arch.to_owned(),
            protocol,
            listen: SocketAddr::from((address, 0)),
            timeout_ms: TIMEOUT_MS,
            workers: WORKERS,
            cpus: self.server_cpus.clone(),
            tracepoint: match round.order().mode {
                Mode::Count(tracepoint) => Some(tracepoint),
                _ => None,
            },
        });
        Hosted::start(command.args(order.arguments()))
    }

    /// The generator of a load on that server.
    ///
    /// # Errors
    /// Where the system gives no means to wait for many sockets.
    pub fn generator(&self, server: &Hosted, protocol: Protocol) -> Result<Generator, CaseError> {
        let shares_cpu = self.server_cpus.len() == 1
            && self.client_cpu.is_none_or(|cpu| self.server_cpus == [cpu]);
        let load = Load::new(server.address(), protocol);
        Generator::new(Load { cpu: self.client_cpu, shares_cpu, ..load })
    }
}
