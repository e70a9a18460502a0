//! The cache of routes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use super::target::{Route, Target};

/// Maximum size of all routes together, in bytes. Usual ones take some hundred, those of a hostile name server a hundred times that.
const ROUTES_AT_MOST: usize = 48 << 20;

/// The route of a domain.
#[derive(Debug)]
enum Known {
    /// The route is being looked up.
    Requested,
    /// The route, valid until this time.
    Until(Instant, Arc<Route>),
}

impl Known {
    /// Size of the route in bytes, approximately.
    fn size(&self) -> usize {
        match self {
            Self::Requested => 0,
            Self::Until(_, route) => match &**route {
                Route::To(targets) => targets.iter().map(size_of_target).sum(),
                Route::Never(why) | Route::Later(why) => why.len(),
            },
        }
    }
}

fn size_of_target(target: &Target) -> usize {
    size_of::<Target>() + target.name.len() + size_of_val(&target.addresses[..])
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
    /// Size of all routes.
    size: usize,
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
        let domain = domain.or_insert(requested);
        self.size -= std::mem::replace(&mut domain.known, Known::Requested).size();
        self.waiting.push_back(name);
        None
    }

    /// Stores a route; forgets the oldest ones if they take too much.
    pub fn store(&mut self, name: Arc<str>, until: Instant, route: Arc<Route>) {
        let domain = Domain { known: Known::Until(until, route), is_listed: true };
        self.size += domain.known.size();
        let before = self.domains.insert(Arc::clone(&name), domain);
        self.size -= before.as_ref().map_or(0, |before| before.known.size());
        if !before.is_some_and(|before| before.is_listed) {
            self.oldest.push_back(name);
        }
        while self.size > ROUTES_AT_MOST && self.forget_oldest() {}
    }

    /// Removes the oldest routes if there are too many. Returns whether there is room then; there is none if all domains
    /// are being looked up, and the caller must try again after the next wake.
    fn make_room(&mut self, at_most: usize) -> bool {
        while self.domains.len() >= at_most {
            if !self.forget_oldest() {
                return false;
            }
        }
        true
    }

    /// Removes the oldest route, unless its domain is being looked up again. Returns whether there was any.
    fn forget_oldest(&mut self) -> bool {
        let Some(oldest) = self.oldest.pop_front() else { return false };
        match self.domains.get_mut(&oldest) {
            Some(Domain { known: Known::Requested, is_listed }) => *is_listed = false,
            Some(domain) => {
                self.size -= domain.known.size();
                self.domains.remove(&oldest);
            }
            None => {}
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

    #[test]
    fn large_routes_are_fewer() {
        const SIZE: usize = 100_000;
        let mut table = Table::default();
        let until = Instant::now() + LONG;
        for number in 0..1_000 {
            let name = number.to_string();
            assert!(table.of(&name, 1_000).is_none());
            table.store(name.as_str().into(), until, Arc::new(Route::Never("x".repeat(SIZE))));
        }
        assert!(table.of("999", 1_000).is_some() && table.of("1", 1_000).is_none());
        let kept = table.oldest.len();
        assert_eq!(kept, ROUTES_AT_MOST / SIZE);
        assert_eq!(table.size, kept * SIZE);
        table.store("999".into(), Instant::now(), Arc::new(Route::Never("x".repeat(SIZE))));
        assert_eq!(table.size, kept * SIZE, "one route replaces the other");
        assert!(table.of("999", 1_000).is_none());
        assert_eq!(table.size, (kept - 1) * SIZE, "it is looked up again");
    }
}
