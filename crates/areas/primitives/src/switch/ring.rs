use measure::{CaseError, metrics};

use super::pipe::ring_of_pipes;
use super::{SAME, SAME_CPU, WorkingSet, measure_ring};
use crate::partner::{AS_PROCESSES_WHERE_POSSIBLE, Tasks};
use crate::{Case, Param, Takes, count_of, size_of};

/// The parameter `tasks`: number of tasks.
const TASKS: Param = Param::new("tasks", &["2", "16"])
    .meaning("how many tasks pass the token around")
    .full(&["2", "4", "8", "16", "32", "64"])
    .takes(Takes::Count(1024));

/// The parameter `working-set`: bytes that each task touches.
const WORKING_SET: Param = Param::new("working-set", &["0", "64k"])
    .meaning(
        "bytes of its own memory that a task changes when it has the token: 8 bytes in \
         each 64",
    )
    .full(&["0", "4k", "16k", "64k", "256k"])
    .takes(Takes::Size(64 << 20));

metrics! {
    TOUCH = lower("touch", "ns"), "the time to touch a task's working set that no other task has evicted";
    NET = lower("net", "ns/op"),
        "the time of a hand-over without that of touching a working set that no other task has evicted";
}

/// A token that goes around many tasks.
pub const CASE: Case = Case {
    operation: "One hand-over of a token of 4 bytes to the next of a ring of tasks on one CPU: one write to a pipe, one \
                read from another, a context switch, and an addition to a word in each 64 bytes of the task's working \
                set. Nothing is subtracted; the metric net is without the time that the same additions take when the \
                working set is cached.",
    comparable_to: "lmbench's `lat_ctx` is net without the pipe calls too, and sums its working set up instead of \
            changing it.",
    params: &[TASKS, WORKING_SET, AS_PROCESSES_WHERE_POSSIBLE, PLACE],
    metrics: &[SAME_CPU, TOUCH, NET],
    run: |params, round| {
        let (tasks, bytes) = (count_of(params, "tasks")?, size_of(params, "working-set")?);
        if tasks < 2 {
            return Err(CaseError::Unsupported("a ring has at least two tasks".into()));
        }
        platform::process::limits::raise_descriptors();
        let placed = Tasks::of(params, round)?;
        if platform::process::CAN_FORK {
            round.expect_syscalls(2.0 / tasks as f64);
        }
        measure_ring(&placed, round, ring_of_pipes(tasks)?, bytes)?;
        if bytes > 0 {
            let touch = WorkingSet::cached_ns(bytes);
            round.metric(&TOUCH, touch);
            if let Some(time) = round.median_time() {
                round.metric(&NET, (time.get() - touch).max(0.0));
            }
        }
        Ok(())
    },
    ..Case::new("switch", "ring")
};

const PLACE: Param = Param { full: &["same", "unpinned"], ..SAME };
