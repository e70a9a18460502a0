use measure::{CaseError, Params, Round};
use platform::on_linux;

use super::{METRICS, PROCESSES_TOO};
use crate::{Case, Only};

const ELSEWHERE: Only = Only::Linux("measured on Linux only; Windows has no System V semaphores");

/// As programs used it for a mutex between processes before futexes.
pub const WITH_UNDO: Case = Case {
    area: "lock",
    name: "sysv-sem",
    operation: "One acquire and release of a System V semaphore used as a mutex: one semop of three \
                operations on a set of two (wait for zero on 0, wait for zero on 1, add 1 to 0), then \
                one semop that takes 1 from 0; all with SEM_UNDO.",
    comparable_to: "lmbench's `lat_sem` passes a token through two semaphores and so counts a switch.",
    only: ELSEWHERE,
    core_bound: true,
    trials: None,
    params: PROCESSES_TOO,
    metrics: METRICS,
    run: |params, round| run(params, round, true),
};

/// The same without the kernel's promise to undo it when the holder dies.
pub const WITHOUT_UNDO: Case = Case {
    name: "sysv-sem-no-undo",
    operation: "As lock/sysv-sem, without SEM_UNDO.",
    comparable_to: "The difference to lock/sysv-sem is the price of the kernel's undo list.",
    run: |params, round| run(params, round, false),
    ..WITH_UNDO
};

fn run(params: &Params, round: &mut Round, undo: bool) -> Result<(), CaseError> {
    on_linux!(params, round, undo, {
        use super::{Lock, measure};

        struct SemaphoreSet {
            id: i32,
            flags: i16,
        }

        impl Lock for SemaphoreSet {
            type Hold = ();

            fn join(&self) -> Result<(), CaseError> {
                Ok(())
            }

            #[inline(always)]
            fn acquire(&self, (): &mut ()) {
                let operation =
                    |sem_num, sem_op| libc::sembuf { sem_num, sem_op, sem_flg: self.flags };
                semop(self.id, &mut [operation(0, 0), operation(1, 0), operation(0, 1)]);
            }

            #[inline(always)]
            fn release(&self, (): &mut ()) {
                let minus_one = libc::sembuf { sem_num: 0, sem_op: -1, sem_flg: self.flags };
                semop(self.id, &mut [minus_one]);
            }
        }

        impl Drop for SemaphoreSet {
            fn drop(&mut self) {
                // SAFETY: removes the set this made; no memory is passed.
                unsafe { libc::semctl(self.id, 0, libc::IPC_RMID) };
            }
        }

        #[inline(always)]
        fn semop<const N: usize>(id: i32, operations: &mut [libc::sembuf; N]) {
            // SAFETY: the pointer and count describe `operations`.
            let done = unsafe { libc::semop(id, operations.as_mut_ptr(), N) };
            assert!(done == 0, "semop: {}", std::io::Error::last_os_error());
        }

        // SAFETY: makes a new set under a key of our own; no memory is passed.
        let id = unsafe {
            libc::semget(platform::cleanup::ipc_key(), 2, libc::IPC_CREAT | libc::IPC_EXCL | 0o600)
        };
        if id < 0 {
            return Err(CaseError::last_os_error("semget"));
        }
        let flags = if undo { libc::SEM_UNDO as i16 } else { 0 };
        round.expect_syscalls(2.0);
        measure(params, round, &SemaphoreSet { id, flags })
    })
}
