//! Areas of single operations: clocks, system calls, memory, atomic operations, signals, timers, locks, processes, threads, switches,
//! IPC, and the same operations of several workers at once.
//!
//! To add a case, add a file to its area's folder and a line to that folder's list; `CONTRIBUTING.md` shows how with an example.

pub mod atomic;
pub mod clock;
pub mod ipc;
pub mod lock;
pub mod memory;
pub mod partner;
pub mod place;
pub mod process;
pub mod scale;
mod scaled;
pub mod signal;
pub mod switch;
pub mod syscall;
pub mod thread;
pub mod timer;

pub(crate) use catalog::*;
pub(crate) use platform::only;

#[cfg(test)]
mod tests {
    #[test]
    fn contributing_md_quotes_a_real_case() {
        let guide = include_str!("../../../../CONTRIBUTING.md");
        assert!(guide.contains(include_str!("syscall/getppid.rs").trim_end()));
    }
}
