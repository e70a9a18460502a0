//! Running agents.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use platform::process::control_group::{ControlGroup, GroupCounters, HostCounts};
use platform::{CaseError, process::hosted};

use crate::error::SystemError;
use crate::launcher::Launch;
use crate::program;
use crate::state::{Created, StateDirectory, VARIABLE};

/// Maximum length of the error output that is kept, in bytes: the last part.
const ERRORS_KEPT: usize = 16 << 10;
/// Time limit for a system to end by itself.
const GRACE: Duration = Duration::from_millis(1_500);
/// Time limit for a system to end after SIGTERM.
const GRACE_AFTER_REQUEST: Duration = Duration::from_millis(500);
/// Time limit for reading the last error output of a system that has ended; another process may hold it open.
const LAST_ERRORS: Duration = Duration::from_secs(2);

/// A running agent. Dropping it ends the system, and removes everything that the system left.
#[derive(Debug)]
pub struct Running {
    child: Child,
    ends_with_input: bool,
    errors: Arc<Mutex<VecDeque<u8>>>,
    /// The state directory; [`Running::end`] drops and so removes it.
    state: Option<StateDirectory>,
    /// The CPUs that the system runs on.
    cpus: Vec<usize>,
    /// The control group that counts the system's processes on this machine; the reason if nothing does.
    counted: Result<Counted, String>,
}

/// The control group of a system's processes.
#[derive(Debug)]
struct Counted {
    /// Counters, open while something is counted: they slow down all system calls of the group. They are closed before the
    /// group is removed.
    counters: Option<GroupCounters>,
    group: ControlGroup,
}

impl Running {
    /// Starts the command on `cpus`. `counted`: whether the system's work on this machine is to be counted, or the reason
    /// why not.
    pub(crate) fn start(
        launch: Launch,
        cpus: &[usize],
        mut state: StateDirectory,
        counted: Result<(), String>,
    ) -> Result<Self, SystemError> {
        let Launch { mut command, ends_with_input } = launch;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env(VARIABLE, state.path());
        let program = command.get_program().to_string_lossy().into_owned();
        let group = counted.and_then(|()| new_group(&mut state).map_err(|error| error.to_string()));
        let mut child = hosted::spawn(command, cpus, group.as_ref().ok())
            .map_err(|e| SystemError::from_io(format!("starting {program}"), &e))?;
        let leader = child.id();
        // The process cannot be recorded before it has a pid: until then the variable identifies it.
        let identity = hosted::identity(leader);
        let recorded = match identity {
            Some(identity) => state.record(Created::Group { leader, identity }),
            None => Ok(()),
        };
        let counted = group.and_then(|group| match group.has(leader) {
            true => Ok(Counted { counters: None, group }),
            false => Err("its process could not join a control group".to_owned()),
        });
        let errors = Arc::default();
        let reading = recorded.and_then(|()| keep_last(child.stderr.take(), &errors));
        let mut running = Self {
            child,
            ends_with_input,
            errors,
            state: Some(state),
            cpus: cpus.to_vec(),
            counted,
        };
        match reading {
            Ok(()) => Ok(running),
            Err(e) => {
                running.end();
                Err(SystemError::from_io(format!("starting {program}"), &e))
            }
        }
    }

    /// The agent's standard input. Closing it ends the agent.
    ///
    /// # Panics
    /// If the input was taken before.
    pub fn take_input(&mut self) -> Box<dyn Write + Send> {
        Box::new(self.child.stdin.take().expect("the input is taken once"))
    }

    /// The agent's standard output. A virtual machine's may have other text before and between its lines.
    ///
    /// # Panics
    /// If the output was taken before.
    pub fn take_output(&mut self) -> Box<dyn Read + Send> {
        Box::new(self.child.stdout.take().expect("the output is taken once"))
    }

    /// The pid, on this machine, of the started process, which may be the agent itself or a sandbox around it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the system's work on this machine can be counted.
    ///
    /// # Errors
    /// The reason, in words.
    pub fn is_counted(&self) -> Result<(), String> {
        self.counted.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// Counts of the system's work on this machine since the first call, which opens the counters. They count until
    /// [`Running::end_counting`].
    ///
    /// # Errors
    /// Why nothing is counted, in words.
    pub fn host_counts(&mut self) -> Result<HostCounts, String> {
        let counted = self.counted.as_mut().map_err(|reason| reason.clone())?;
        let counters = match counted.counters.take() {
            Some(counters) => counters,
            None => counted.group.counters(&self.cpus).map_err(|error| error.to_string())?,
        };
        Ok(counted.counters.insert(counters).counts())
    }

    /// Ends counting for good. The system's processes move to the control group of this process, so that they run as
    /// without counting.
    pub fn end_counting(&mut self) {
        if let Ok(counted) = &mut self.counted {
            counted.counters = None;
            // A group that still has processes stays until the system ends.
            if counted.group.release().is_ok() {
                self.counted = Err("counting has ended".to_owned());
            }
        }
    }

    /// Whether the started process has ended.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The last line of the system's error output, which is the kernel's log for a virtual machine; empty if there is none.
    pub fn last_words(&mut self) -> String {
        if self.has_ended() {
            let began = Instant::now();
            while Arc::strong_count(&self.errors) > 1 && began.elapsed() < LAST_ERRORS {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        program::last_line(errors.make_contiguous())
    }

    /// Ends the system, and removes everything that the system left. Takes a few seconds at most.
    pub fn end(&mut self) {
        drop(self.child.stdin.take());
        let leader = self.child.id();
        if !(self.ends_with_input && self.has_ended_within(GRACE)) {
            hosted::ask_group_to_end(leader);
            if !self.has_ended_within(GRACE_AFTER_REQUEST) {
                let _ = self.child.kill();
            }
        }
        platform::process::end_group(leader);
        let _ = self.child.wait();
        self.state = None;
        self.counted = Err("it has ended".to_owned());
    }

    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let began = Instant::now();
        loop {
            if self.has_ended() {
                return true;
            }
            if began.elapsed() >= limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.state.is_some() {
            self.end();
        }
    }
}

/// Creates a control group for the system's processes.
fn new_group(state: &mut StateDirectory) -> Result<ControlGroup, CaseError> {
    let path = ControlGroup::path_of(&state.unique_name())?;
    let recorded = state.record(Created::ControlGroup(path.clone()));
    recorded.map_err(|e| CaseError::from_io("the record of a control group", &e))?;
    ControlGroup::create(path)
}

/// Starts a thread that reads error output to its end and keeps the last part.
fn keep_last(pipe: Option<ChildStderr>, kept: &Arc<Mutex<VecDeque<u8>>>) -> std::io::Result<()> {
    let Some(mut pipe) = pipe else { return Ok(()) };
    let kept = Arc::clone(kept);
    let reader = std::thread::Builder::new().name("errors".to_owned());
    // The thread ends with the last process that has the pipe; nothing waits for it.
    reader.spawn(move || {
        let mut part = [0; 4 << 10];
        loop {
            match pipe.read(&mut part) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(count) => {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend(&part[..count]);
                    let excess = kept.len().saturating_sub(ERRORS_KEPT);
                    kept.drain(..excess);
                }
            }
        }
    })?;
    Ok(())
}
