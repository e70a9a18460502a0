//! Hand-written equivalents of the executors, for results of type `u32`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, Thread};

use rayon::prelude::*;

/// Starts a fresh thread for each object. Each thread sends its result over a channel; the caller finishes it and starts
/// the next.
pub fn thread_each_channel(
    objects: &[u32],
    degree: usize,
    handler: impl Fn(&u32) -> u32 + Sync,
    mut finisher: impl FnMut(&u32, u32),
) {
    let (results, arrived) = channel();
    let handler = &handler;
    thread::scope(|scope| {
        let start = |index: usize| {
            let results = results.clone();
            scope.spawn(move || results.send((index, handler(&objects[index]))));
        };
        let mut started = degree.min(objects.len());
        (0..started).for_each(start);
        for _ in 0..objects.len() {
            let (index, result) = arrived.recv().unwrap();
            finisher(&objects[index], result);
            if started < objects.len() {
                start(started);
                started += 1;
            }
        }
    });
}

/// Starts a fresh thread for each object, which leaves its result in its slot. The caller parks, and checks all slots when
/// it was unparked.
pub fn thread_each_parking(
    objects: &[u32],
    degree: usize,
    handler: impl Fn(&u32) -> u32 + Sync,
    mut finisher: impl FnMut(&u32, u32),
) {
    let caller = &thread::current();
    let handler = &handler;
    let slots: &Vec<Slot> = &(0..degree.min(objects.len())).map(|_| Slot::default()).collect();
    thread::scope(|scope| {
        let start = |slot: usize, index: usize| {
            scope.spawn(move || {
                slots[slot].result.store(handler(&objects[index]) as usize, Ordering::Relaxed);
                slots[slot].state.store(DONE, Ordering::Release);
                caller.unpark();
            });
        };
        let mut object_in: Vec<usize> = (0..slots.len()).collect();
        (0..slots.len()).for_each(|slot| start(slot, slot));
        let (mut started, mut finished) = (slots.len(), 0);
        while finished < objects.len() {
            let before = finished;
            for (number, slot) in slots.iter().enumerate() {
                if slot.state.load(Ordering::Acquire) != DONE {
                    continue;
                }
                slot.state.store(NONE, Ordering::Relaxed);
                finisher(&objects[object_in[number]], slot.result.load(Ordering::Relaxed) as u32);
                finished += 1;
                if started < objects.len() {
                    object_in[number] = started;
                    start(number, started);
                    started += 1;
                }
            }
            if finished == before {
                thread::park();
            }
        }
    });
}

/// Starts `degree` threads, each with a channel for its orders; one channel returns all results.
pub fn team_channels(
    objects: &[u32],
    degree: usize,
    handler: impl Fn(&u32) -> u32 + Sync,
    mut finisher: impl FnMut(&u32, u32),
) {
    let (results, arrived) = channel();
    let handler = &handler;
    thread::scope(|scope| {
        let orders: Vec<_> = (0..degree.min(objects.len()))
            .map(|slot| {
                let (order, ordered) = channel::<usize>();
                let results = results.clone();
                scope.spawn(move || {
                    for index in ordered {
                        results.send((slot, index, handler(&objects[index]))).unwrap();
                    }
                });
                order
            })
            .collect();
        orders.iter().enumerate().for_each(|(index, order)| order.send(index).unwrap());
        let mut started = orders.len();
        for _ in 0..objects.len() {
            let (slot, index, result) = arrived.recv().unwrap();
            finisher(&objects[index], result);
            if started < objects.len() {
                orders[slot].send(started).unwrap();
                started += 1;
            }
        }
    });
}

