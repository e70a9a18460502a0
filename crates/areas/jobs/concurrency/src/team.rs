//! Threads that handle many objects of one call each, one after the other.
//!
//! A slot is not tied to a thread: there are as many threads as slots, so any awake thread takes the next object. With
//! short handlers few threads ever wake, and only the cache lines of two counters and of a result move between them.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::failure::caught;
use crate::schedule::Schedule;
use crate::waiter::{Waiter, look, wait_briefly};

/// A call, and the threads that handle its objects in the order of a schedule of type `S`.
pub(crate) struct Team<'a, S, T, H, R> {
    objects: &'a [T],
    handler: &'a H,
    /// The objects in the order in which they may be begun, as far as known; empty if it is the order of the list.
    order: Vec<AtomicUsize>,
    schedule: PhantomData<fn() -> S>,
    /// Number of objects in `order` that may be begun.
    allowed: Apart<AtomicUsize>,
    /// Number of objects that have been begun.
    begun: Apart<AtomicUsize>,
    /// Number of results that were assigned a place; places are used in turn.
    placed: Apart<AtomicUsize>,
    places: Vec<Apart<ResultSlot<R>>>,
    /// Whether no further object is begun.
    is_over: AtomicBool,
    leader: Waiter,
    members: Vec<Waiter>,
}

/// A value in its own pair of cache lines: threads on different CPUs write to neighbouring values, and some processors
/// fetch lines in pairs.
#[repr(align(128))]
struct Apart<V>(V);

/// A result with its object's index, until the leader takes it.
struct ResultSlot<R> {
    is_full: AtomicBool,
    result: Mutex<Option<(usize, Result<R, Failure>)>>,
}

impl<'a, S: Schedule, T, H: Fn(&T) -> R, R> Team<'a, S, T, H, R> {
    /// A team of `size` members. The thread that creates it is the leader.
    pub fn new(objects: &'a [T], handler: &'a H, size: usize) -> Self {
        let counter = || Apart(AtomicUsize::new(0));
        let place = || ResultSlot { is_full: AtomicBool::new(false), result: Mutex::new(None) };
        let unknown = if S::IN_ORDER { 0 } else { objects.len() };
        Self {
            objects,
            handler,
            order: (0..unknown).map(|_| AtomicUsize::new(0)).collect(),
            schedule: PhantomData,
            allowed: counter(),
            begun: counter(),
            placed: counter(),
            places: (0..size).map(|_| Apart(place())).collect(),
            is_over: AtomicBool::new(false),
            leader: Waiter::new(),
            members: (0..size).map(|_| Waiter::new()).collect(),
        }
    }

    /// Handles objects until the team is dismissed; runs on the thread of `member`.
    pub fn work(&self, member: usize) {
        while let Some(index) = self.begin_next(&self.members[member]) {
            let result = caught(|| (self.handler)(&self.objects[index]));
            // The place is free: there are as many places as objects that are begun and not finished.
            let place = self.placed.0.fetch_add(1, Ordering::Relaxed) % self.places.len();
            let place = &self.places[place].0;
            *place.result.lock().unwrap_or_else(PoisonError::into_inner) = Some((index, result));
            place.is_full.store(true, Ordering::SeqCst);
            self.leader.wake();
        }
    }

    /// Waits for the next object that may be begun, and returns its index; `None` when the team is dismissed.
    fn begin_next(&self, member: &Waiter) -> Option<usize> {
        let mut slept = false;
        loop {
            slept |= member.wait_until(|| self.is_any_due() || self.is_over());
            if self.is_over() {
                return None;
            }
            let next = self.begun.0.load(Ordering::Relaxed);
            let taken = || {
                self.begun.0.compare_exchange(next, next + 1, Ordering::SeqCst, Ordering::Relaxed)
            };
            if next < self.allowed.0.load(Ordering::SeqCst) && taken().is_ok() {
                // The leader wakes only one member, which wakes the next.
                if slept && self.is_any_due() {
                    self.wake_one();
                }
                return Some(self.object_at(next));
            }
        }
    }

