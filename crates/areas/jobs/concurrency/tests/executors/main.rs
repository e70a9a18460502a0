//! Tests the guarantees of all executors, and their behaviour with panics, nesting and failing threads.

mod dependencies;
#[path = "../support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use concurrency::{
    ConcurrentExecution, Execution, Failure, KindHandler, Pool, Rayon, Threads, Tokio, by_kind,
};
use proptest::prelude::*;

use support::{Executor, Extras, check_promises, check_promises_with, nonzero, quiet_panics};

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn all_promises_are_kept(count in 0usize..60, degree in 1usize..10) {
        for (name, executor) in Executor::all(degree) {
            check_promises(name, &executor, degree, count, &[]);
        }
    }

    #[test]
    fn all_promises_are_kept_for_objects_of_several_kinds_and_long_finishers(
        count in 0usize..60,
        degree in 1usize..10,
        kinds in 1usize..6,
        finisher_yields in 0usize..20,
        panicking in proptest::collection::vec(0usize..60, 0..3),
    ) {
        let extras = Extras { kinds, finisher_yields };
        for (name, executor) in Executor::all(degree) {
            check_promises_with(extras, name, &executor, degree, count, &panicking);
        }
    }

    #[test]
    fn a_panic_is_a_failure_of_its_object_alone(
        count in 1usize..40,
        degree in 1usize..6,
        panicking in proptest::collection::vec(0usize..40, 0..20),
    ) {
        for (name, executor) in Executor::all(degree) {
            // The check runs twice, because a panic may have left something behind.
            check_promises(name, &executor, degree, count, &panicking);
            check_promises(name, &executor, degree, count, &panicking);
        }
    }
}

#[test]
fn ten_thousand_objects_at_degree_64() {
    for (name, executor) in Executor::all(64) {
        // A thread for each object could exceed the system's limit.
        let count = if matches!(executor, Executor::Suspended(_)) { 500 } else { 10_000 };
        check_promises(name, &executor, 64, count, &[5, 77, count - 1]);
    }
}

#[test]
fn an_empty_list_is_done_at_once() {
    for (name, executor) in Executor::all(3) {
        executor.run(&[] as &[u8], |_| panic!("{name}: no object"), |_, _: Result<(), _>| panic!());
    }
}

#[test]
fn more_threads_than_objects() {
    for (name, executor) in Executor::all(50) {
        check_promises(name, &executor, 50, 3, &[]);
    }
}

#[test]
fn the_degree_is_reached() {
    for (name, executor) in Executor::blocking(5) {
        let meeting = Barrier::new(5);
        let mut met = 0;
        let finisher = |_: &(), leads: Result<bool, Failure>| met += usize::from(leads.unwrap());
        executor.run(&[(); 20], |()| meeting.wait().is_leader(), finisher);
        assert_eq!(met, 4, "{name}");
    }
    for tokio in [Tokio::multi_thread(nonzero(5), nonzero(1)), Tokio::current_thread(nonzero(5))] {
        let meeting = tokio::sync::Barrier::new(5);
        let objects: Vec<&tokio::sync::Barrier> = vec![&meeting; 20];
        let mut met = 0;
        tokio.unwrap().do_for_all_objects(
            &objects,
            |meeting| Box::pin(async { meeting.wait().await.is_leader() }),
            |_, leads: Result<bool, Failure>| met += usize::from(leads.unwrap()),
        );
        assert_eq!(met, 4);
    }
}

#[test]
fn a_slot_is_given_on_while_another_handler_runs() {
    for (name, executor) in Executor::blocking(2) {
        let finished = AtomicUsize::new(0);
        let objects: Vec<usize> = (0..20).collect();
        executor.run(
            &objects,
            // The first object holds its slot while all others go through the other slot.
            |&object| {
                if object == 0 {
                    testing::until(|| finished.load(Ordering::SeqCst) >= 19);
                }
            },
            |_, result| {
                assert_eq!(result, Ok(()), "{name}");
                finished.fetch_add(1, Ordering::SeqCst);
            },
        );
        assert_eq!(finished.into_inner(), 20, "{name}");
    }
}

#[test]
fn a_free_slot_is_taken_while_a_finisher_runs() {
    for (name, executor) in Executor::blocking(2) {
        let begun = AtomicUsize::new(0);
        let both = Barrier::new(2);
        let mut finished = 0;
        executor.run(
            &[0, 1, 2],
            |&object| {
                begun.fetch_add(1, Ordering::SeqCst);
                if object < 2 {
                    both.wait();
                }
            },
            |_, result| {
                assert_eq!(result, Ok(()), "{name}");
                // The threads that have nothing to do fall asleep meanwhile, which no event shows.
                thread::sleep(Duration::from_millis(5));
                finished += 1;
                if finished == 2 {
                    testing::until(|| begun.load(Ordering::SeqCst) >= 3);
                }
            },
        );
    }
}

