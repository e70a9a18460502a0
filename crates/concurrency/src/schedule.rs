/// Decides which object is begun next.
///
/// There are two: [`InOrder`], and that of [`Dependencies`](crate::Dependencies::schedule).
pub trait Schedule: Sealed {
    /// Whether the objects are handed out in the order of the list, however early others are finished.
    const IN_ORDER: bool;

    /// The number of objects.
    fn count(&self) -> usize;

    /// The place in the list of the next object to begin, each object once; `None` if all were handed out, or the
    /// others wait for objects that were handed out and are not finished.
    fn next(&mut self) -> Option<usize>;

    /// The finisher of the object at that place has returned.
    fn finished(&mut self, object: usize);
}

/// Only this crate has schedules: an executor would wait for ever for one that hands out nothing while nothing runs.
pub trait Sealed {}

/// Hands out the objects in the order of the list.
#[derive(Debug, Clone)]
pub struct InOrder {
    next: usize,
    count: usize,
}

impl InOrder {
    /// The schedule of that number of objects.
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
