use crate::{Case, Only, Param, Takes, only};

/// One of several no-op requests that share a system call.
pub const CASE: Case = Case {
    operation: "One no-op request through io_uring. Each io_uring_enter submits `batch` such \
                requests and waits for their completions.",
    comparable_to: "fio's `t/io_uring -N1` also measures no-op requests, but keeps several batches \
                in flight; here the next batch is submitted when all requests of the previous one \
                are complete.",
    only: Only::Linux("io_uring exists only on Linux"),
    core_bound: true,
    params: &[Param::new("batch", &["1", "8", "64"])
        .meaning("the number of requests that share one system call")
        .full(&["1", "2", "4", "8", "16", "32", "64", "128"])
        .takes(Takes::Count(1 << 20))],
    run,
    ..Case::new("syscall", "io-uring-nop")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use io_uring::{IoUring, opcode::Nop};

    let batch = crate::count_of(params, "batch")?.clamp(1, 1024);
    let ring = IoUring::new(batch.next_power_of_two() as u32);
    let mut ring = ring.map_err(|e| platform::uring::error_of("io_uring_setup", &e))?;
    round.operations_per_call(batch as u64);
    round.expect_syscalls(1.0 / batch as f64);
    round.time_call("io_uring_enter", || {
        for _ in 0..batch {
            // SAFETY: a no-op refers to no memory.
            let queued = unsafe { ring.submission().push(&Nop::new().build()) };
            debug_assert!(queued.is_ok());
        }
        let submitted = ring.submit_and_wait(batch);
        let done = ring.completion().filter(|entry| entry.result() == 0).count();
        submitted.is_ok_and(|count| count == batch) && done == batch
    })
}
