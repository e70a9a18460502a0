use measure::{CaseError, Params, Round};

use super::{BANDWIDTH, LENGTH};
use crate::{Case, Only, only};

/// Reading another process's memory without its cooperation.
pub const CASE: Case = Case {
    operation: "One process_vm_readv of n bytes from the memory of a child process, which sleeps.",
    comparable_to: "stress-ng's `vm-rw` stressor reads and writes back.",
    only: Only::Linux("exists only on Linux"),
    params: &[LENGTH],
    metrics: &[BANDWIDTH],
    run,
    ..Case::new("ipc", "process-vm-readv")
};

#[only(linux)]
fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    use std::io::{self, Read, Write};

    let length = super::length_of(params)?;
    let failed = |e: io::Error| CaseError::from_io("a pipe", &e);
    let ((mut ready, mut says_ready), (mut ends, ends_child)) =
        (io::pipe().map_err(failed)?, io::pipe().map_err(failed)?);
    // The child has a copy at the same address, to which it writes contents that this process does not have.
    let mut memory = vec![0u8; length];
    let mut ends_child = Some(ends_child);
    let mut child = platform::process::fork(|| {
        drop(ends_child.take());
        memory.copy_from_slice(&super::contents(length));
        std::hint::black_box(&memory);
        let said = says_ready.write_all(&[1]);
        let ended = ends.read(&mut [0]);
        i32::from(said.is_err() || ended.is_err())
    })?;
    drop(says_ready);
    ready.read_exact(&mut [0]).map_err(failed)?;
    let mut copy = vec![0u8; length];
    let pid = child.pid() as libc::pid_t;
    let local = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: length };
    let remote = libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: length };
    round.expect_syscalls(1.0);
    // SAFETY: `local` describes `copy`, which is not used meanwhile; the memory of the child is only read.
    round.time_call("process_vm_readv", || unsafe {
        libc::process_vm_readv(pid, &local, 1, &remote, 1, 0) == length as isize
    })?;
    if copy != super::contents(length) || memory.iter().any(|&byte| byte != 0) {
        return Err(CaseError::Failed("the copy is not the child's memory".into()));
    }
    drop(ends_child);
    child.wait().map_err(CaseError::Failed)?;
    super::report_bandwidth(round, length);
    Ok(())
}
