//! The table of an event loop's connections.

/// Values by slot number. Slot numbers are small and reused, so that they can index other tables.
#[derive(Debug)]
pub struct Slots<T> {
    all: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slots<T> {
    /// The number that the next [`Slots::insert`] returns.
    pub fn next(&self) -> usize {
        self.free.last().copied().unwrap_or(self.all.len())
    }

    /// Stores a value; returns its slot.
    pub fn insert(&mut self, value: T) -> usize {
        let slot = self.free.pop().unwrap_or(self.all.len());
        if slot == self.all.len() {
            self.all.push(None);
        }
        self.all[slot] = Some(value);
        slot
    }

    /// The value in a slot; `None` if it is free.
    pub fn get(&self, slot: usize) -> Option<&T> {
        self.all.get(slot)?.as_ref()
    }

    /// The value in a slot; `None` if it is free.
    pub fn get_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.all.get_mut(slot)?.as_mut()
    }

    /// Frees a slot; returns its value, if any.
    pub fn remove(&mut self, slot: usize) -> Option<T> {
        let removed = self.all.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(removed)
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest slot ever used.
    pub fn end(&self) -> usize {
        self.all.len()
    }

    /// The values with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.all.iter().enumerate().filter_map(|(slot, value)| Some((slot, value.as_ref()?)))
    }

    /// The values.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_reused() {
        let mut slots = Slots::default();
        assert_eq!(["a", "b", "c"].map(|value| slots.insert(value)), [0, 1, 2]);
        assert_eq!((slots.remove(1), slots.remove(1), slots.remove(9)), (Some("b"), None, None));
        assert_eq!((slots.len(), slots.next(), slots.end()), (2, 1, 3));
        assert_eq!(slots.iter().collect::<Vec<_>>(), [(0, &"a"), (2, &"c")]);
        assert_eq!((slots.insert("d"), slots.insert("e")), (1, 3));
        assert_eq!((slots.get(1), slots.get(7)), (Some(&"d"), None));
    }
}
