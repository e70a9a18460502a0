//! The work that a server does for each request, between reading it and writing the reply. All architectures do it in the
//! same place (`Terms::work`), in the thread that serves the client. An event loop serves no other client meanwhile, as in
//! an application that does such work in its loop.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::server_work::Work;
use platform::CaseError;
use platform::file::private;
use serde::{Deserialize, Serialize};

use crate::name_server::resolve;

/// Bytes written by the work `fsync`.
const RECORD: [u8; 512] = [b'r'; 512];
/// Number of bytes that the work `file` reads at a time.
const READ_AT_ONCE: usize = 16 * 1024;

/// Prepared work, with everything that it needs, so that another process can do it too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// No work.
    #[default]
    None,
    /// Computes.
    Cpu {
        /// Time of the computation, in ns.
        ns: u64,
        /// Time per iteration of the loop, in ns.
        ns_per_iteration: f64,
    },
    /// Reads a file.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Number of bytes to read.
        size: u64,
    },
    /// Overwrites the beginning of a file and waits for the device.
    Fsync {
        /// Path of the file.
        path: PathBuf,
    },
    /// Asks a name server.
    Dns {
        /// Address of the name server.
        server: SocketAddr,
    },
}

/// Resources that [`Task::prepare`] needs for some kinds of work.
#[derive(Debug, Clone, Copy, Default)]
pub struct WorkResources<'a> {
    /// The speed of computing; `None` to measure it.
    pub computing: Option<measure::work::Work>,
    /// The path at which `fsync` creates a file; the caller removes it.
    pub scratch: Option<&'a Path>,
    /// The name server that `dns` asks.
    pub name_server: Option<SocketAddr>,
}

impl Task {
    /// Prepares the work: measures the speed of the CPU, or creates the file.
    ///
    /// # Errors
    /// `Failed` if a required resource is missing, or does not work.
    pub fn prepare(work: Work, resources: &WorkResources) -> Result<Self, CaseError> {
        let missing = |what: &str| CaseError::Failed(format!("the work {work} needs {what}"));
        Ok(match work {
            Work::None => Self::None,
            Work::Cpu(time) => {
                let computing = match resources.computing {
                    Some(known) => known,
                    None => measure::work::Work::calibrate(measure::time::Clock::monotonic())?,
                };
                let ns_per_iteration = computing.ns_per_iteration();
                Self::Cpu { ns: time.as_nanos() as u64, ns_per_iteration }
            }
            Work::File(size) => {
                let of = |what: &str, e: &io::Error| CaseError::from_io(what, e);
                let path =
                    std::env::current_exe().map_err(|e| of("the path of this program", &e))?;
                let task = Self::File { path, size };
                task.perform().map_err(|e| of("reading this program's file", &e))?;
                task
            }
            Work::Fsync => {
                let path =
                    resources.scratch.ok_or_else(|| missing("a path for its file"))?.to_owned();
                let written =
                    private::create_new(&path).and_then(|mut file| file.write_all(&RECORD));
                written
                    .map_err(|e| CaseError::from_io(&format!("create {}", path.display()), &e))?;
                Self::Fsync { path }
            }
            Work::Dns => {
                Self::Dns { server: resources.name_server.ok_or_else(|| missing("a name server"))? }
            }
        })
    }

    /// Whether there is no work.
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }

    /// Does the work once.
    ///
    /// # Errors
    /// Errors of the system calls.
    pub fn perform(&self) -> io::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::Cpu { ns, ns_per_iteration } => {
                let computing = measure::work::Work::of_ns_per_iteration(*ns_per_iteration);
                computing.map_err(io::Error::other)?.run(Duration::from_nanos(*ns));
                Ok(())
            }
            Self::File { path, size } => read(path, *size),
            Self::Fsync { path } => {
                let mut file = OpenOptions::new().write(true).open(path)?;
                file.write_all(&RECORD)?;
                file.sync_all()
            }
            Self::Dns { server } => resolve(*server),
        }
    }
}

/// Reads the first `size` bytes of a file, which must be at least as long.
fn read(path: &Path, size: u64) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = [0; READ_AT_ONCE];
    let mut left = size as usize;
    while left > 0 {
        let room = left.min(READ_AT_ONCE);
        match file.read(&mut buffer[..room]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => left -= bytes,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NameServer;

    #[test]
    fn every_kind_is_done() {
        let path = std::env::temp_dir().join(format!("oscost-test-work-{}", std::process::id()));
        let names = NameServer::start().unwrap();
        let resources = WorkResources {
            computing: None,
            scratch: Some(&path),
            name_server: Some(names.address()),
        };
        for work in ["none", "cpu:1us", "file:4k", "file:17000", "fsync", "dns"] {
            let task = Task::prepare(work.parse().unwrap(), &resources).unwrap();
            assert!(task.perform().is_ok(), "{work}");
            let text = serde_json::to_string(&task).unwrap();
            assert_eq!(serde_json::from_str::<Task>(&text).unwrap(), task);
        }
        assert_eq!(std::fs::read(&path).unwrap(), RECORD);
        assert_eq!(names.answered(), 1);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn missing_means_are_named_and_failures_are_errors() {
        for (work, what) in [(Work::Fsync, "a path"), (Work::Dns, "a name server")] {
            let error = Task::prepare(work, &WorkResources::default()).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
        let nowhere = PathBuf::from("/nonexistent/oscost");
        assert!(Task::File { path: nowhere.clone(), size: 1 }.perform().is_err());
        assert!(Task::Fsync { path: nowhere }.perform().is_err());
        assert!(Task::Cpu { ns: 1, ns_per_iteration: 0.0 }.perform().is_err());
        let path = std::env::current_exe().unwrap();
        assert!(Task::File { path, size: u64::from(u32::MAX) << 8 }.perform().is_err());
    }
}
