/// A schedule decides which object is begun next.
///
/// There are two schedules: [`InOrder`], and the schedule of [`Dependencies`](crate::Dependencies::schedule).
pub trait Schedule: Sealed {
    /// Whether objects are handed out in the order of the list, whatever has been finished.
    const IN_ORDER: bool;

    /// Number of objects.
    fn count(&self) -> usize;

    /// The index of the next object to begin, each object once. `None` if all were handed out, or the others wait for
    /// objects that are not finished.
    fn next(&mut self) -> Option<usize>;

    /// Records that the finisher of `object` has returned.
    fn finished(&mut self, object: usize);
}

/// Restricts schedules to this crate: with one that hands out nothing while nothing runs, an executor would wait for ever.
pub trait Sealed {}

/// Hands out the objects in the order of the list.
#[derive(Debug, Clone)]
pub struct InOrder {
    next: usize,
    count: usize,
}

impl InOrder {
    /// The schedule for `count` objects.
    pub fn new(count: usize) -> Self {
        Self { next: 0, count }
    }
}

impl Sealed for InOrder {}

impl Schedule for InOrder {
    const IN_ORDER: bool = true;

    fn count(&self) -> usize {
        self.count
    }

    fn next(&mut self) -> Option<usize> {
        let next = self.next;
        self.next += usize::from(next < self.count);
        (next < self.count).then_some(next)
    }

    fn finished(&mut self, _object: usize) {}
}