/// Starts `degree` threads, each with a word for its orders and answers. A waiting thread checks a few times, yields,
/// checks again, then parks, as often as the crate does.
pub fn team_parking(
    objects: &[u32],
    degree: usize,
    handler: impl Fn(&u32) -> u32 + Sync,
    mut finisher: impl FnMut(&u32, u32),
) {
    let caller = &thread::current();
    let handler = &handler;
    let slots: &Vec<Slot> = &(0..degree.min(objects.len())).map(|_| Slot::default()).collect();
    thread::scope(|scope| {
        let work = |slot: &Slot| {
            loop {
                let mut index = NONE;
                wait_until(&slot.asleep, || {
                    index = slot.state.load(Ordering::SeqCst);
                    index < DONE || index == LEAVE
                });
                if index == LEAVE {
                    return;
                }
                slot.result.store(handler(&objects[index]) as usize, Ordering::Relaxed);
                slot.state.store(DONE, Ordering::SeqCst);
                if CALLER_ASLEEP.load(Ordering::SeqCst) {
                    caller.unpark();
                }
            }
        };
        let threads: Vec<Thread> =
            slots.iter().map(|slot| scope.spawn(move || work(slot)).thread().clone()).collect();
        let order = |slot: usize, order: usize| {
            slots[slot].state.store(order, Ordering::SeqCst);
            if slots[slot].asleep.load(Ordering::SeqCst) {
                threads[slot].unpark();
            }
        };
        let mut object_in: Vec<usize> = (0..slots.len()).collect();
        (0..slots.len()).for_each(|slot| order(slot, slot));
        let (mut started, mut finished) = (slots.len(), 0);
        while finished < objects.len() {
            let is_done = |slot: &Slot| slot.state.load(Ordering::SeqCst) == DONE;
            wait_until(&CALLER_ASLEEP, || slots.iter().any(is_done));
            for number in 0..slots.len() {
                if !is_done(&slots[number]) {
                    continue;
                }
                let result = slots[number].result.load(Ordering::Relaxed) as u32;
                finisher(&objects[object_in[number]], result);
                finished += 1;
                if started < objects.len() {
                    object_in[number] = started;
                    order(number, started);
                    started += 1;
                } else {
                    order(number, LEAVE);
                }
            }
        }
    });
}

/// Uses rayon's own iterator: no finisher is called, so the handler does its work.
pub fn par_iter_alone(
    pool: &rayon::ThreadPool,
    objects: &[u32],
    handler: impl Fn(&u32) -> u32 + Sync,
) {
    pool.install(|| {
        objects.par_iter().for_each(|object| {
            std::hint::black_box(handler(object));
        });
    });
}

/// Uses rayon's own iterator, and sends each result to the caller, which finishes it some time later.
pub fn par_iter_sending(
    pool: &rayon::ThreadPool,
    objects: &[u32],
    handler: impl Fn(&u32) -> u32 + Sync,
    mut finisher: impl FnMut(&u32, u32),
) {
    pool.in_place_scope(|scope| {
        let (results, arrived) = channel();
        let handler = &handler;
        scope.spawn(move |_| {
            objects.par_iter().for_each_with(results, |results, object| {
                results.send((object, handler(object))).unwrap();
            });
        });
        arrived.into_iter().for_each(|(object, result)| finisher(object, result));
    });
}

/// Uses rayon's own iterator like [`par_iter_sending`], but the thread that handled an object waits until it is finished.
pub fn par_iter_holding(
    pool: &rayon::ThreadPool,
    objects: &[u32],
    handler: impl Fn(&u32) -> u32 + Sync,
    mut finisher: impl FnMut(&u32, u32),
) {
    let threads: Vec<Slot> = (0..pool.current_num_threads()).map(|_| Slot::default()).collect();
    let handles: Vec<Thread> = pool.broadcast(|_| thread::current());
    let threads = &threads;
    pool.in_place_scope(|scope| {
        let (results, arrived) = channel();
        let handler = &handler;
        scope.spawn(move |_| {
            objects.par_iter().for_each_with(results, |results, object| {
                let thread = rayon::current_thread_index().unwrap();
                let slot = &threads[thread];
                results.send((thread, object, handler(object))).unwrap();
                wait_until(&slot.asleep, || slot.state.swap(NONE, Ordering::SeqCst) == DONE);
            });
        });
        for (thread, object, result) in arrived {
            finisher(object, result);
            threads[thread].state.store(DONE, Ordering::SeqCst);
            if threads[thread].asleep.load(Ordering::SeqCst) {
                handles[thread].unpark();
            }
        }
    });
}

/// The state that a thread and the caller share.
#[repr(align(128))]
struct Slot {
    /// The index of an object to handle, or one of the words below.
    state: AtomicUsize,
    result: AtomicUsize,
    /// Whether the thread is about to park.
    asleep: AtomicBool,
}

const NONE: usize = usize::MAX;
const LEAVE: usize = usize::MAX - 1;
const DONE: usize = usize::MAX - 2;

/// Whether the caller of [`team_parking`] is about to park; one call is made at a time.
static CALLER_ASLEEP: AtomicBool = AtomicBool::new(false);

impl Default for Slot {
    fn default() -> Self {
        let (state, result) = (AtomicUsize::new(NONE), AtomicUsize::new(0));
        Self { state, result, asleep: AtomicBool::new(false) }
    }
}

fn wait_until(asleep: &AtomicBool, mut is_there: impl FnMut() -> bool) {
    for _ in 0..20 {
        for _ in 0..16 {
            if is_there() {
                return;
            }
            std::hint::spin_loop();
        }
        thread::yield_now();
    }
    asleep.store(true, Ordering::SeqCst);
    while !is_there() {
        thread::park();
    }
    asleep.store(false, Ordering::SeqCst);
}
