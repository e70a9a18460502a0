use crate::Failure;
use crate::failure::caught;

/// Hands objects of type `T` to a handler that returns an `R` for each.
pub trait Execution<T, R> {
    /// Calls `handler` once for each of `objects`, several at the same time, and `finisher` on this thread for each
    /// object whose handler is done, before another takes its slot.
    ///
    /// Objects are handed out in the order of the list. Returns after the last finisher.
    ///
    /// # Panics
    ///
    /// If `finisher` panics; the running handlers are waited for first.
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
