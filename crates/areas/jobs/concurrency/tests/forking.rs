//! Tests processes as executors, and that no executor leaves threads, descriptors or children behind.
//!
//! A process that forks must have one thread, and these tests count all threads of the process, so they run one after the
//! other on the main thread, which the usual test harness cannot do.

mod support;

#[cfg(unix)]
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use concurrency::{Execution, Failure, Processes};
use support::nonzero;

fn main() -> ExitCode {
    support::quiet_panics();
    testing::alone(tests())
}

#[cfg(not(unix))]
fn tests() -> [testing::Trial; 1] {
    testing::tests![without_fork_every_object_is_a_failure]
}

#[cfg(not(unix))]
fn without_fork_every_object_is_a_failure() {
    let mut failures = Vec::new();
    let handler = |_: &u32| unreachable!("there is no process to be in");
    Processes::new(nonzero(2)).do_for_all_objects(
        &[1, 2, 3],
        handler,
        |_, result: Result<(), _>| {
            failures.push(result.unwrap_err());
        },
    );
    let reason = Failure::NoProcess(String::from("Windows has no fork"));
    assert_eq!(failures, [reason.clone(), reason.clone(), reason]);
}

#[cfg(unix)]
fn tests() -> Vec<testing::Trial> {
    let tests = testing::tests![
        unix::every_object_is_handled_once,
        unix::five_hundred_objects_at_degree_64,
        unix::the_degree_is_reached,
        unix::any_result_comes_over,
        unix::how_a_process_ended_is_told,
        unix::a_finishers_panic_reaps_all,
        unix::processes_nest,
        unix::random_graphs_are_carried_out_in_order,
        unix::processes_that_cannot_be_made,
        #[cfg(target_os = "linux")]
        linux::some_threads_cannot_be_made,
        #[cfg(target_os = "linux")]
        linux::nothing_is_left_behind,
    ];
    tests.into()
}

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use concurrency::{Dependencies, by_kind};
    use platform::memory::shared::Shared;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::support::graphs::{Trace, random_pairs};

    fn counter() -> Shared<AtomicUsize> {
        Shared::new(AtomicUsize::new(0)).unwrap()
    }

    /// Asserts that this process has no child, not even a zombie.
    pub fn assert_no_children() {
        // SAFETY: waits for any child; a null pointer for the status is allowed.
        let child = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        assert_eq!(child, -1, "a child is left");
    }

    /// Handles `count` objects; handlers panic for every eleventh.
    fn check_promises(degree: usize, count: usize) {
        let (begun, unfinished, finished) = (counter(), counter(), counter());
        let objects: Vec<usize> = (0..count).collect();
        let result = |object: usize| {
            assert!(!object.is_multiple_of(11), "{object} on purpose");
            format!("{object} handled")
        };
        let handler = |&object: &usize, kind| {
            assert_eq!(object % 2, kind, "the handler of another kind");
            begun.fetch_add(1, Ordering::SeqCst);
            let before = unfinished.fetch_add(1, Ordering::SeqCst);
            assert!(before < degree, "a slot was given on before its finisher returned");
            assert!(finished.load(Ordering::SeqCst) + degree > object, "out of turn");
            result(object)
        };
        let mut results = vec![None; count];
        Processes::new(nonzero(degree)).do_for_all_objects(
            &objects,
            by_kind(&[&|object| handler(object, 0), &|object| handler(object, 1)], |o| o % 2),
            |&object, result| {
                assert_eq!(results[object], None, "finished twice");
                results[object] = Some(result);
                // The finisher takes some time, in which handlers end.
                (0..object % 20).for_each(|_| std::thread::yield_now());
                finished.fetch_add(1, Ordering::SeqCst);
                unfinished.fetch_sub(1, Ordering::SeqCst);
            },
        );
        assert_eq!(begun.load(Ordering::SeqCst), count);
        let mut serial = Vec::new();
        let finisher = |_: &usize, result| serial.push(Some(result));
        Processes::new(nonzero(1)).do_serial(&objects, |&object| result(object), finisher);
        assert_eq!(results, serial);
        assert_no_children();
    }

    pub fn every_object_is_handled_once() {
        for (degree, count) in [(1, 5), (2, 0), (3, 30), (20, 7)] {
            check_promises(degree, count);
        }
    }

    pub fn five_hundred_objects_at_degree_64() {
        check_promises(64, 500);
    }

    pub fn the_degree_is_reached() {
        let met = counter();
        let handler = |_: &()| {
            // Each group of four waits for its last member.
            let group = met.fetch_add(1, Ordering::SeqCst) / 4;
            testing::until(|| met.load(Ordering::SeqCst) >= 4 * (group + 1));
        };
        let finisher = |_: &(), result| assert_eq!(result, Ok(()));
        Processes::new(nonzero(4)).do_for_all_objects(&[(); 12], handler, finisher);
        assert_eq!(met.load(Ordering::SeqCst), 12);
    }

    pub fn any_result_comes_over() {
        // The result is larger than a pipe, and has values that other formats lose.
        let handler = |&size: &usize| (vec![f64::NAN; size], Some(String::from("ü")), u64::MAX);
        let mut sizes = 0;
        Processes::new(nonzero(2)).do_for_all_objects(
            &[0, 100_000, 5],
            handler,
            |&size, result| {
                let (numbers, text, largest) = result.unwrap();
                assert!(numbers.len() == size && numbers.iter().all(|number| number.is_nan()));
                assert_eq!((text.as_deref(), largest), (Some("ü"), u64::MAX));
                sizes += size;
            },
        );
        assert_eq!(sizes, 100_005);
    }

    pub fn how_a_process_ended_is_told() {
        let handler = |&object: &&str| match object {
            // SAFETY: these end this process, which is the handler's own.
            "killed" => unsafe { libc::raise(libc::SIGKILL) },
            "ended" => std::process::exit(3),
            "ended well" => std::process::exit(0),
            "panicked" => panic!("on purpose"),
            _ => 5,
        };
        let objects = ["killed", "ended", "ended well", "panicked", "fine"];
        let mut results = Vec::new();
        let execution = Processes::new(nonzero(2));
        execution.do_for_all_objects(&objects, handler, |object, result| {
            results.push((*object, result));
        });
        results.sort_unstable_by_key(|(object, _)| objects.iter().position(|o| o == object));
        let ended = |how: &str| Err(Failure::ProcessEnded(how.into()));
        let expected = [
            ("killed", ended("killed by signal 9")),
            ("ended", ended("exit code 3")),
            ("ended well", ended("exit code 0")),
            ("panicked", Err(Failure::Panicked("on purpose".into()))),
            ("fine", Ok(5)),
        ];
        assert_eq!(results, expected);
        assert_no_children();
    }

    pub fn a_finishers_panic_reaps_all() {
        let (begun, ended) = (counter(), counter());
        let call = AssertUnwindSafe(|| {
            Processes::new(nonzero(4)).do_for_all_objects(
                &[(); 20],
                |()| {
                    begun.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    ended.fetch_add(1, Ordering::SeqCst);
                    // The process ends only when its result is read.
                    vec![1u8; 1_000_000]
                },
                |(), _| panic!("finisher on purpose"),
            );
        });
        let panic = catch_unwind(call).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"finisher on purpose"));
        assert_no_children();
        assert_eq!(begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst));
        assert!(begun.load(Ordering::SeqCst) <= 4);
    }

    pub fn processes_nest() {
        let execution = Processes::new(nonzero(2));
        let nested = |&number: &u32| {
            let mut sum = 0;
            let numbers: Vec<u32> = (0..number).collect();
            execution.do_for_all_objects(&numbers, |n| n * 10, |_, n| sum += n.unwrap());
            sum
        };
        let mut sum = 0;
        execution
            .do_for_all_objects(&[2, 3, 4], nested, |_, part: Result<u32, _>| sum += part.unwrap());
        assert_eq!(sum, 10 + 30 + 60);
    }

    pub fn random_graphs_are_carried_out_in_order() {
        let mut rng = StdRng::seed_from_u64(9);
        let mut trace = Trace::new(10);
        for _ in 0..1_000 {
            let count = rng.random_range(0..10);
            let degree = rng.random_range(1..5);
            let pairs = random_pairs(count, &mut rng);
            let dependencies = Dependencies::new(count, &pairs).unwrap();
            let objects: Vec<usize> = (0..count).collect();
            trace.reset(count);
            let trace = &trace;
            Processes::new(nonzero(degree)).do_scheduled(
                dependencies.schedule(),
                &objects,
                |&object| {
                    trace.begin(object);
                    trace.end(object);
                },
                |&object, result| {
                    assert_eq!(result, Ok(()));
                    trace.finish(object);
                },
            );
            trace.check(&pairs, degree, "processes");
        }
        assert_no_children();
    }

    /// Lowers a limit of this process while `work` runs.
    pub fn limited(resource: libc::c_int, limit: u64, work: impl FnOnce()) {
        let mut before = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure is valid and outlives the call.
        assert_eq!(unsafe { libc::getrlimit(resource as _, &mut before) }, 0);
        let lower = libc::rlimit { rlim_cur: limit, ..before };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::setrlimit(resource as _, &lower) }, 0);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: as above.
        assert_eq!(unsafe { libc::setrlimit(resource as _, &before) }, 0);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    }

    pub fn processes_that_cannot_be_made() {
        let mut results = Vec::new();
        let execution = Processes::new(nonzero(4));
        // The limit is the lowest free descriptor and two more: room for one pipe and its reader.
        let free = std::io::pipe().map(|(reader, _)| std::os::fd::AsRawFd::as_raw_fd(&reader));
        limited(libc::RLIMIT_NOFILE as _, free.unwrap() as u64 + 3, || {
            execution.do_for_all_objects(
                &[0, 1, 2, 3, 4, 5],
                |&n| n,
                |&n, result| {
                    results.push((n, result));
                },
            );
        });
        let (made, not_made): (Vec<_>, Vec<_>) = results.iter().partition(|(_, r)| r.is_ok());
        assert_eq!(results.len(), 6);
        assert!(made.iter().all(|(n, result)| *result == Ok(*n)) && !made.is_empty());
        let is_told = |r: &Result<i32, Failure>| matches!(r, Err(Failure::NoProcess(text)) if text.starts_with("pipe: "));
        assert!(not_made.iter().all(|(_, r)| is_told(r)) && !not_made.is_empty(), "{not_made:?}");
        assert_no_children();
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use concurrency::{ConcurrentExecution, Threads};

    use super::*;
    use crate::support::Executor;

    pub fn some_threads_cannot_be_made() {
        const STACK: usize = 1 << 30;
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let now_kib: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
        // The limit has room for two such stacks, and for the other memory of threads.
        let room = now_kib * 1024 + 2 * STACK as u64 + STACK as u64 / 2;
        let objects: Vec<usize> = (0..12).collect();
        for when in [Threads::OnDemand, Threads::UpFront] {
            let execution = ConcurrentExecution::new(nonzero(4)).threads(when).stack_size(STACK);
            let mut results = vec![None; objects.len()];
            super::unix::limited(libc::RLIMIT_AS as _, room, || {
                execution.do_for_all_objects(
                    &objects,
                    |&n| n,
                    |&n, result| {
                        assert!(results[n].replace(result).is_none(), "finished twice");
                    },
                );
            });
            let results: Vec<Result<usize, Failure>> = results.into_iter().flatten().collect();
            assert_eq!(results.len(), objects.len(), "{when:?}");
            let is_fine = |(n, result): (usize, &Result<usize, Failure>)| match result {
                Ok(same) => *same == n,
                Err(failure) => matches!(failure, Failure::NoThread(_)),
            };
            assert!(results.iter().enumerate().all(is_fine), "{results:?}");
            let failures = results.iter().filter(|result| result.is_err()).count();
            match when {
                Threads::OnDemand => assert!(failures < objects.len(), "{results:?}"),
                Threads::UpFront | Threads::Suspended => {
                    assert!((1..4).contains(&failures), "{results:?}");
                    assert!(results[..failures].iter().all(Result::is_err), "{results:?}");
                }
            }
        }
    }

    fn count_in(folder: &str) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    pub fn nothing_is_left_behind() {
        let objects: Vec<usize> = (0..20).collect();
        let use_all = || {
            for (name, executor) in Executor::all(4) {
                support::check_promises(name, &executor, 4, 20, &[3, 4]);
                let finisher = |_: &usize, _| panic!("finisher on purpose");
                let call = AssertUnwindSafe(|| executor.run(&objects, |_| (), finisher));
                catch_unwind(call).unwrap_err();
            }
        };
        // A call before counting creates resources that exist once per process.
        use_all();
        let descriptors = count_in("/proc/self/fd");
        for _ in 0..30 {
            use_all();
        }
        // A joined thread may be listed for a moment longer.
        testing::until(|| count_in("/proc/self/task") == 1);
        for _ in 0..30 {
            Processes::new(nonzero(4)).do_for_all_objects(&objects, |_| (), |_, _| ());
        }
        assert_eq!(count_in("/proc/self/fd"), descriptors, "descriptors are left");
        super::unix::assert_no_children();
    }
}
