//! System calls by name, with the number of entries of each.

/// Maximum number of different system calls that are counted; further ones are ignored.
const NAMES_AT_MOST: usize = 16;

/// Counts of system calls by number. Has no pointers, so that it can be in memory shared with other processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Numbers of calls with their counts; entries from the first count of 0 on are free.
    calls: [(u32, u64); NAMES_AT_MOST],
}

impl CallCounts {
    /// Adds `count` calls of `number`.
    pub fn add(&mut self, number: u32, count: u64) {
        let fits = |place: &&mut (u32, u64)| place.1 == 0 || place.0 == number;
        if let Some(place) = self.calls.iter_mut().find(fits) {
            *place = (number, place.1 + count);
        }
    }

    /// Subtracts one call of `number`, if there is one.
    #[cfg(target_os = "linux")]
    pub(crate) fn remove_one(&mut self, number: u32) {
        let is_it = |place: &&mut (u32, u64)| place.1 > 0 && place.0 == number;
        if let Some(at) = self.calls.iter_mut().find(is_it) {
            at.1 -= 1;
        }
        // Free entries stay at the end.
        self.calls.sort_by_key(|&(_, count)| count == 0);
    }

    /// Whether no call was counted.
    pub fn is_empty(&self) -> bool {
        self.calls[0].1 == 0
    }

    /// The sum of all counts.
    pub fn total(&self) -> u64 {
        self.calls.iter().map(|(_, count)| count).sum()
    }

    /// Scales the counts to a sum of `total`.
    pub fn scaled_to(&self, total: u64) -> Self {
        let own = self.total().max(1) as f64;
        let scaled = |(number, count): (u32, u64)| {
            (number, (count as f64 * (total as f64 / own)).round() as u64)
        };
        let mut calls = self.calls.map(scaled);
        calls.sort_by_key(|&(_, count)| count == 0);
        Self { calls }
    }

    /// The names of the calls with their counts.
    pub fn named(&self) -> impl Iterator<Item = (String, u64)> {
        let counted = self.calls.into_iter().filter(|(_, count)| *count > 0);
        counted.map(|(number, count)| (name_of(number), count))
    }

    /// The counts as plain numbers, for shared memory.
    pub fn pairs(&self) -> [(u32, u64); NAMES_AT_MOST] {
        self.calls
    }
}

/// The name of the call with that number, as in its man page.
#[cfg(target_os = "linux")]
fn name_of(number: u32) -> String {
    match syscalls::Sysno::new(number as usize) {
        Some(call) => call.name().to_owned(),
        None => format!("syscall-{number}"),
    }
}

#[cfg(not(target_os = "linux"))]
fn name_of(number: u32) -> String {
    format!("syscall-{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_number() {
        let mut counts = CallCounts::default();
        assert!(counts.is_empty());
        for number in [5, 7, 5, 5] {
            counts.add(number, 10);
        }
        assert_eq!(counts.total(), 40);
        let shares = counts.scaled_to(4_000);
        assert_eq!(shares.named().map(|(_, count)| count).collect::<Vec<_>>(), [3_000, 1_000]);
        assert_eq!(shares.scaled_to(0).total(), 0);
        (0..1_000).for_each(|number| counts.add(number, 1));
        assert_eq!(counts.named().count(), NAMES_AT_MOST, "it is bounded");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn calls_have_the_names_of_their_man_pages() {
        let mut counts = CallCounts::default();
        counts.add(libc::SYS_getppid as u32, 2);
        counts.add(libc::SYS_semop as u32, 1);
        counts.add(99_999, 1);
        counts.remove_one(libc::SYS_semop as u32);
        let named: Vec<(String, u64)> = counts.named().collect();
        assert_eq!(named, [("getppid".to_owned(), 2), ("syscall-99999".to_owned(), 1)]);
    }
}
