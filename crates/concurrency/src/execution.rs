use crate::Failure;
use crate::failure::caught;

/// Hands objects of type `T` to a handler that makes an `R` of each.
pub trait Execution<T, R> {
    /// Has `handler` handle each of `objects` once, several at the same time, and calls `finisher`
    /// on this thread for each object whose handler is done, before another takes its slot.
    ///
    /// Objects are handed out in the order of the list. Returns after the last finisher.
    ///
    /// # Panics
    ///
    /// If `finisher` panics; the handlers that run are waited for first.
    fn do_for_all_objects<H, F>(&self, objects: &[T], handler: H, finisher: F)
    where
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
