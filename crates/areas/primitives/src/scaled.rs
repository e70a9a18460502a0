//! Several workers that carry out one operation at the same time: parameters, metrics, and the measurement.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use measure::worker_group::{
    GREATEST_SHARE, LEAST_SHARE, Operations, PARALLEL_RATE, Task, WORKER_RATE, WORKERS_AT_MOST,
    WorkerGroup,
};
use measure::{CaseError, Metric, Params, Role, Round};
use platform::memory::shared::Shared;

use crate::place::{SPREAD, place_of};
use crate::{Case, Extent, Param, Takes, count_of, value_of};

/// A case with the definitions of an operation on an object, which each worker owns or all share.
pub const fn on_an_object(name: &'static str) -> Case {
    Case { params: &[WORKERS, AS, SHARE, SPREAD], ..on_nothing(name) }
}

/// A case with the definitions of an operation without an object.
pub const fn on_nothing(name: &'static str) -> Case {
    Case { params: &[WORKERS, AS, SPREAD], metrics: METRICS, ..Case::new("scale", name) }
}

/// Parameters of an operation without an object that threads of one process cannot carry out independently.
pub const BY_PROCESSES: &[Param] = &[WORKERS, AS_PROCESSES, SPREAD];

const WORKERS: Param = Param::new("workers", &["1", "1xcpus"])
    .meaning("how many workers carry out the operation at the same time")
    .full(&["1..1xcpus"])
    .takes(Takes::Count(WORKERS_AT_MOST as u64));
const AS: Param = Param::new("as", &["threads"])
    .meaning("whether workers are threads of one process, or processes")
    .full(&["threads", "processes"]);
const AS_PROCESSES: Param = Param::new("as", &["processes"])
    .meaning("processes: threads of one process would be in each other's way");
const SHARE: Param = Param::new("share", &["own", "same"])
    .meaning("whether each worker has an object of its own, or all use the same one");

/// Number of pages of memory that a worker writes to.
pub const PAGES: usize = 64;

/// The rate of several workers divided by that of one.
pub const SCALING: Metric = Metric::higher(
    "scaling",
    "x",
    "operations per second of all workers together, by those of one worker alone",
)
.with(Role::Derived);

/// Metrics of every operation.
const METRICS: &[Metric] = &[PARALLEL_RATE, WORKER_RATE, LEAST_SHARE, GREATEST_SHARE, SCALING];

/// Whether a run of this extent measures the point. A single worker has only its own object, and a quick run measures several
/// workers on a shared object only, if the operation has one.
pub fn includes(params: &Params, extent: Extent) -> bool {
    let alone = params.get("workers").is_some_and(|workers| workers == "1");
    match params.get("share").map(String::as_str) {
        Some("same") => !alone,
        Some(_) => alone || extent != Extent::Quick,
        None => true,
    }
}

/// Measures `operation` with the workers that `params` describe, each on its own object or all on the same one. `make` creates
/// the object of the worker with the given number, in that worker; a shared object is created before the workers. `operation`
/// returns whether it succeeded. The message of a failure begins with `name`.
///
/// A single worker also runs beside a thread or process that waits for it: in a process with one thread some calls take less
/// time, which would look like bad scaling.
///
/// # Errors
/// The error of `make`; the error of the system if the operation fails at once; `Failed` if it fails later.
pub fn scale<O: Sync>(
    params: &Params,
    round: &mut Round,
    name: &str,
    make: impl Fn(usize) -> Result<O, CaseError> + Sync,
    operation: impl Fn(&O) -> bool + Sync,
) -> Result<(), CaseError> {
    scale_by_number(params, round, name, make, |object, _| operation(object))
}

/// Measures `operation` with [`scale`] if `params` have workers, and otherwise alone on one object: a case of another area and
/// one of scaling share the operation.
///
/// # Errors
/// Errors of [`scale`].
pub fn alone_or_scaled<O: Sync>(
    params: &Params,
    round: &mut Round,
    name: &str,
    make: impl Fn(usize) -> Result<O, CaseError> + Sync,
    operation: impl Fn(&O) -> bool + Sync,
) -> Result<(), CaseError> {
    if is_scaled(params) {
        return scale(params, round, name, make, operation);
    }
    let object = make(0)?;
    round.time_call(name, || operation(&object))
}

/// The object of an operation that needs no object.
///
/// # Errors
/// Returns no errors.
pub fn nothing(_number: usize) -> Result<(), CaseError> {
    Ok(())
}

/// Whether `params` are those of a case of scaling.
pub fn is_scaled(params: &Params) -> bool {
    params.contains_key(WORKERS.name)
}

/// Like [`scale`], for an operation that also takes the number of the worker, counted from 0.
///
/// # Errors
/// Errors of [`scale`].
pub fn scale_by_number<O: Sync>(
    params: &Params,
    round: &mut Round,
    name: &str,
    make: impl Fn(usize) -> Result<O, CaseError> + Sync,
    operation: impl Fn(&O, usize) -> bool + Sync,
) -> Result<(), CaseError> {
    let worker_group = WorkerGroup {
        workers: count_of(params, WORKERS.name)?,
        processes: value_of(params, AS.name)? == "processes",
        place: place_of(params)?,
        time: Duration::ZERO,
    };
    let is_same = params.get(SHARE.name).is_some_and(|share| share == "same");
    // A first operation shows whether the system supports it: the reason of a worker process that fails is lost with the process.
    let first = make(worker_group.workers)?;
    if !operation(&first, worker_group.workers) {
        return Err(CaseError::last_os_error(name));
    }
    let same = is_same.then_some(first);
    let failures = Shared::new(AtomicU64::new(0))?;
    let task = Parallel { same: same.as_ref(), make, operation, failures: &failures };
    round.contend(&worker_group, &task)?;
    match failures.load(Ordering::Acquire) {
        0 => Ok(()),
        n => Err(CaseError::Failed(format!("{name} worked at first, then failed {n} times"))),
    }
}

/// The operation and the objects that it needs.
struct Parallel<'a, O, M, F> {
    same: Option<&'a O>,
    make: M,
    operation: F,
    /// Number of failed operations, in memory that all workers share.
    failures: &'a AtomicU64,
}

/// The object of a worker.
enum Object<'a, O> {
    Own(O),
    Same(&'a O),
}

/// A worker with its object.
struct Worker<'a, O> {
    number: usize,
    object: Object<'a, O>,
}

impl<'a, O, M, F> Task<Worker<'a, O>> for Parallel<'a, O, M, F>
where
    O: Sync,
    M: Fn(usize) -> Result<O, CaseError> + Sync,
    F: Fn(&O, usize) -> bool + Sync,
{
    const OPERATIONS: Operations = Operations::Parallel;

    fn join(&self, number: usize) -> Result<Worker<'a, O>, CaseError> {
        let object = match self.same {
            Some(same) => Object::Same(same),
            None => Object::Own((self.make)(number)?),
        };
        Ok(Worker { number, object })
    }

    #[inline(always)]
    fn operate(&self, worker: &mut Worker<'a, O>) {
        let object = match &worker.object {
            Object::Own(own) => own,
            Object::Same(same) => same,
        };
        if !black_box((self.operation)(object, worker.number)) {
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
}
