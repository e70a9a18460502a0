use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::from_fn;

use crate::schedule::{Schedule, Sealed};

/// Which objects of a list must be finished before another is begun: a graph without cycles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependencies {
    /// The number of dependencies of each object.
    count_of: Vec<usize>,
    /// Where the dependents of each object begin in `dependents`, and the end of the last.
    begin_of: Vec<usize>,
    dependents: Vec<usize>,
}

/// Objects that wait for each other: each depends on the next, and the last on the first, which is the first of them in
/// the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the objects {0:?} depend on each other in a cycle")]
pub struct Cycle(pub Vec<usize>);

impl Dependencies {
    /// The dependencies among `count` objects: each pair is an object and another that must be finished before. Both
    /// are places in the list, from 0.
    ///
    /// # Errors
    ///
    /// A cycle, if there is one.
    ///
    /// # Panics
    ///
    /// If an object is not below `count`.
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

    /// The number of objects.
    pub fn count(&self) -> usize {
        self.count_of.len()
    }

    /// Whether no object depends on another.
    pub fn are_none(&self) -> bool {
        self.dependents.is_empty()
    }

    /// The objects that depend on this one.
    pub fn dependents(&self, object: usize) -> &[usize] {
        &self.dependents[self.begin_of[object]..self.begin_of[object + 1]]
    }

    /// Hands out the first object of the list whose dependencies are finished.
    pub fn schedule(&self) -> impl Schedule {
        ReadyQueue::new(self)
    }

    /// The objects in an order in which one after the other can be begun: always the first of the list whose
    /// dependencies are finished.
    pub fn order(&self) -> Vec<usize> {
        let mut queue = ReadyQueue::new(self);
        let next = || queue.next().inspect(|&object| queue.finished(object));
        from_fn(next).collect()
    }
}

/// A cycle among the objects that are not in `order`, in which all others could be begun.
fn cycle(order: &[usize], count: usize, pairs: &[(usize, usize)]) -> Cycle {
    let mut is_in_order = vec![false; count];
    order.iter().for_each(|&object| is_in_order[object] = true);
    // Each object that could not be begun waits for another such object.
    let mut waits_for = vec![None; count];
    for &(object, dependency) in pairs {
        if !is_in_order[object] && !is_in_order[dependency] {
            waits_for[object] = Some(dependency);
        }
    }
    let first = waits_for.iter().flatten().next().copied();
    let walk: Vec<usize> =
        std::iter::successors(first, |&object| waits_for[object]).take(count).collect();
    // After as many steps as there are objects, the walk is in the cycle.
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
    /// The number of unfinished dependencies of each object.
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
        // A dependency that is named twice is one.
        assert_eq!(order(2, &[(0, 1), (0, 1)]), [1, 0]);
    }

    #[test]
    fn a_cycle_begins_with_its_first_object() {
        let cycle = |count, pairs: &[_]| Dependencies::new(count, pairs).unwrap_err().0;
        assert_eq!(cycle(1, &[(0, 0)]), [0]);
        // Objects 0 and 1 wait for the cycle, 2 does not.
        assert_eq!(cycle(6, &[(0, 1), (1, 5), (3, 2), (5, 4), (4, 3), (3, 5)]), [3, 5, 4]);
    }
}
