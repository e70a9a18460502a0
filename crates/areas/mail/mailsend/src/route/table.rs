//! The cache of routes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use super::target::Route;

/// The route of a domain.
#[derive(Debug)]
enum Known {
    /// The route is being looked up.
    Requested,
    /// The route, valid until this time.
    Until(Instant, Arc<Route>),
}

#[derive(Debug)]
pub(super) struct Domain {
    known: Known,
    /// Whether the domain is in [`Table::oldest`].
    is_listed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub domains: HashMap<Arc<str>, Domain>,
    /// Domains whose look-up has not begun.
    pub waiting: VecDeque<Arc<str>>,
    /// Domains with a route, the one found first at the front. Each is listed once, even if it is looked up again.
    oldest: VecDeque<Arc<str>>,
    pub is_closed: bool,
}

impl Table {
    /// The route of a domain. Without a valid route, the domain is queued for a look-up, if there is room.
    pub fn of(&mut self, name: &str, at_most: usize) -> Option<Arc<Route>> {
        match self.domains.get(name).map(|domain| &domain.known) {
            Some(Known::Requested) => return None,
            Some(Known::Until(until, route)) if Instant::now() < *until => {
                return Some(Arc::clone(route));
            }
            Some(Known::Until(..)) => {}
            None => {
                if !self.make_room(at_most) {
                    return None;
                }
            }
        }
        let name: Arc<str> = name.into();
        let domain = self.domains.entry(Arc::clone(&name));
        let requested = Domain { known: Known::Requested, is_listed: false };
        domain.and_modify(|domain| domain.known = Known::Requested).or_insert(requested);
        self.waiting.push_back(name);
        None
    }

    /// Stores a route.
    pub fn store(&mut self, name: Arc<str>, until: Instant, route: Arc<Route>) {
        let domain = Domain { known: Known::Until(until, route), is_listed: true };
        let before = self.domains.insert(Arc::clone(&name), domain);
        if !before.is_some_and(|before| before.is_listed) {
            self.oldest.push_back(name);
        }
    }

    /// Removes the oldest routes if there are too many. Returns whether there is room then; there is none if all domains
    /// are being looked up, and the caller must try again after the next wake.
    fn make_room(&mut self, at_most: usize) -> bool {
        while self.domains.len() >= at_most {
            let Some(oldest) = self.oldest.pop_front() else { return false };
            match self.domains.get_mut(&oldest) {
                Some(Domain { known: Known::Requested, is_listed }) => *is_listed = false,
                _ => drop(self.domains.remove(&oldest)),
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn domain_requested_again_is_not_removed_meanwhile() {
        let mut table = Table::default();
        let store = |table: &mut Table, name: &str, until| {
            assert_eq!(table.waiting.pop_front().as_deref(), Some(name));
            table.store(name.into(), until, Arc::new(Route::Never(name.to_owned())));
        };
        let over = Instant::now();
        assert!(table.of("a", 2).is_none());
        store(&mut table, "a", over);
        // The expired route is requested again, while there is room for one other domain.
        for name in ["a", "b", "c", "a"] {
            assert!(table.of(name, 2).is_none());
        }
        assert_eq!(table.waiting.len(), 2);
        store(&mut table, "a", over + LONG);
        store(&mut table, "b", over + LONG);
        assert!(table.of("a", 2).is_some() && table.of("b", 2).is_some());
        assert!(table.of("c", 2).is_none());
        assert!(!table.domains.contains_key("a"), "it was found first");
        assert_eq!(table.oldest.len(), 1);
    }
}
