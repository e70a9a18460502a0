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

/// The CPUs of server and clients.
pub const PLACE: Param = Param {
    name: "place",
    meaning: "whether server and clients have separate CPUs (apart), share one CPU (same), or may \
              run on any CPU (any)",
    default: &["apart"],
    full: &["apart"],
    takes: Takes::Words(&["same", "any"]),
};

/// The network between server and clients.
pub const NETWORK: Param = Param {
    name: "network",
    meaning: "whether server and clients communicate over loopback, or are in two network \
              namespaces connected by a veth pair (`--netns`)",
    default: &["loopback"],
    full: &["loopback"],
    takes: Takes::Words(&["veth"]),
};

/// The number of threads or processes of architectures that start them in advance.
const WORKERS: usize = 64;
/// The time limit of the server for a client, in ms: longer than any wait of the load generator.
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
    /// The test bed that the parameters describe.
    ///
    /// # Errors
    /// If this system cannot pin processes to these CPUs, or does not permit namespaces.
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

    /// Starts a server of the architecture that the parameters name in a separate process. In the untimed pass its
    /// system calls are counted.
    ///
    /// # Errors
    /// Unsupported if this system lacks the architecture.
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

    /// The load generator for that server.
    ///
    /// # Errors
    /// If the system has no facility to wait for many sockets.
    pub fn generator(&self, server: &Hosted, protocol: Protocol) -> Result<Generator, CaseError> {
        let shares_cpu = self.server_cpus.len() == 1
            && self.client_cpu.is_none_or(|cpu| self.server_cpus == [cpu]);
        let load = Load::new(server.address(), protocol);
        Generator::new(Load { cpu: self.client_cpu, shares_cpu, ..load })
    }
}
