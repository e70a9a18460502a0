use measure::{CaseError, Params, Round};

use super::{PROCESSES_TOO, PROCESSES_TOO_AND_WORK, lock};
use crate::{Case, Only, only};

const ELSEWHERE: Only = Only::Linux("measured on Linux only; Windows has no System V semaphores");

/// The mutex between processes that programs used before futexes existed.
pub const WITH_UNDO: Case = Case {
    operation: "One acquire and one release of a System V semaphore used as a mutex: one semop \
                with three operations on a set of two semaphores (wait for zero on 0, wait for \
                zero on 1, add 1 to 0), and one semop that subtracts 1 from 0; all with SEM_UNDO.",
    comparable_to: "libMicro's `semop` adds 1 and subtracts 1 with single operations and without \
                SEM_UNDO; lmbench's `lat_sem` passes a token through two semaphores, which \
                includes a context switch.",
    only: ELSEWHERE,
    params: PROCESSES_TOO_AND_WORK,
    run: |params, round| run(params, round, true),
    ..lock("sysv-sem")
};

/// The System V semaphore without SEM_UNDO, by which the kernel releases a semaphore when its holder dies.
pub const WITHOUT_UNDO: Case = Case {
    name: "sysv-sem-no-undo",
    operation: "As lock/sysv-sem, without SEM_UNDO.",
    comparable_to: "The difference to lock/sysv-sem is the cost of the kernel's undo list. \
                libMicro's `semop` makes two calls with one operation each.",
    params: PROCESSES_TOO,
    run: |params, round| run(params, round, false),
    ..WITH_UNDO
};

#[only(linux)]
fn run(params: &Params, round: &mut Round, undo: bool) -> Result<(), CaseError> {
    use super::measure;

    #[inline(always)]
    fn semop<const N: usize>(id: i32, operations: &mut [libc::sembuf; N]) {
        // SAFETY: the pointer and count describe `operations`.
        let done = unsafe { libc::semop(id, operations.as_mut_ptr(), N) };
        assert!(done == 0, "semop: {}", std::io::Error::last_os_error());
    }

    let recorded = platform::cleanup::Recorded::semaphore_set()?;
    // SAFETY: creates a new set; no memory is passed.
    let id = unsafe { libc::semget(recorded.key(), 2, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
    if id < 0 {
        return Err(CaseError::last_os_error("semget"));
    }
    let sem_flg = if undo { libc::SEM_UNDO as i16 } else { 0 };
    let operation = |sem_num, sem_op| libc::sembuf { sem_num, sem_op, sem_flg };
    let acquire = || semop(id, &mut [operation(0, 0), operation(1, 0), operation(0, 1)]);
    let release = || semop(id, &mut [operation(0, -1)]);
    round.expect_syscalls(2.0);
    measure(params, round, &(acquire, release))
}
