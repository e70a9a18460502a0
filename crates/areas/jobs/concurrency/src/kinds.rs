/// A handler of one kind of objects.
pub type KindHandler<'a, T, R> = &'a (dyn Fn(&T) -> R + Sync);

/// A handler for objects of several kinds: calls the one of `handlers` at the index that `kind_of` returns for the object.
///
/// ```
/// use concurrency::{ConcurrentExecution, Execution, KindHandler, by_kind};
///
/// let objects = [(0, 7), (1, 7), (0, 8)];
/// let handlers: [KindHandler<(usize, i32), i32>; 2] = [&|(_, n)| n + 1, &|(_, n)| n * 10];
/// let mut sum = 0;
/// ConcurrentExecution::new(2.try_into()?).do_for_all_objects(
///     &objects,
///     by_kind(&handlers, |object| object.0),
///     |_, result| sum += result.unwrap_or(0),
/// );
/// assert_eq!(sum, 8 + 70 + 9);
/// # Ok::<(), std::num::TryFromIntError>(())
/// ```
///
/// # Panics
///
/// The returned handler panics for an object of a kind without a handler, so that with an executor the object has a
/// [`Failure`](crate::Failure).
pub fn by_kind<T, R>(
    handlers: &[KindHandler<'_, T, R>],
    kind_of: impl Fn(&T) -> usize + Sync,
) -> impl Fn(&T) -> R + Sync {
    move |object| {
        let kind = kind_of(object);
        let handler = handlers.get(kind);
        handler.unwrap_or_else(|| panic!("there is no handler for objects of kind {kind}"))(object)
    }
}
