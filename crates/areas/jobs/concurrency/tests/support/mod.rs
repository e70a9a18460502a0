//! Support for the tests of all executors.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod graphs;

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use concurrency::{
    ConcurrentExecution, Dependencies, Execution, Failure, Finishers, Handling, KindHandler, Pool,
    Rayon, Threads, Tokio, by_kind,
};

/// An executor whose handlers share the caller's memory.
pub enum Executor {
    OnDemand(ConcurrentExecution),
    UpFront(ConcurrentExecution),
    Suspended(ConcurrentExecution),
    Pool(Pool),
    Rayon(Rayon),
    Tokio(Tokio),
}

impl Executor {
    /// One executor of each kind, for at most `degree` objects at a time.
    pub fn all(degree: usize) -> [(&'static str, Self); 9] {
        let n = nonzero(degree);
        let (threads, at_once) = (ConcurrentExecution::new(n), Finishers::AtOnce);
        let suspended = threads.clone().threads(Threads::Suspended);
        [
            ("on demand", Self::OnDemand(ConcurrentExecution::new(n))),
            ("up front", Self::UpFront(ConcurrentExecution::new(n).threads(Threads::UpFront))),
            ("on demand, finished at once", Self::OnDemand(threads.finishers(at_once))),
            ("suspended", Self::Suspended(suspended.clone())),
            ("suspended, finished at once", Self::Suspended(suspended.finishers(at_once))),
            ("pool", Self::Pool(Pool::new(n).unwrap())),
            ("rayon", Self::Rayon(Rayon::new(n).unwrap())),
            ("tokio, multi-thread", Self::Tokio(Tokio::multi_thread(n, nonzero(2)).unwrap())),
            ("tokio, current thread", Self::Tokio(Tokio::current_thread(n).unwrap())),
        ]
    }

    /// The executors whose handlers may block without keeping others from running.
    pub fn blocking(degree: usize) -> impl Iterator<Item = (&'static str, Self)> {
        Self::all(degree).into_iter().filter(|(_, one)| !matches!(one, Self::Tokio(_)))
    }

    pub fn run<T: Sync, R: Send>(
        &self,
        objects: &[T],
        handler: impl Fn(&T) -> R + Sync,
        finisher: impl FnMut(&T, Result<R, Failure>),
    ) {
        match self {
            Self::OnDemand(execution) | Self::UpFront(execution) | Self::Suspended(execution) => {
                execution.do_for_all_objects(objects, handler, finisher);
            }
            Self::Pool(pool) => pool.do_for_all_objects(objects, handler, finisher),
            Self::Rayon(rayon) => rayon.do_for_all_objects(objects, handler, finisher),
            Self::Tokio(tokio) => {
                let handler = &handler;
                tokio.do_for_all_objects(
                    objects,
                    |object| {
                        Box::pin(async move {
                            // The yield suspends and resumes the task.
                            tokio::task::yield_now().await;
                            handler(object)
                        })
                    },
                    finisher,
                );
            }
        }
    }

    pub fn run_dependent<T: Sync, R: Send>(
        &self,
        dependencies: &Dependencies,
        objects: &[T],
        handler: impl Fn(&T) -> R + Sync,
        finisher: impl FnMut(&T, Result<R, Failure>),
    ) {
        match self {
            Self::OnDemand(execution) | Self::UpFront(execution) | Self::Suspended(execution) => {
                execution.do_scheduled(dependencies.schedule(), objects, handler, finisher);
            }
            Self::Pool(pool) => {
                pool.do_scheduled(dependencies.schedule(), objects, handler, finisher)
            }
            Self::Rayon(rayon) => {
                rayon.do_scheduled(dependencies.schedule(), objects, handler, finisher)
            }
            Self::Tokio(tokio) => {
                let handler = &handler;
                let task = |object| -> Handling<'_, R> {
                    Box::pin(async move {
                        tokio::task::yield_now().await;
                        handler(object)
                    })
                };
                tokio.do_scheduled(dependencies.schedule(), objects, task, finisher);
            }
        }
    }
}

pub fn nonzero(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).expect("no degree is zero")
}

/// Suppresses the output of intended panics.
pub fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let text = panic.payload_as_str().unwrap_or_default();
            if !text.contains("on purpose") {
                loud(panic);
            }
        }));
    });
}

