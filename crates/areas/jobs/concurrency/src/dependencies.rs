use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::from_fn;

use crate::schedule::{Schedule, Sealed};

/// Dependencies of a list's objects, an acyclic graph: which objects must be finished before another is begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependencies {
    /// Number of dependencies of each object.
    count_of: Vec<usize>,
    /// Index in `dependents` of each object's first dependent, and the end of the last one's.
    begin_of: Vec<usize>,
    dependents: Vec<usize>,
}

/// A cycle of objects: each depends on the next, and the last on the first, which is the earliest in the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the objects {0:?} depend on each other in a cycle")]
pub struct Cycle(pub Vec<usize>);

impl Dependencies {
    /// The dependencies among `count` objects. Each pair is an object and another one that must be finished before it, by
    /// their indexes in the list.
    ///
    /// # Errors
    ///
    /// A cycle, if the dependencies have one.
    ///
    /// # Panics
    ///
    /// If an index is not below `count`.
    pub fn new(count: usize, pairs: &[(usize, usize)]) -> Result<Self, Cycle> {
        let mut count_of = vec![0; count];
        let mut begin_of = vec![0; count + 1];
        for &(object, dependency) in pairs {
            count_of[object] += 1;
            begin_of[dependency + 1] += 1;
        }
        for object in 0..count {
            begin_of[object + 1] += begin_of[object];
        }
        let mut next = begin_of.clone();
        let mut dependents = vec![0; pairs.len()];
        for &(object, dependency) in pairs {
            dependents[next[dependency]] = object;
            next[dependency] += 1;
        }
        let new = Self { count_of, begin_of, dependents };
        let order = new.order();
        if order.len() == count { Ok(new) } else { Err(cycle(&order, count, pairs)) }
    }

    /// Number of objects.
    pub fn count(&self) -> usize {
        self.count_of.len()
    }

    /// Whether no object depends on another.
    pub fn are_none(&self) -> bool {
        self.dependents.is_empty()
    }

    /// The objects that depend on `object`.
    pub fn dependents(&self, object: usize) -> &[usize] {
        &self.dependents[self.begin_of[object]..self.begin_of[object + 1]]
    }

    /// A schedule that hands out the first object of the list whose dependencies are finished.
    pub fn schedule(&self) -> impl Schedule {
        ReadyQueue::new(self)
    }

    /// An order in which the objects can be begun one after the other: always the first of the list whose dependencies are
    /// finished.
    pub fn order(&self) -> Vec<usize> {
        let mut queue = ReadyQueue::new(self);
        let next = || queue.next().inspect(|&object| queue.finished(object));
        from_fn(next).collect()
    }
}

/// A cycle among the objects that are missing in `order`, which has all that could be begun.
fn cycle(order: &[usize], count: usize, pairs: &[(usize, usize)]) -> Cycle {
    let mut is_in_order = vec![false; count];
    order.iter().for_each(|&object| is_in_order[object] = true);
    // An object that could not be begun waits for another such object.
    let mut waits_for = vec![None; count];
    for &(object, dependency) in pairs {
        if !is_in_order[object] && !is_in_order[dependency] {
            waits_for[object] = Some(dependency);
        }
    }
    let first = waits_for.iter().flatten().next().copied();
    let walk: Vec<usize> =
        std::iter::successors(first, |&object| waits_for[object]).take(count).collect();
    // The walk has as many steps as there are objects, and so ends in the cycle.
    let inside = walk.last().copied().unwrap_or_default();
    let mut cycle = vec![inside];
    let around = std::iter::successors(waits_for[inside], |&object| waits_for[object]);
    cycle.extend(around.take_while(|&object| object != inside));
    let first = cycle.iter().zip(0..).min().map_or(0, |(_, at)| at);
    cycle.rotate_left(first);
    Cycle(cycle)
}

/// Hands out the first object of the list whose dependencies are finished.
struct ReadyQueue<'a> {
    dependencies: &'a Dependencies,
    /// Number of unfinished dependencies of each object.
    unfinished: Vec<usize>,
    ready: BinaryHeap<Reverse<usize>>,
}

impl<'a> ReadyQueue<'a> {
    fn new(dependencies: &'a Dependencies) -> Self {
        let unfinished = dependencies.count_of.clone();
        let is_ready = |&object: &usize| unfinished[object] == 0;
        let ready = (0..unfinished.len()).filter(is_ready).map(Reverse).collect();
        Self { dependencies, unfinished, ready }
    }
}

impl Sealed for ReadyQueue<'_> {}

impl Schedule for ReadyQueue<'_> {
    const IN_ORDER: bool = false;

    fn count(&self) -> usize {
        self.dependencies.count()
    }

    fn next(&mut self) -> Option<usize> {
        self.ready.pop().map(|Reverse(object)| object)
    }

    fn finished(&mut self, object: usize) {
        for &dependent in self.dependencies.dependents(object) {
            self.unfinished[dependent] -= 1;
            if self.unfinished[dependent] == 0 {
                self.ready.push(Reverse(dependent));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_list_where_dependencies_allow_it() {
        let order = |count, pairs: &[_]| Dependencies::new(count, pairs).unwrap().order();
        assert_eq!(order(0, &[]), []);
        assert_eq!(order(4, &[]), [0, 1, 2, 3]);
        assert_eq!(order(4, &[(0, 3), (1, 3), (2, 0)]), [3, 0, 1, 2]);
        // A dependency that is named twice counts once.
        assert_eq!(order(2, &[(0, 1), (0, 1)]), [1, 0]);
    }

    #[test]
    fn a_cycle_begins_with_its_first_object() {
        let cycle = |count, pairs: &[_]| Dependencies::new(count, pairs).unwrap_err().0;
        assert_eq!(cycle(1, &[(0, 0)]), [0]);
        // Objects 0 and 1 wait for the cycle; object 2 waits for nothing.
        assert_eq!(cycle(6, &[(0, 1), (1, 5), (3, 2), (5, 4), (4, 3), (3, 5)]), [3, 5, 4]);
    }
}
