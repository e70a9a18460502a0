//! Capabilities of the system that an agent runs in. Each is probed by performing the operation: a call that succeeds
//! without its effect, or only the first of several times, does not count.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use platform::CaseError;
use platform::counters::syscall_tracepoint;

use crate::id::unix_ms;
use crate::launch::output_of;
use crate::machine::{LINKAGE, PROFILE, VERSION, build};
use crate::wire::{Capability, Hello, PROTOCOL};
use crate::worker::{PROBED, probe_worker};

/// Name of the capability to start worker processes.
pub(crate) const WORKERS: &str = "processes";
/// Name of the capability to count system calls by tracing a process.
pub(crate) const TRACER: &str = "ptrace";
/// Time limit of a probe, beside other programs.
const PROBE_LIMIT: Duration = Duration::from_secs(10);

/// Capabilities, by name.
pub(crate) struct Capabilities(BTreeMap<String, Capability>);

/// Probes each capability.
pub(crate) fn probe() -> Capabilities {
    let threads = probe_threads();
    // A process's output cannot be read without threads.
    let workers = threads.clone().and_then(|()| probe_workers());
    let tracer = workers.clone().and_then(|()| probe_tracer());
    let all = [
        ("threads", threads),
        (WORKERS, workers),
        (TRACER, tracer),
        ("pinning", probe_pinning()),
        ("files", probe_files()),
        ("loopback", probe_loopback()),
        ("tracepoint", probe_tracepoint()),
    ];
    let named = all.into_iter().map(|(name, result)| {
        let capability = match result {
            Ok(()) => Capability::Works,
            Err(error) => Capability::Fails(error.to_string()),
        };
        (name.to_owned(), capability)
    });
    Capabilities(named.collect())
}

impl Capabilities {
    /// No capabilities.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self(BTreeMap::new())
    }

    /// Whether rounds can be made in separate processes.
    pub(crate) fn can_start_workers(&self) -> bool {
        self.0.get(WORKERS) == Some(&Capability::Works)
    }

    /// Records that no workers can be started, and why.
    pub(crate) fn have_no_workers(&mut self, why: &str) {
        for name in [WORKERS, TRACER] {
            self.0.insert(name.to_owned(), Capability::Fails(why.to_owned()));
        }
    }

    /// The greeting of an agent with these capabilities.
    pub(crate) fn greeting(&self) -> Hello {
        Hello {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            build: build(),
            target: target(),
            unix_ms: unix_ms(),
            cpus: platform::cpu::allowed(),
            capabilities: self.0.clone(),
        }
    }
}

/// The target that this program is built for. Programs of one version for one target must be the same program.
pub(crate) fn target() -> String {
    let [arch, os] = [std::env::consts::ARCH, std::env::consts::OS];
    format!("{arch}-{os} {LINKAGE} {PROFILE}")
}

fn probe_threads() -> Result<(), CaseError> {
    let thread = std::thread::Builder::new().spawn(|| 1);
    let thread = thread.map_err(|e| CaseError::from_io("starting a thread", &e))?;
    let ended = thread.join().map_err(|_| CaseError::Failed("a thread panicked".to_owned()))?;
    if ended == 1 { Ok(()) } else { Err(CaseError::Failed("a thread was lost".to_owned())) }
}

fn probe_workers() -> Result<(), CaseError> {
    let never = AtomicBool::new(false);
    let output = output_of(&mut probe_worker(), PROBE_LIMIT, &never);
    let answered = output.is_some_and(|text| text.trim() == PROBED);
    answered.then_some(()).ok_or_else(|| CaseError::Failed("no process was started".to_owned()))
}

fn probe_tracer() -> Result<(), CaseError> {
    let never = AtomicBool::new(false);
    let mut command = probe_worker();
    command.stdin(std::process::Stdio::null());
    let traced = platform::counters::tracer::count_system_calls(
        &mut command,
        PROBE_LIMIT,
        &never,
        PROBE_LIMIT,
    )?;
    let ended = traced.output.status.success();
    ended.then_some(()).ok_or_else(|| CaseError::Failed("a traced process failed".to_owned()))
}

fn probe_pinning() -> Result<(), CaseError> {
    let cpus = platform::cpu::allowed();
    let Some(&last) = cpus.last() else { return Ok(()) };
    platform::cpu::pin_thread(last)?;
    let on = platform::cpu::current();
    platform::cpu::pin_thread_to_any(&cpus)?;
    match on {
        Some(cpu) if cpu != last => {
            Err(CaseError::Failed(format!("pinned to CPU {last}, runs on CPU {cpu}")))
        }
        _ => Ok(()),
    }
}

fn probe_files() -> Result<(), CaseError> {
    let recorded = platform::cleanup::Recorded::file()?;
    let of = |e| CaseError::from_io(&recorded.path().display().to_string(), &e);
    recorded.create()?.write_all(b"oscost").map_err(of)?;
    let read = std::fs::read(recorded.path()).map_err(of)?;
    std::fs::remove_file(recorded.path()).map_err(of)?;
    let same = read == b"oscost";
    same.then_some(()).ok_or_else(|| CaseError::Failed("a file has other contents".to_owned()))
}

fn probe_loopback() -> Result<(), CaseError> {
    let failed = |e| CaseError::from_io("a connection over loopback", &e);
    let exchange = || -> std::io::Result<u8> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let mut client = TcpStream::connect_timeout(&listener.local_addr()?, PROBE_LIMIT)?;
        let (mut server, _) = listener.accept()?;
        server.write_all(b"x")?;
        client.set_read_timeout(Some(PROBE_LIMIT))?;
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    exchange().map(drop).map_err(failed)
}

fn probe_tracepoint() -> Result<(), CaseError> {
    let id = syscall_tracepoint();
    id.map(drop).ok_or_else(|| CaseError::Unsupported("perf_event_open or tracefs".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_system_has_that_runs_tests_works() {
        for probed in [probe_threads(), probe_pinning(), probe_files(), probe_loopback()] {
            assert_eq!(probed, Ok(()));
        }
    }

    #[test]
    fn a_greeting_names_what_works_and_what_does_not() {
        let works = |name: &str| (name.to_owned(), Capability::Works);
        let mut capabilities = Capabilities(BTreeMap::from(["threads", WORKERS].map(works)));
        let greeting = capabilities.greeting();
        assert!(greeting.can("threads") && capabilities.can_start_workers());
        assert!(!greeting.can("levitation") && greeting.lacks() == "none");
        capabilities.have_no_workers("no fork");
        assert!(!capabilities.can_start_workers());
        let lacks = capabilities.greeting().lacks();
        assert!(lacks.contains("processes (no fork)"), "{lacks}");
    }
}
