//! System calls where nothing counts them: on all systems but Linux.

/// A counter of system calls, which this system does not offer.
pub struct ProcessCounter(std::convert::Infallible);

impl ProcessCounter {
    /// Returns `None`: system calls are not counted here.
    pub fn start(_tracepoint: u64) -> Option<Self> {
        None
    }

    /// Returns `None`: system calls are not counted here.
    pub fn from_exec(_tracepoint: u64) -> Option<Self> {
        None
    }

    /// Never called: no counter can be created.
    pub fn syscalls(&self) -> Option<u64> {
        match self.0 {}
    }
}

/// A held tracepoint: there is none on this system.
pub struct HeldTracepoint(std::convert::Infallible);

impl HeldTracepoint {
    /// Returns `None`: this system has no tracepoint.
    pub fn hold() -> Option<Self> {
        None
    }
}

/// Returns `None`: this system has no tracepoint.
pub fn syscall_tracepoint() -> Option<u64> {
    None
}