#[test]
fn results_may_borrow_from_objects_on_the_stack() {
    for (name, executor) in Executor::all(2) {
        let lines = [String::from("a b"), String::from("c"), String::from("d e f")];
        let objects: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut first_words: Vec<&str> = Vec::new();
        executor.run(
            &objects,
            |line| line.split(' ').next(),
            |_, word| first_words.extend(word.unwrap()),
        );
        first_words.sort_unstable();
        assert_eq!(first_words, ["a", "c", "d"], "{name}");
    }
}

#[test]
fn any_payload_of_a_panic_is_told() {
    quiet_panics();
    for (name, executor) in Executor::all(2) {
        let mut messages = Vec::new();
        executor.run(
            &[0, 1, 2],
            |&object| match object {
                0 => panic!("text on purpose"),
                1 => panic!("{object} on purpose"),
                _ => std::panic::resume_unwind(Box::new(7)),
            },
            |_, result: Result<(), Failure>| messages.push(result.unwrap_err().to_string()),
        );
        messages.sort_unstable();
        let expected = [
            "the handler panicked: 1 on purpose",
            "the handler panicked: its payload is no text",
            "the handler panicked: text on purpose",
        ];
        assert_eq!(messages, expected, "{name}");
    }
}

#[test]
fn an_object_of_a_kind_without_a_handler_is_a_failure() {
    quiet_panics();
    for (name, executor) in Executor::all(2) {
        let handlers: [KindHandler<usize, usize>; 2] = [&|object| object + 1, &|object| object + 2];
        let mut results = Vec::new();
        // The objects' kinds are 0, 1 and 2, but only the first two have handlers.
        executor.run(&[0, 1, 2], by_kind(&handlers, |&object| object), |&object, result| {
            results.push((object, result));
        });
        results.sort_by_key(|(object, _)| *object);
        let panic = "there is no handler for objects of kind 2".to_owned();
        let expected = [(0, Ok(1)), (1, Ok(3)), (2, Err(Failure::Panicked(panic)))];
        assert_eq!(results, expected, "{name}");
    }
}

#[test]
fn a_finishers_panic_waits_for_handlers_and_goes_on() {
    quiet_panics();
    for (name, executor) in Executor::all(4) {
        for at in [0, 1, 20] {
            let (begun, ended, mut finished) = (AtomicUsize::new(0), AtomicUsize::new(0), 0);
            let call = AssertUnwindSafe(|| {
                executor.run(
                    &[(); 100],
                    |()| {
                        begun.fetch_add(1, Ordering::SeqCst);
                        thread::yield_now();
                        ended.fetch_add(1, Ordering::SeqCst);
                    },
                    |(), _| {
                        if finished == at {
                            panic!("finisher on purpose");
                        }
                        finished += 1;
                    },
                );
            });
            let panic = catch_unwind(call).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"finisher on purpose"), "{name}");
            assert_eq!(finished, at, "{name}: a finisher was called after one had panicked");
            let (begun, ended) = (begun.into_inner(), ended.into_inner());
            assert_eq!(begun, ended, "{name}: a handler outlived the call");
            assert!(begun <= at + 4, "{name}: an object was begun after the panic");
        }
        // The executor still works.
        check_promises(name, &executor, 4, 50, &[]);
    }
}

#[test]
fn a_handler_may_use_its_own_executor() {
    for (name, executor) in Executor::blocking(3) {
        let nested = |numbers: &Vec<u64>| {
            let mut sum = 0;
            executor.run(numbers, |number| number * 10, |_, tenfold| sum += tenfold.unwrap());
            sum
        };
        let objects: Vec<Vec<u64>> = (0..9).map(|n| (0..n).collect()).collect();
        let mut sum = 0;
        executor.run(&objects, nested, |_, part| sum += part.unwrap());
        assert_eq!(sum, 840, "{name}");
    }
}

#[test]
fn a_finisher_may_use_its_own_executor() {
    for (name, executor) in Executor::all(3) {
        let mut sum = 0;
        executor.run(
            &[1, 2, 3, 4],
            |number| number * 10,
            |_, tenfold| {
                let tenfold = tenfold.unwrap();
                executor.run(&[tenfold], |number| number + 1, |_, more| sum += more.unwrap());
            },
        );
        assert_eq!(sum, 104, "{name}");
    }
}

#[test]
fn tokio_refuses_to_be_used_by_its_own_tasks() {
    let tokio = Tokio::multi_thread(nonzero(2), nonzero(2)).unwrap();
    let tokio = &tokio;
    let mut failures = Vec::new();
    tokio.do_for_all_objects(
        &[1, 2, 3],
        |_| {
            Box::pin(async move {
                tokio.do_for_all_objects(&[()], |()| Box::pin(async {}), |_, _| ());
            })
        },
        |_, result: Result<(), Failure>| failures.push(result.unwrap_err()),
    );
    let is_told = |f: &Failure| matches!(f, Failure::Panicked(text) if text.contains("runtime"));
    assert!(failures.len() == 3 && failures.iter().all(is_told), "{failures:?}");
}

