//! Interned names, numbered from 0 and stored in one string: an allocation for each would need more memory than the names.

use std::hash::{BuildHasher, RandomState};

/// An empty slot of the table.
const FREE: u32 = u32::MAX;

/// Interned names, and a hash table to find them (open addressing, at most half full).
#[derive(Debug, Default)]
pub struct Names {
    text: String,
    /// The end of each name in the string.
    ends: Vec<usize>,
    slots: Vec<u32>,
    hasher: RandomState,
}

impl Names {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// The number of `name`, which is added if it is new.
    pub fn number_of(&mut self, name: &str) -> u32 {
        if self.ends.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let slot = self.slot_of(name);
        if self.slots[slot] == FREE {
            // There are at most as many names as records, whose numbers have 32 bits.
            self.slots[slot] = self.ends.len() as u32;
            self.text.push_str(name);
            self.ends.push(self.text.len());
        }
        self.slots[slot]
    }

    /// Frees the memory that is needed only to add names.
    pub fn close(&mut self) {
        self.slots = Vec::new();
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The slot of `name`, or the empty slot where it belongs.
    fn slot_of(&self, name: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = self.hasher.hash_one(name) as usize & mask;
        while self.slots[slot] != FREE && self.get(self.slots[slot] as usize) != name {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(64);
        self.slots = Vec::new();
        self.slots.resize(slots, FREE);
        for number in 0..self.ends.len() {
            let slot = self.slot_of(self.get(number));
            self.slots[slot] = number as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_keeps_its_number() {
        let mut names = Names::default();
        let name = |n: u32| format!("{n}.test");
        for n in (0..1_000).chain((0..1_000).rev()) {
            assert_eq!(names.number_of(&name(n)), n);
        }
        assert_eq!(names.number_of(""), 1_000);
        names.close();
        assert_eq!((names.len(), names.get(999), names.get(1_000)), (1_001, "999.test", ""));
    }
}
