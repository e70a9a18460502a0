use crate::Failure;
use crate::failure::caught;
use crate::schedule::{InOrder, Schedule};

/// Hands objects of type `T` to a handler that returns an `R` for each.
pub trait Execution<T, R> {
    /// Calls `handler` once for each of `objects`, several at the same time, and `finisher` on this thread for each object
    /// whose handler is done, before another takes its slot.
    ///
    /// Objects are handed out in the order of the list. Returns after the last finisher.
    ///
    /// # Panics
    ///
    /// If `finisher` panics, after the running handlers have ended.
    fn do_for_all_objects<H, F>(&self, objects: &[T], handler: H, finisher: F)
    where
        H: Fn(&T) -> R + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        self.do_scheduled(InOrder::new(objects.len()), objects, handler, finisher);
    }

    /// Handles all objects like [`Execution::do_for_all_objects`], in the order of a schedule.
    /// [`Dependencies::schedule`](crate::Dependencies::schedule) hands out an object only when the finishers of all objects
    /// that it depends on have returned.
    ///
    /// An object whose handler failed is finished too, and its dependents are begun.
    ///
    /// # Panics
    ///
    /// If `finisher` panics, or the schedule is for another number of objects.
    fn do_scheduled<S, H, F>(&self, schedule: S, objects: &[T], handler: H, finisher: F)
    where
        S: Schedule,
        H: Fn(&T) -> R + Sync,
        F: FnMut(&T, Result<R, Failure>);

    /// Handles and finishes one object after the other, in the order of the list, on this thread.
    ///
    /// # Panics
    ///
    /// If `finisher` panics.
    fn do_serial<H, F>(&self, objects: &[T], handler: H, mut finisher: F)
    where
        H: Fn(&T) -> R + Sync,
        F: FnMut(&T, Result<R, Failure>),
    {
        for object in objects {
            finisher(object, caught(|| handler(object)));
        }
    }
}
