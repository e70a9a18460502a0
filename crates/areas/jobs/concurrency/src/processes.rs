use std::cell::RefCell;
use std::io::{ErrorKind, PipeReader, Read, Write};
use std::num::NonZeroUsize;

use platform::process::{Child, fork, wait_readable};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::caught;
use crate::schedule::Schedule;
use crate::slots::Slots;
use crate::{Execution, Failure};

/// Handles each object in a forked child of the caller's process. Unix only: on other systems every object has the failure
/// [`Failure::NoProcess`].
///
/// A handler's changes of memory are visible in its own process only. Its result is returned through a pipe, by serde, and
/// is complete when the process and all its children have ended or closed the pipe. The caller's process must have only one
/// thread, because a child has the locks of all threads but only the thread that forked. If a handler ends its process, is
/// killed, or panics (also in a program whose panics abort), its object has a [`Failure`].
#[derive(Debug, Clone)]
pub struct Processes {
    max_degree: NonZeroUsize,
}

impl Processes {
    /// Handles at most `max_degree` objects at a time, each in its own process.
    pub fn new(max_degree: NonZeroUsize) -> Self {
        Self { max_degree }
    }
}

impl<T, R: Serialize + DeserializeOwned> Execution<T, R> for Processes {
    fn do_scheduled<S, H, F>(&self, schedule: S, objects: &[T], handler: H, finisher: F)
    where
        S: Schedule,
        H: Fn(&T) -> R + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        let count = self.max_degree.get().min(objects.len());
        let slots = Slots::new(count);
        let running = RefCell::new(Running((0..count).map(|_| None).collect()));
        let start = |slot: usize, index: usize| {
            let process = Handling::start(|| handler(&objects[index]))?;
            running.borrow_mut().0[slot] = Some(process);
            Ok(())
        };
        let wait = |left: &mut Vec<usize>| {
            for (slot, result) in running.borrow_mut().wait() {
                slots.put(slot, result);
                left.push(slot);
            }
        };
        slots.coordinate(schedule, objects, finisher, start, wait);
    }
}

/// The processes of a call, by slot.
struct Running(Vec<Option<Handling>>);

/// A process that handles an object, and the part of its result that was read.
struct Handling {
    process: Child,
    pipe: PipeReader,
    received: Vec<u8>,
}

impl Running {
    /// Waits until at least one process has ended; returns the slots and results of all ended ones.
    fn wait<R: DeserializeOwned>(&mut self) -> Vec<(usize, Result<R, Failure>)> {
        let mut ended = Vec::new();
        while ended.is_empty() {
            let running = || self.0.iter().enumerate().filter_map(|(s, h)| Some((s, h.as_ref()?)));
            let pipes: Vec<&PipeReader> = running().map(|(_, handling)| &handling.pipe).collect();
            // If the system cannot wait for all pipes, reading waits for one after the other.
            let readable = wait_readable(&pipes).unwrap_or_else(|_| vec![true; pipes.len()]);
            let slots: Vec<usize> = running().map(|(slot, _)| slot).collect();
            for (slot, _) in slots.into_iter().zip(readable).filter(|(_, readable)| *readable) {
                let handling = &mut self.0[slot];
                if let Some(result) = handling.as_mut().and_then(Handling::receive) {
                    *handling = None;
                    ended.push((slot, result));
                }
            }
        }
        ended
    }
}

impl Handling {
    fn start<R: Serialize>(handler: impl FnOnce() -> R) -> Result<Self, Failure> {
        let (pipe, mut to_caller) =
            std::io::pipe().map_err(|error| Failure::NoProcess(format!("pipe: {error}")))?;
        let process = fork(|| {
            let result = encode(&caught(handler));
            i32::from(to_caller.write_all(&result).is_err())
        })
        .map_err(|case_error| Failure::NoProcess(case_error.to_string()))?;
        Ok(Self { process, pipe, received: Vec::new() })
    }

    /// Reads the available data, or waits for some; returns the result when it is complete.
    fn receive<R: DeserializeOwned>(&mut self) -> Option<Result<R, Failure>> {
        let mut part = [0; 4096];
        match self.pipe.read(&mut part) {
            Ok(0) => Some(self.result()),
            Ok(bytes) => {
                self.received.extend_from_slice(&part[..bytes]);
                None
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => None,
            Err(error) => Some(Err(Failure::NotPassed(error.to_string()))),
        }
    }

    /// The result, after the end of the pipe.
    fn result<R: DeserializeOwned>(&mut self) -> Result<R, Failure> {
        self.process.wait().map_err(Failure::ProcessEnded)?;
        if self.received.is_empty() {
            return Err(Failure::ProcessEnded(String::from("exit code 0")));
        }
        rmp_serde::from_slice::<Result<R, Failure>>(&self.received)
            .map_err(|error| Failure::NotPassed(error.to_string()))?
    }
}

/// Encodes a result as MessagePack with names, so that skipped and tagged fields are read as they were written.
fn encode<R: Serialize>(result: &Result<R, Failure>) -> Vec<u8> {
    rmp_serde::to_vec_named(result).unwrap_or_else(|error| {
        let failure = Failure::NotPassed(error.to_string());
        rmp_serde::to_vec_named(&Err::<(), _>(failure)).expect("a text is always encoded")
    })
}

/// Waits for a process that is abandoned because a finisher panicked.
impl Drop for Handling {
    fn drop(&mut self) {
        // The process may not end before its result is read. If reading fails, closing the pipe ends the process.
        let _ = std::io::copy(&mut self.pipe, &mut std::io::sink());
        let _ = self.process.wait();
    }
}
