//! The slots of one call: the caller's thread, and the results that wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Failure;
use crate::schedule::Schedule;
use crate::waiter::Waiter;

/// The slots of one call, created by the caller's thread.
pub(crate) struct Slots<R> {
    slots: Vec<Slot<R>>,
    /// Whether a result has arrived since the caller's thread last checked the slots.
    is_any_left: AtomicBool,
    caller: Waiter,
}

/// A function that adds the slots that have a result, without waiting.
type Look<'a> = &'a dyn Fn(&mut Vec<usize>);

/// A slot, which holds a result until the caller's thread takes it.
#[repr(align(128))]
struct Slot<R> {
    is_left: AtomicBool,
    result: Mutex<Option<Result<R, Failure>>>,
}

impl<R> Slots<R> {
    /// Creates `count` slots.
    pub fn new(count: usize) -> Self {
        let slot = || Slot { is_left: AtomicBool::new(false), result: Mutex::new(None) };
        let slots = (0..count).map(|_| slot()).collect();
        Self { slots, is_any_left: AtomicBool::new(false), caller: Waiter::new() }
    }

    /// Stores a handler's result in its slot and wakes the caller's thread, which may give the slot to another object
    /// at once.
    pub fn leave(&self, slot: usize, result: Result<R, Failure>) {
        self.put(slot, result);
        self.slots[slot].is_left.store(true, Ordering::SeqCst);
        self.is_any_left.store(true, Ordering::SeqCst);
        self.caller.wake();
    }

    /// Stores a result without waking the caller's thread.
    pub fn put(&self, slot: usize, result: Result<R, Failure>) {
        let place = &self.slots[slot].result;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    fn take(&self, slot: usize) -> Result<R, Failure> {
        let place = &self.slots[slot].result;
        let left = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        left.expect("a slot is taken once for each time it is left")
    }

    /// Waits for a result, and adds all slots that have one.
    pub fn wait(&self, left: &mut Vec<usize>) {
        while left.is_empty() {
            self.caller.wait_until(|| self.is_any_left.load(Ordering::SeqCst));
            self.look(left);
        }
    }

    /// Adds all slots that have a result, without waiting.
    fn look(&self, left: &mut Vec<usize>) {
        if !self.is_any_left.load(Ordering::SeqCst) {
            return;
        }
        self.is_any_left.store(false, Ordering::SeqCst);
        for (number, slot) in self.slots.iter().enumerate() {
            if slot.is_left.load(Ordering::SeqCst) {
                slot.is_left.store(false, Ordering::Relaxed);
                left.push(number);
            }
        }
    }

    /// The caller's side of a call: gives each free slot to the next object, and calls `finisher` for each result as it
    /// arrives.
    ///
    /// `start` starts a handler; its arguments are the slot for the result and the index of the object. `wait` adds at
    /// least one slot with a result.
    pub fn coordinate<T>(
        &self,
        schedule: impl Schedule,
        objects: &[T],
        finisher: impl FnMut(&T, Result<R, Failure>),
        start: impl FnMut(usize, usize) -> Result<(), Failure>,
        wait: impl FnMut(&mut Vec<usize>),
    ) {
        self.coordinate_with(schedule, objects, finisher, start, wait, None);
    }

    /// Coordinates a call like [`Slots::coordinate`], for handlers that [leave](Slots::leave) their results. Calls each
    /// finisher as soon as there is a result, even if further slots are free.
    pub fn coordinate_eagerly<T>(
        &self,
        schedule: impl Schedule,
        objects: &[T],
        finisher: impl FnMut(&T, Result<R, Failure>),
        start: impl FnMut(usize, usize) -> Result<(), Failure>,
    ) {
        let wait = |left: &mut Vec<usize>| self.wait(left);
        let look = |left: &mut Vec<usize>| self.look(left);
        self.coordinate_with(schedule, objects, finisher, start, wait, Some(&look));
    }

    /// Coordinates a call. `look` adds the slots with a result, without waiting; without it, all free slots are taken
    /// before a finisher is called.
    fn coordinate_with<T>(
        &self,
        mut schedule: impl Schedule,
        objects: &[T],
        mut finisher: impl FnMut(&T, Result<R, Failure>),
        mut start: impl FnMut(usize, usize) -> Result<(), Failure>,
        mut wait: impl FnMut(&mut Vec<usize>),
        look: Option<Look>,
    ) {
        assert_eq!(schedule.count(), objects.len(), "the schedule is one for another list");
        // The slot that became free last is used first: its thread is most likely still awake.
        let mut free: Vec<usize> = (0..self.slots.len()).rev().collect();
        let mut left = Vec::with_capacity(self.slots.len());
        let mut object_in = vec![0; self.slots.len()];
        let mut running = 0;
        loop {
            while let Some(&slot) = free.last()
                && let Some(object) = schedule.next()
            {
                object_in[slot] = object;
                match start(slot, object) {
                    Ok(()) => {
                        free.pop();
                        running += 1;
                    }
                    Err(failure) => {
                        finisher(&objects[object], Err(failure));
                        schedule.finished(object);
                    }
                }
                if let Some(look) = look {
                    look(&mut left);
                    // Starts and finishers alternate, so that a free slot is taken even while many results wait.
                    if !left.is_empty() {
                        break;
                    }
                }
            }
            if running == 0 {
                debug_assert_eq!(schedule.next(), None);
                return;
            }
            if left.is_empty() {
                wait(&mut left);
            }
            let slot = left.pop().expect("waiting ends with at least one");
            running -= 1;
            let object = object_in[slot];
            finisher(&objects[object], self.take(slot));
            schedule.finished(object);
            free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::schedule::InOrder;

    /// The number of begun objects at each call of the finisher, for handlers that end before `start` returns.
    fn begun_at_finishers(is_eager: bool) -> Vec<usize> {
        let slots = Slots::new(3);
        let (begun, mut seen) = (Cell::new(0), Vec::new());
        let start = |slot, _| {
            begun.set(begun.get() + 1);
            slots.leave(slot, Ok(()));
            Ok(())
        };
        let finisher = |_: &(), _| seen.push(begun.get());
        match is_eager {
            true => slots.coordinate_eagerly(InOrder::new(5), &[(); 5], finisher, start),
            false => {
                let wait = |left: &mut Vec<usize>| slots.wait(left);
                slots.coordinate(InOrder::new(5), &[(); 5], finisher, start, wait);
            }
        }
        seen
    }

    #[test]
    fn eager_finishers_run_while_the_first_objects_are_handed_out() {
        assert_eq!(begun_at_finishers(true), [1, 2, 3, 4, 5]);
        assert_eq!(begun_at_finishers(false), [3, 4, 5, 5, 5]);
    }
}
