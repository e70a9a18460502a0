//! The slots of one call: what the caller's thread does, and where results lie until it takes them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Failure;
use crate::waiter::Waiter;

/// The slots of one call. The thread that makes them is the caller's.
pub(crate) struct Slots<R> {
    slots: Vec<Slot<R>>,
    /// Whether a result was left since the caller's thread looked through the slots.
    is_any_left: AtomicBool,
    caller: Waiter,
}

/// Where a result lies until the caller's thread takes it.
#[repr(align(128))]
struct Slot<R> {
    is_left: AtomicBool,
    result: Mutex<Option<Result<R, Failure>>>,
}

impl<R> Slots<R> {
    /// As many slots as can be in use at once.
    pub fn new(count: usize) -> Self {
        let slot = || Slot { is_left: AtomicBool::new(false), result: Mutex::new(None) };
        let slots = (0..count).map(|_| slot()).collect();
        Self { slots, is_any_left: AtomicBool::new(false), caller: Waiter::new() }
    }

    /// Leaves a handler's result in its slot and wakes the caller's thread. That may then give the
    /// slot to another object at once.
    pub fn leave(&self, slot: usize, result: Result<R, Failure>) {
        self.put(slot, result);
        self.slots[slot].is_left.store(true, Ordering::SeqCst);
        self.is_any_left.store(true, Ordering::SeqCst);
        self.caller.wake();
    }

    /// Leaves a result without telling the caller's thread.
    pub fn put(&self, slot: usize, result: Result<R, Failure>) {
        let place = &self.slots[slot].result;
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    }

    fn take(&self, slot: usize) -> Result<R, Failure> {
        let place = &self.slots[slot].result;
        let left = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        left.expect("a slot is taken once for each time it is left")
    }

    /// Waits until a result was left, and adds all slots that have one.
    pub fn wait(&self, left: &mut Vec<usize>) {
        while left.is_empty() {
            self.caller.wait_until(|| self.is_any_left.load(Ordering::SeqCst));
            self.is_any_left.store(false, Ordering::SeqCst);
            for (number, slot) in self.slots.iter().enumerate() {
                if slot.is_left.load(Ordering::SeqCst) {
                    slot.is_left.store(false, Ordering::Relaxed);
                    left.push(number);
                }
            }
        }
    }

    /// The caller's side of a call: gives each free slot to the next object, and calls `finisher`
    /// for each result as it is left.
    ///
    /// `start` has the object with that index (second argument) handled elsewhere and its result left
    /// in that slot (first argument). `wait` adds at least one slot whose result is there.
    pub fn coordinate<T>(
        &self,
        objects: &[T],
        mut finisher: impl FnMut(&T, Result<R, Failure>),
        mut start: impl FnMut(usize, usize) -> Result<(), Failure>,
        mut wait: impl FnMut(&mut Vec<usize>),
    ) {
        // The slot that was free last is used first: its thread is the likeliest to be awake still.
        let mut free: Vec<usize> = (0..self.slots.len()).rev().collect();
        let mut left = Vec::with_capacity(self.slots.len());
        let mut object_in = vec![0; self.slots.len()];
        let mut running = 0;
        let mut next = 0;
        loop {
            while next < objects.len()
                && let Some(slot) = free.pop()
            {
                object_in[slot] = next;
                match start(slot, next) {
                    Ok(()) => running += 1,
                    Err(failure) => {
                        finisher(&objects[next], Err(failure));
                        free.push(slot);
                    }
                }
                next += 1;
            }
            if running == 0 {
                return;
            }
            if left.is_empty() {
                wait(&mut left);
            }
            let slot = left.pop().expect("waiting ends with at least one");
            running -= 1;
            finisher(&objects[object_in[slot]], self.take(slot));
            free.push(slot);
        }
    }
}
