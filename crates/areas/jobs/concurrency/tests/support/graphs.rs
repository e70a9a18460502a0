//! Random graphs of objects, and traces of their execution.

use std::sync::atomic::{AtomicUsize, Ordering};

use platform::memory::shared::Shared;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Random dependencies among `count` objects without a cycle, from none to all possible ones.
pub fn random_pairs(count: usize, rng: &mut StdRng) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(rng);
    let density = *[0.0, 0.05, 0.15, 0.3, 0.9].get(rng.random_range(0..5)).unwrap();
    let mut chosen = StdRng::seed_from_u64(rng.random());
    let later = |place: usize| (place + 1..count).map(move |later| (later, place));
    let all = (0..count).flat_map(later).filter(|_| chosen.random_bool(density));
    all.map(|(later, earlier)| (order[later], order[earlier])).collect()
}

/// The order of the beginnings, ends and finishes of objects, also in forked processes.
pub struct Trace {
    /// Number of objects.
    count: usize,
    /// Number of events so far.
    events: Shared<[AtomicUsize]>,
    /// The numbers of each object's three events, from 1; 0 before the event.
    moments: Shared<[[AtomicUsize; 3]]>,
    /// Number of times that each object was begun.
    begun: Shared<[AtomicUsize]>,
}

impl Trace {
    /// A trace with room for `at_most` objects.
    pub fn new(at_most: usize) -> Self {
        let zero = || AtomicUsize::new(0);
        Self {
            count: 0,
            events: Shared::list(1, zero).unwrap(),
            moments: Shared::list(at_most, || [zero(), zero(), zero()]).unwrap(),
            begun: Shared::list(at_most, zero).unwrap(),
        }
    }

    /// Clears the trace for `count` objects.
    pub fn reset(&mut self, count: usize) {
        self.count = count;
        let all = self.events.iter().chain(self.moments.iter().flatten()).chain(self.begun.iter());
        all.for_each(|number| number.store(0, Ordering::SeqCst));
    }

    fn note(&self, object: usize, which: usize) {
        let now = self.events[0].fetch_add(1, Ordering::SeqCst) + 1;
        self.moments[object][which].store(now, Ordering::SeqCst);
    }

    pub fn begin(&self, object: usize) {
        self.begun[object].fetch_add(1, Ordering::SeqCst);
        self.note(object, 0);
    }

    pub fn end(&self, object: usize) {
        self.note(object, 1);
    }

    pub fn finish(&self, object: usize) {
        self.note(object, 2);
    }

    fn moment(&self, object: usize, which: usize) -> usize {
        self.moments[object][which].load(Ordering::SeqCst)
    }

    /// The objects in the order in which they were begun.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.count).collect();
        order.sort_by_key(|&object| self.moment(object, 0));
        order
    }

    /// Checks that all objects were carried out once, each after its dependencies were finished, and at most `degree` at a
    /// time.
    pub fn check(&self, pairs: &[(usize, usize)], degree: usize, name: &str) {
        let count = self.count;
        assert!(
            self.begun[..count].iter().all(|times| times.load(Ordering::SeqCst) == 1),
            "{name}: once"
        );
        for object in 0..count {
            let [begun, ended, finished] = [0, 1, 2].map(|which| self.moment(object, which));
            assert!(0 < begun && begun < ended && ended < finished, "{name}: {object}");
            let unfinished =
                (0..count).filter(|&o| self.moment(o, 0) <= begun && begun < self.moment(o, 2));
            assert!(unfinished.count() <= degree, "{name}: more than {degree} at a time");
        }
        for &(object, dependency) in pairs {
            assert!(
                self.moment(dependency, 2) < self.moment(object, 0),
                "{name}: {object} was begun before {dependency} was finished"
            );
        }
    }
}