    /// The index of the object at `place` in the order, which may be begun.
    fn object_at(&self, place: usize) -> usize {
        if S::IN_ORDER { place } else { self.order[place].load(Ordering::Relaxed) }
    }

    /// Stores the object at `place` in the order, before it may be begun.
    fn set_object_at(&self, place: usize, object: usize) {
        match S::IN_ORDER {
            true => debug_assert_eq!(place, object),
            false => self.order[place].store(object, Ordering::Relaxed),
        }
    }

    /// Whether an object may be begun and has not been.
    fn is_any_due(&self) -> bool {
        self.begun.0.load(Ordering::SeqCst) < self.allowed.0.load(Ordering::SeqCst)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn wake_one(&self) {
        // Awake members look for objects before they sleep.
        self.members.iter().any(Waiter::wake);
    }

    /// A guard that dismisses all members when dropped; no further objects are begun then.
    pub fn dismissal(&self) -> impl Drop {
        Dismissal(self)
    }

    /// Leads the team on the caller's thread while `size` members work. `schedule` has handed out `first` objects, which
    /// are left out.
    pub fn lead(
        &self,
        size: usize,
        first: usize,
        mut schedule: S,
        mut finisher: impl FnMut(&T, Result<R, Failure>),
    ) {
        assert_eq!(schedule.count(), self.objects.len(), "the schedule is one for another list");
        let mut pace = Pace::new();
        self.begun.0.store(first, Ordering::SeqCst);
        let mut allowed = first;
        for finished in first..self.objects.len() {
            while allowed < finished + size
                && let Some(object) = schedule.next()
            {
                self.set_object_at(allowed, object);
                allowed += 1;
            }
            debug_assert!(allowed > finished, "a schedule waits only for what was begun");
            self.allowed.0.store(allowed, Ordering::SeqCst);
            let place = &self.places[(finished - first) % self.places.len()].0;
            self.await_result(place, pace.is_brisk());
            let result = place.result.lock().unwrap_or_else(PoisonError::into_inner).take();
            place.is_full.store(false, Ordering::Relaxed);
            let (index, result) = result.expect("a full place has one");
            finisher(&self.objects[index], result);
            schedule.finished(index);
        }
    }

    fn await_result(&self, place: &ResultSlot<R>, is_brisk: bool) {
        let is_full = || place.is_full.load(Ordering::SeqCst);
        // At a fast pace awake members take the next object sooner than another member would wake. At a slow pace no object
        // may wait while the finisher runs and members sleep.
        if !is_brisk {
            self.have_due_begun();
        }
        if !wait_briefly(is_full) {
            self.have_due_begun();
            self.leader.sleep_until(is_full);
        }
    }

    /// Wakes a member if the awake ones do not begin the next object; a member on another CPU notices it within half a
    /// microsecond.
    fn have_due_begun(&self) {
        if !look(32, || !self.is_any_due()) {
            self.wake_one();
        }
    }
}

/// The rate at which objects are finished. A falling rate is detected after at most one stretch, in which an object may be
/// begun only when the finisher before it returns.
struct Pace {
    is_brisk: bool,
    finished: usize,
    since: Instant,
}

impl Pace {
    /// Number of objects between two clock readings: a reading for each would take a large part of a short object's time.
    const STRETCH: usize = 8;
    /// Approximate time to wake a thread.
    const WAKING: Duration = Duration::from_micros(5);

    fn new() -> Self {
        Self { is_brisk: false, finished: 0, since: Instant::now() }
    }

    /// Whether objects are finished faster than a thread wakes. Must be called once for each object.
    fn is_brisk(&mut self) -> bool {
        if self.finished == Self::STRETCH {
            let now = Instant::now();
            self.is_brisk = now - self.since < Self::WAKING * Self::STRETCH as u32;
            (self.finished, self.since) = (0, now);
        }
        self.finished += 1;
        self.is_brisk
    }
}

struct Dismissal<'a, S: Schedule, T, H: Fn(&T) -> R, R>(&'a Team<'a, S, T, H, R>);

impl<S: Schedule, T, H: Fn(&T) -> R, R> Drop for Dismissal<'_, S, T, H, R> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
        self.0.members.iter().for_each(|member| _ = member.wake());
    }
}
