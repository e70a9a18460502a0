//! The reason why a task failed, passed from a thread or a forked child to the task that waits for it.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::CaseError;

/// Maximum length of a reason in bytes; a longer one is cut.
const TEXT_AT_MOST: usize = 500;

/// No task has failed.
const NONE: u32 = 0;
/// A task has failed and is storing its reason.
const BEING_STORED: u32 = 1;
/// The reason is stored.
const STORED: u32 = 2;

/// The first reason why one of several tasks failed. In [`Shared`](crate::memory::shared::Shared) memory it passes from a forked
/// child to its parent, which else learns only that the child failed.
#[derive(Debug)]
pub struct FirstFailure {
    state: AtomicU32,
    kind: AtomicU8,
    length: AtomicU32,
    text: [AtomicU8; TEXT_AT_MOST],
}

impl FirstFailure {
    /// No task has failed yet.
    pub const fn none() -> Self {
        Self {
            state: AtomicU32::new(NONE),
            kind: AtomicU8::new(0),
            length: AtomicU32::new(0),
            text: [const { AtomicU8::new(0) }; TEXT_AT_MOST],
        }
    }

    /// Stores the reason, unless another task has failed before.
    pub fn report(&self, reason: &CaseError) {
        let claimed =
            self.state.compare_exchange(NONE, BEING_STORED, Ordering::AcqRel, Ordering::Acquire);
        if claimed.is_err() {
            return;
        }
        let text = reason.to_string();
        let text = &text.as_bytes()[..text.floor_char_boundary(TEXT_AT_MOST)];
        for (stored, byte) in self.text.iter().zip(text) {
            stored.store(*byte, Ordering::Relaxed);
        }
        self.length.store(text.len() as u32, Ordering::Relaxed);
        self.kind.store(kind_of(reason), Ordering::Relaxed);
        self.state.store(STORED, Ordering::Release);
    }

    /// The reason of the first task that failed; `None` if none has.
    pub fn first(&self) -> Option<CaseError> {
        if self.state.load(Ordering::Acquire) != STORED {
            return None;
        }
        let length = self.length.load(Ordering::Relaxed) as usize;
        let text: Vec<u8> =
            self.text[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        let make = KINDS[usize::from(self.kind.load(Ordering::Relaxed))];
        Some(make(String::from_utf8_lossy(&text).into_owned()))
    }
}

const KINDS: [fn(String) -> CaseError; 5] = [
    CaseError::Unsupported,
    CaseError::Failed,
    CaseError::Interrupted,
    CaseError::Implausible,
    CaseError::TimedOut,
];

/// The place of the reason's kind in [`KINDS`].
fn kind_of(reason: &CaseError) -> u8 {
    match reason {
        CaseError::Unsupported(_) => 0,
        CaseError::Failed(_) => 1,
        CaseError::Interrupted(_) => 2,
        CaseError::Implausible(_) => 3,
        CaseError::TimedOut(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_of_each_kind_arrives_whole() {
        for kind in KINDS {
            let failure = FirstFailure::none();
            assert_eq!(failure.first(), None);
            failure.report(&kind("sched_setaffinity: größer".to_owned()));
            failure.report(&CaseError::Failed("a later one".to_owned()));
            assert_eq!(failure.first(), Some(kind("sched_setaffinity: größer".to_owned())));
        }
        let failure = FirstFailure::none();
        failure.report(&CaseError::Failed("ö".repeat(TEXT_AT_MOST)));
        assert_eq!(failure.first(), Some(CaseError::Failed("ö".repeat(TEXT_AT_MOST / 2))));
    }

    #[test]
    #[cfg(unix)]
    fn a_forked_child_passes_its_reason_to_its_parent() {
        let failure = crate::memory::shared::Shared::new(FirstFailure::none()).unwrap();
        let reason = CaseError::Unsupported("mq_open: not here".to_owned());
        let mut child = crate::process::fork(|| {
            failure.report(&reason);
            1
        })
        .unwrap();
        assert!(child.wait().is_err());
        assert_eq!(failure.first(), Some(reason));
    }
}