#[test]
fn executors_of_different_kinds_nest() {
    let objects = [3u64, 4, 5];
    for (outer, one) in Executor::all(2) {
        for (inner, other) in Executor::blocking(2) {
            let mut sum = 0;
            let handler = |&number: &u64| {
                let numbers: Vec<u64> = (0..number).collect();
                let part = RefCell::new(0);
                other.run(&numbers, |&n| n, |_, n| *part.borrow_mut() += n.unwrap());
                part.into_inner()
            };
            one.run(&objects, handler, |_, part| sum += part.unwrap());
            assert_eq!(sum, 3 + 6 + 10, "{inner} in {outer}");
        }
    }
    let tokio = Tokio::current_thread(nonzero(2)).unwrap();
    let threads = ConcurrentExecution::new(nonzero(1));
    let mut sum = 0;
    let handler = |&number: &u64| {
        let mut own = 0;
        tokio.do_serial(&[number], |&n| Box::pin(async move { n }), |_, n| own += n.unwrap());
        own
    };
    threads.do_for_all_objects(&objects, handler, |_, part| sum += part.unwrap());
    assert_eq!(sum, 12);
}

#[test]
fn tasks_wait_without_holding_their_thread() {
    for tokio in
        [Tokio::multi_thread(nonzero(100), nonzero(1)), Tokio::current_thread(nonzero(100))]
    {
        let mut done = 0;
        // The time is the subject: one thread waits for a hundred timers.
        let object = Duration::from_millis(2);
        tokio.unwrap().do_for_all_objects(
            &[object; 300],
            |&pause| Box::pin(tokio::time::sleep(pause)),
            |_, result| done += usize::from(result.is_ok()),
        );
        assert_eq!(done, 300);
    }
}

#[test]
fn serial_execution_keeps_order_and_thread() {
    quiet_panics();
    let caller = thread::current().id();
    let handler = |&object: &usize| {
        assert_eq!(thread::current().id(), caller);
        assert!(object != 3, "three on purpose");
        object
    };
    let objects: Vec<usize> = (0..6).collect();
    let mut finished = Vec::new();
    let note = |&object: &usize, result: Result<usize, Failure>| finished.push((object, result));
    ConcurrentExecution::new(nonzero(4)).do_serial(&objects, handler, note);
    let panicked = Err(Failure::Panicked(String::from("three on purpose")));
    let expected = objects.iter().map(|&o| (o, if o == 3 { panicked.clone() } else { Ok(o) }));
    assert!(finished.iter().cloned().eq(expected.clone()), "{finished:?}");

    let tokio = Tokio::current_thread(nonzero(4)).unwrap();
    let mut finished = Vec::new();
    tokio.do_serial(
        &objects,
        |object| Box::pin(async { handler(object) }),
        |&object, result| finished.push((object, result)),
    );
    assert!(finished.iter().cloned().eq(expected), "{finished:?}");
}

#[test]
fn threads_that_cannot_be_made_are_failures() {
    let no_threads = ConcurrentExecution::new(nonzero(3)).stack_size(usize::MAX / 4);
    for when in [Threads::OnDemand, Threads::UpFront] {
        let mut finished = Vec::new();
        no_threads.clone().threads(when).do_for_all_objects(
            &[1, 2, 3, 4, 5],
            |_| unreachable!("there is no thread to be on"),
            |&object, result: Result<(), Failure>| {
                assert!(matches!(result, Err(Failure::NoThread(_))), "{result:?}");
                finished.push(object);
            },
        );
        assert_eq!(finished, [1, 2, 3, 4, 5], "{when:?}");
    }
}

#[test]
fn several_threads_may_share_an_executor() {
    let pool = Pool::new(nonzero(2)).unwrap();
    let rayon = Rayon::new(nonzero(2)).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let objects: Vec<usize> = (0..500).collect();
                let (mut by_pool, mut by_rayon) = (0, 0);
                pool.do_for_all_objects(&objects, |&n| n, |_, n| by_pool += n.unwrap());
                rayon.do_for_all_objects(&objects, |&n| n, |_, n| by_rayon += n.unwrap());
                assert_eq!((by_pool, by_rayon), (124_750, 124_750));
            });
        }
    });
}

#[test]
fn suspended_threads_end_when_a_finisher_panics() {
    quiet_panics();
    let begun = AtomicUsize::new(0);
    let suspended = ConcurrentExecution::new(nonzero(2)).threads(Threads::Suspended);
    let call = AssertUnwindSafe(|| {
        suspended.do_for_all_objects(
            &[(); 50],
            |()| _ = begun.fetch_add(1, Ordering::SeqCst),
            |(), _| panic!("finisher on purpose"),
        );
    });
    assert!(catch_unwind(call).is_err());
    assert!((1..=2).contains(&begun.load(Ordering::SeqCst)), "the others were never resumed");
}
