//! System calls where nothing counts them: on all systems but Linux.

/// Nothing counts system calls here.
pub struct ProcessCounter(std::convert::Infallible);

impl ProcessCounter {
    /// Never.
    pub fn start(_tracepoint: u64) -> Option<Self> {
        None
    }

    /// Never.
    pub fn from_exec(_tracepoint: u64) -> Option<Self> {
        None
    }

    /// System calls so far.
    pub fn syscalls(&self) -> Option<u64> {
        match self.0 {}
    }
}

/// There is no tracepoint to hold here.
pub struct HeldTracepoint(std::convert::Infallible);

impl HeldTracepoint {
    /// Never.
    pub fn hold() -> Option<Self> {
        None
    }
}

/// There is no such tracepoint here.
pub fn syscall_tracepoint() -> Option<u64> {
    None
}
