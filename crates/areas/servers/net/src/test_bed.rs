//! The CPUs of a server and its clients, and the network between them.

use std::net::{Ipv4Addr, SocketAddr};

use loadgen::{Generators, Load};
use measure::round::Mode;
use measure::server_work::NoSuchWork;
use measure::trial::TrialContext;
use measure::{CaseError, Params, Round};
use platform::cleanup::Recorded;
use platform::process::limits::waiting_connections;
use platform::socket::loopback;
use servers::hosted::Hosted;
use servers::work::WorkResources;
use servers::{Architecture, NameServer, Protocol, Task, Work};

use super::USUAL;
use super::network_namespace::NamespacePair;
use super::worker::{SERVE, ServeOrder};
use catalog::worker::{worker_arguments, worker_without_arguments};
use catalog::{Param, Takes, count_of, size_of, value_of};

/// The parameter `place`: CPUs of server and clients.
pub const PLACE: Param = Param::new("place", &["apart"])
    .meaning(
        "whether server and clients have separate CPUs (apart), share one CPU (same), \
         or may run on any CPU (any)",
    )
    .takes(Takes::Words(&["same", "any"]));

/// The parameter `network`: network between server and clients.
pub const NETWORK: Param = Param::new("network", &["loopback"])
    .meaning(
        "whether server and clients communicate over loopback, or are in two network \
         namespaces connected by a veth pair (`--netns`)",
    )
    .takes(Takes::Words(&["veth"]));

/// Number of threads or processes of architectures that start them in advance.
const WORKERS: usize = 64;
/// Time limit of the server for a client, in ms: longer than any wait of the load generator.
const TIMEOUT_MS: u64 = 20_000;

/// Maximum number of threads of the load generator.
const GENERATORS_AT_MOST: usize = 4;

/// CPUs and network of a round, and work of its server.
pub struct TestBed {
    /// Trial settings on all CPUs of the round.
    pub context: TrialContext,
    server_cpus: Vec<usize>,
    /// CPUs of the generator, which has a thread on each; if there are none, one thread runs anywhere.
    client_cpus: Vec<usize>,
    network: Option<NamespacePair>,
    task: Task,
    memory: usize,
    /// Maximum number of connections that wait to be accepted; the system's limit if `None`.
    backlog: Option<u16>,
    /// Name server that the work queries; it ends when dropped.
    _names: Option<NameServer>,
    /// File to which the work writes; it is removed when dropped.
    _scratch: Option<Recorded>,
}