/// Additional properties of a call.
#[derive(Debug, Clone, Copy)]
pub struct Extras {
    /// Number of kinds of objects, each with its own handler.
    pub kinds: usize,
    /// Number of yields in a finisher before it returns.
    pub finisher_yields: usize,
}

/// Runs `count` objects through the executor and checks every guarantee that does not depend on timing. Objects whose
/// index is in `panicking` panic.
pub fn check_promises(
    name: &str,
    executor: &Executor,
    degree: usize,
    count: usize,
    panicking: &[usize],
) {
    let extras = Extras { kinds: 1, finisher_yields: 0 };
    check_promises_with(extras, name, executor, degree, count, panicking);
}

/// Checks the guarantees like [`check_promises`], with objects of several kinds, and finishers that take a while.
pub fn check_promises_with(
    extras: Extras,
    name: &str,
    executor: &Executor,
    degree: usize,
    count: usize,
    panicking: &[usize],
) {
    quiet_panics();
    let kind_of = |object: &String| object.parse::<usize>().unwrap() % extras.kinds;
    let objects: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    let handled: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    let (running, unfinished, finished) =
        (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let plain = |object: &str| {
        let number: usize = object.parse().unwrap();
        if panicking.contains(&number) {
            panic!("{number} on purpose");
        }
        number * number
    };
    let handler = |object: &String| {
        let number: usize = object.parse().unwrap();
        handled[number].fetch_add(1, Ordering::SeqCst);
        let _leaving = Leaving(&running);
        assert!(running.fetch_add(1, Ordering::SeqCst) < degree, "{name}: too many handlers");
        assert!(
            unfinished.fetch_add(1, Ordering::SeqCst) < degree,
            "{name}: a slot was given on before its finisher returned"
        );
        assert!(
            finished.load(Ordering::SeqCst) + degree > number,
            "{name}: object {number} was begun out of turn"
        );
        if number.is_multiple_of(7) {
            thread::yield_now();
        }
        plain(object)
    };
    let of_kind = |kind: usize| {
        let handler = &handler;
        move |object: &String| {
            assert_eq!(kind_of(object), kind, "{name}: the handler of another kind");
            handler(object)
        }
    };
    let handlers: Vec<_> = (0..extras.kinds).map(of_kind).collect();
    let handlers: Vec<KindHandler<String, usize>> = handlers.iter().map(|one| one as _).collect();
    let caller = thread::current().id();
    let in_finisher = AtomicUsize::new(0);
    // A finisher's state needs no lock, since only this thread accesses it.
    let results = Rc::new(Cell::new(vec![None; count]));
    let also_ours = Rc::clone(&results);
    executor.run(&objects, by_kind(&handlers, kind_of), |object, result| {
        assert_eq!(in_finisher.fetch_add(1, Ordering::SeqCst), 0, "{name}: two finishers at once");
        assert_eq!(thread::current().id(), caller, "{name}: finished on another thread");
        let number: usize = object.parse().unwrap();
        assert!(std::ptr::eq(object, &objects[number]), "{name}: not the caller's object");
        assert_eq!(handled[number].load(Ordering::SeqCst), 1, "{name}: finished before handled");
        let mut all = also_ours.take();
        assert_eq!(all[number], None, "{name}: finished twice");
        all[number] = Some(result);
        also_ours.set(all);
        (0..extras.finisher_yields).for_each(|_| thread::yield_now());
        in_finisher.fetch_sub(1, Ordering::SeqCst);
        finished.fetch_add(1, Ordering::SeqCst);
        unfinished.fetch_sub(1, Ordering::SeqCst);
    });
    assert!(handled.iter().all(|times| times.load(Ordering::SeqCst) == 1), "{name}: not all once");
    assert_eq!(unfinished.load(Ordering::SeqCst), 0, "{name}: not all were finished");
    assert_eq!(running.load(Ordering::SeqCst), 0, "{name}: a handler still runs");

    let mut serial = Vec::new();
    let one = ConcurrentExecution::new(nonzero(1));
    one.do_serial(&objects, |object: &String| plain(object), |_, result| serial.push(Some(result)));
    assert_eq!(results.take(), serial, "{name}: not what serial execution gives");
}

/// Decrements the number of handlers, also on a panic.
struct Leaving<'a>(&'a AtomicUsize);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
