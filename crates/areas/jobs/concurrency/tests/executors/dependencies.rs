//! Tests objects that depend on each other with every executor, and cycles against petgraph.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

use concurrency::{ConcurrentExecution, Cycle, Dependencies, Execution, Failure, Threads};
use petgraph::algo::{is_cyclic_directed, toposort};
use petgraph::graph::DiGraph;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::graphs::{Trace, random_pairs};
use crate::support::{Executor, nonzero, quiet_panics};

/// Number of graphs: under Wine a thread takes ten times as long to start as on Linux.
const GRAPHS: usize = if cfg!(windows) { 60 } else { 1_000 };

#[test]
fn random_graphs_are_carried_out_in_order() {
    quiet_panics();
    let mut rng = StdRng::seed_from_u64(16);
    let mut trace = Trace::new(20);
    for _ in 0..GRAPHS {
        let count = rng.random_range(0..20);
        let degree = rng.random_range(1..6);
        let pairs = random_pairs(count, &mut rng);
        let dependencies = Dependencies::new(count, &pairs).unwrap();
        let panicking = rng.random_range(0..60);
        for (name, executor) in Executor::all(degree) {
            trace.reset(count);
            let trace = &trace;
            let objects: Vec<usize> = (0..count).collect();
            let handler = |&object: &usize| {
                trace.begin(object);
                if object % 3 == 0 {
                    thread::yield_now();
                }
                trace.end(object);
                assert!(object != panicking, "{object} on purpose");
            };
            let finisher = |&object: &usize, result: Result<(), Failure>| {
                assert_eq!(result.is_err(), object == panicking, "{name}: {result:?}");
                trace.finish(object);
            };
            executor.run_dependent(&dependencies, &objects, handler, finisher);
            trace.check(&pairs, degree, name);
            if degree == 1 {
                assert_eq!(trace.order(), dependencies.order(), "{name}");
            }
        }
    }
}

/// Objects that become ready together run at the same time, also in many layers.
#[test]
fn what_can_be_begun_is_begun_at_once() {
    const WIDTH: usize = 4;
    const LAYERS: usize = 60;
    // A single object and a layer alternate; each layer depends on the single object before it.
    let single = |layer: usize| layer * (WIDTH + 1);
    let of_layer = |layer| (1..=WIDTH).map(move |at| single(layer) + at);
    let count = LAYERS * (WIDTH + 1);
    let mut pairs = Vec::new();
    for layer in 0..LAYERS {
        pairs.extend(of_layer(layer).map(|object| (object, single(layer))));
        if layer > 0 {
            pairs.extend(of_layer(layer - 1).map(|before| (single(layer), before)));
        }
    }
    let dependencies = Dependencies::new(count, &pairs).unwrap();
    let objects: Vec<usize> = (0..count).collect();
    for (name, executor) in Executor::blocking(WIDTH) {
        let meeting = Barrier::new(WIDTH);
        let finished = Mutex::new(Vec::new());
        let handler = |object: &usize| {
            if !object.is_multiple_of(WIDTH + 1) {
                meeting.wait();
            }
        };
        let finisher = |&object: &usize, result: Result<(), Failure>| {
            assert_eq!(result, Ok(()), "{name}");
            finished.lock().unwrap().push(object);
        };
        executor.run_dependent(&dependencies, &objects, handler, finisher);
        let mut finished = finished.into_inner().unwrap();
        finished.sort_unstable();
        assert_eq!(finished, objects, "{name}");
    }
}