/// The parameters, with defaults for those that the case lacks.
fn with_usual(params: &Params) -> Params {
    let mut params = params.clone();
    for (name, value) in USUAL {
        params.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    params
}

/// Length of the accept queue; `None` if the case has no such parameter.
fn backlog_of(params: &Params) -> Result<Option<u16>, CaseError> {
    if !params.contains_key("backlog") {
        return Ok(None);
    }
    let wanted = count_of(params, "backlog")?;
    match waiting_connections() {
        Some(limit) if (limit as usize) < wanted => Err(CaseError::Unsupported(format!(
            "an accept queue of {wanted}: net.core.somaxconn is {limit}"
        ))),
        _ => Ok(Some(u16::try_from(wanted).unwrap_or(u16::MAX))),
    }
}

impl TestBed {
    /// Prepares the test bed that the parameters describe.
    ///
    /// # Errors
    /// `Unsupported` if this system cannot pin processes to these CPUs, has too few, does not permit namespaces, or has no usable
    /// loopback; an error if the work cannot be prepared.
    pub fn new(params: &Params, round: &Round) -> Result<Self, CaseError> {
        platform::process::limits::raise_descriptors();
        let cpus = &round.order().cpus;
        let wanted = count_of(&with_usual(params), "cpus")?;
        let first = cpus.len().checked_sub(wanted).ok_or_else(|| {
            let why = format!("a server on {wanted} CPUs: this process may use {}", cpus.len());
            CaseError::Unsupported(why)
        })?;
        let (others, servers) = cpus.split_at(first);
        let (server_cpus, client_cpus) = match value_of(params, "place")? {
            "any" => (cpus.clone(), Vec::new()),
            "same" => (servers.to_vec(), servers[..1].to_vec()),
            _ if others.is_empty() => (servers.to_vec(), servers[..1].to_vec()),
            _ => (servers.to_vec(), others[..others.len().min(GENERATORS_AT_MOST)].to_vec()),
        };
        let network = match value_of(params, "network")? {
            "veth" => Some(NamespacePair::enter()?),
            _ => {
                loopback::check()?;
                None
            }
        };
        let mut used = [&server_cpus[..], &client_cpus].concat();
        used.sort_unstable();
        used.dedup();
        let mut context = TrialContext::new(round, &used)?;
        let work: Work = value_of(&with_usual(params), "work")?
            .parse()
            .map_err(|e: NoSuchWork| CaseError::Failed(e.to_string()))?;
        let names = match (work, &network) {
            (Work::Dns, Some(_)) => {
                let why = "the name server is on loopback, in another network namespace";
                return Err(CaseError::Unsupported(why.to_owned()));
            }
            (Work::Dns, None) => Some(NameServer::start()?),
            _ => None,
        };
        let computing = match work {
            Work::Cpu(_) => Some(context.work(round)?),
            _ => None,
        };
        let scratch = (work == Work::Fsync).then(Recorded::file).transpose()?;
        let task = Task::prepare(
            work,
            &WorkResources {
                computing,
                scratch: scratch.as_ref().map(Recorded::path),
                name_server: names.as_ref().map(NameServer::address),
            },
        )?;
        let memory = size_of(&with_usual(params), "parent")?;
        let backlog = backlog_of(params)?;
        let (_names, _scratch) = (names, scratch);
        Ok(Self {
            context,
            server_cpus,
            client_cpus,
            network,
            task,
            memory,
            backlog,
            _names,
            _scratch,
        })
    }

    /// Starts a server of the architecture that the parameters name in a separate process. In the untimed pass the system calls
    /// of the server are counted.
    ///
    /// # Errors
    /// `Unsupported` if this system lacks the architecture.
    pub fn server(
        &self,
        params: &Params,
        protocol: Protocol,
        round: &Round,
    ) -> Result<Hosted, CaseError> {
        let arch = value_of(params, "arch")?;
        if let Some(why) = Architecture::find(arch).and_then(|a| a.missing_here()) {
            return Err(CaseError::Unsupported(why.to_owned()));
        }
        let mut command = worker_without_arguments();
        let address = match &self.network {
            Some(network) => network.run_far(&mut command),
            None => Ipv4Addr::LOCALHOST,
        };
        let order = ServeOrder {
            architecture: arch.to_owned(),
            protocol,
            listen: SocketAddr::from((address, 0)),
            timeout_ms: TIMEOUT_MS,
            workers: WORKERS,
            cpus: self.server_cpus.clone(),
            task: self.task.clone(),
            memory: self.memory,
            backlog: self.backlog,
            tracepoint: match round.order().mode {
                Mode::Count(tracepoint) => Some(tracepoint),
                _ => None,
            },
        };
        Hosted::start(command.args(worker_arguments(SERVE.name, &order)))
    }

    /// The load on a server.
    pub fn load(&self, params: &Params, server: &Hosted, protocol: Protocol) -> Load {
        let usual = Load::new(server.address(), protocol);
        let arch = value_of(params, "arch").ok().and_then(Architecture::find);
        let in_one_thread = arch.is_some_and(|arch| arch.is_one_event_loop());
        let shares_cpu = match self.client_cpus[..] {
            [] => self.server_cpus.len() == 1,
            [client] => self.server_cpus == [client],
            _ => false,
        };
        Load {
            shares_cpu,
            server_cpus: if in_one_thread { 1 } else { self.server_cpus.len() },
            ..usual
        }
    }

    /// The CPU for further clients besides the generator.
    pub fn client_cpu(&self) -> Option<usize> {
        self.client_cpus.last().copied()
    }

    /// The generator of a load.
    ///
    /// # Errors
    /// An error if the system has no facility to wait for many sockets.
    pub fn generator(&self, load: &Load) -> Result<Generators, CaseError> {
        let cpus: Vec<Option<usize>> = self.client_cpus.iter().copied().map(Some).collect();
        Generators::new(load, &cpus)
    }
}