#[test]
fn a_chain_of_many_objects_is_done() {
    const COUNT: usize = 3_000;
    let pairs: Vec<(usize, usize)> = (1..COUNT).map(|object| (object - 1, object)).collect();
    let dependencies = Dependencies::new(COUNT, &pairs).unwrap();
    let objects: Vec<usize> = (0..COUNT).collect();
    for (name, executor) in Executor::all(3) {
        // A suspended thread for each object could exceed the system's limit.
        if matches!(executor, Executor::Suspended(_)) {
            continue;
        }
        let next = AtomicUsize::new(COUNT);
        let handler = |&object: &usize| {
            assert_eq!(next.fetch_sub(1, Ordering::SeqCst), object + 1, "{name}");
        };
        let finisher = |_: &usize, result: Result<(), Failure>| assert_eq!(result, Ok(()));
        executor.run_dependent(&dependencies, &objects, handler, finisher);
        assert_eq!(next.into_inner(), 0, "{name}");
    }
}

#[test]
fn objects_without_a_thread_release_their_dependents() {
    let dependencies = Dependencies::new(4, &[(0, 2), (2, 3), (1, 3)]).unwrap();
    let no_threads = ConcurrentExecution::new(nonzero(3)).stack_size(usize::MAX / 4);
    for when in [Threads::OnDemand, Threads::UpFront] {
        let mut finished = Vec::new();
        no_threads.clone().threads(when).do_scheduled(
            dependencies.schedule(),
            &[0, 1, 2, 3],
            |_| unreachable!("there is no thread to be on"),
            |&object: &usize, result: Result<(), Failure>| {
                assert!(matches!(result, Err(Failure::NoThread(_))), "{result:?}");
                finished.push(object);
            },
        );
        assert_eq!(finished, [3, 1, 2, 0], "{when:?}");
    }
}

#[test]
#[should_panic(expected = "for another list")]
fn dependencies_of_another_list_are_refused() {
    let dependencies = Dependencies::new(2, &[]).unwrap();
    let execution = ConcurrentExecution::new(nonzero(1));
    execution.do_scheduled(dependencies.schedule(), &[1, 2, 3], |_| (), |_, _| ());
}

/// The graphs are of any density: sparse ones mostly have no cycle, dense ones do.
#[test]
fn cycles_are_those_that_petgraph_finds() {
    let mut rng = StdRng::seed_from_u64(8);
    let mut with_cycle = 0;
    for _ in 0..5_000 {
        let count = rng.random_range(1..15);
        let edges = rng.random_range(0..count * 2);
        let node = |rng: &mut StdRng| rng.random_range(0..count);
        let pairs: Vec<(usize, usize)> =
            (0..edges).map(|_| (node(&mut rng), node(&mut rng))).collect();
        let mut graph = DiGraph::<(), ()>::new();
        let nodes: Vec<_> = (0..count).map(|_| graph.add_node(())).collect();
        for &(object, dependency) in &pairs {
            graph.add_edge(nodes[dependency], nodes[object], ());
        }
        match Dependencies::new(count, &pairs) {
            Ok(dependencies) => {
                assert!(!is_cyclic_directed(&graph), "{pairs:?}");
                let order = dependencies.order();
                assert_eq!(order.len(), toposort(&graph, None).unwrap().len());
                let place = |object| order.iter().position(|&other| other == object).unwrap();
                assert!(pairs.iter().all(|&(object, before)| place(before) < place(object)));
            }
            Err(Cycle(cycle)) => {
                with_cycle += 1;
                assert!(is_cyclic_directed(&graph), "{pairs:?}");
                for (at, &object) in cycle.iter().enumerate() {
                    let next = cycle[(at + 1) % cycle.len()];
                    assert!(pairs.contains(&(object, next)), "{cycle:?} in {pairs:?}");
                    assert!(!cycle[..at].contains(&object), "{cycle:?}");
                }
                assert_eq!(cycle.iter().min(), cycle.first());
            }
        }
    }
    assert!((1_000..4_000).contains(&with_cycle), "{with_cycle} graphs with a cycle");
}

#[test]
fn random_graphs_are_of_all_kinds() {
    let mut rng = StdRng::seed_from_u64(1);
    let densities: Vec<usize> = (0..100).map(|_| random_pairs(12, &mut rng).len()).collect();
    assert!(densities.contains(&0) && densities.iter().any(|&pairs| pairs > 40), "{densities:?}");
}
