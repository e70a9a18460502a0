//! What is to be sent next: whose turn it is, who is tried again when, and when it is enough.
//!
//! A destination is where one connection's mail goes: a domain, or the relay for all. Recipients have places, numbered
//! through all destinations, so that each costs a few bytes however many there are. Time is in
//! milliseconds since the start.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Duration;

use crate::smtp::session::Fate;

/// How long a destination that just refused a connection is left alone at first, if recipients wait no shorter.
const FIRST_REST: Duration = Duration::from_millis(100);
/// Destinations whose route is being looked up: beyond these, others wait for their turn.
const LOOKED_UP_AT_MOST: usize = 1_000;

/// Addresses of a destination that are tried; who has more is not missed.
pub const ADDRESSES: usize = 16;
/// No recipient is tried more often, however short it waits: more is not counted.
const ATTEMPTS_AT_MOST: u16 = u16::MAX >> 1;

/// How often it is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How long a recipient waits after its first attempt; twice as long after each further one.
    pub after: Duration,
    /// How long at most.
    pub at_most: Duration,
    /// It is given up when it would have waited longer in all.
    pub give_up: Duration,
}

impl Retry {
    /// How long to wait after so many attempts, the first wait being `first`; `None` when it is enough.
    fn wait(&self, attempts: u16, first: Duration) -> Option<Duration> {
        let at_most = self.at_most.max(Duration::from_millis(1));
        let mut next = first.min(at_most).max(Duration::from_millis(1));
        let (mut all, mut waits) = (next, 1);
        while waits < attempts && next < at_most {
            next = (next * 2).min(at_most);
            all += next;
            waits += 1;
        }
        all = all.saturating_add(next * u32::from(attempts.saturating_sub(waits)));
        (all <= self.give_up && attempts < ATTEMPTS_AT_MOST).then_some(next)
    }
}

/// How much at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Connections to one destination.
    pub per_destination: usize,
    /// Recipients in one transaction.
    pub per_transaction: usize,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Connect to this destination.
    Connect(u32),
    /// Nothing until this time, or until something else changes.
    Wait(Option<u32>),
    /// Nothing any more: everybody's fate is known.
    Done,
}

/// What an outcome means for a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// That was it.
    Final,
    /// It is tried again.
    Again,
}

/// Who is to get something, and has not yet.
#[derive(Debug)]
pub struct Queue {
    /// Destination `d` has the places from `starts[d]` to `starts[d + 1]`.
    starts: Vec<u32>,
    destinations: Vec<Destination>,
    places: Vec<Place>,
    limits: Limits,
    retry: Retry,
    /// Destinations that want a connection, in the order of their turns.
    ring: VecDeque<u32>,
    /// Destinations to be left alone until then.
    resting: BinaryHeap<Reverse<(u32, u32)>>,
    /// Recipients to be tried again then.
    due: BinaryHeap<Reverse<(u32, u32)>>,
    /// Recipients that were taken before and have come back, by destination.
    back: HashMap<u32, Vec<u32>>,
    looked_up: Vec<u32>,
    open: usize,
    unsettled: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    attempts: u16,
    is_done: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Destination {
    /// The first place not taken yet, but for those that came back.
    next: u32,
    /// Recipients that can be taken.
    waiting: u32,
    connections: u32,
    /// Connections that have not taken any recipient yet.
    opening: u32,
    /// Recipients in one transaction, as far as the server has said.
    per_transaction: u32,
    /// Which of its addresses were of no use, a bit for each.
    useless: u16,
    /// Attempts to connect that came to nothing, without any that did not between them.
    failures: u16,
    is_resting: bool,
    is_looked_up: bool,
    is_in_ring: bool,
}

impl Queue {
    /// Of destinations with so many recipients each; the places are numbered in their order.
    pub fn new(sizes: impl IntoIterator<Item = usize>, limits: Limits, retry: Retry) -> Self {
        let mut starts = vec![0];
        let mut destinations = Vec::new();
        for size in sizes {
            let start = *starts.last().expect("one at least");
            let waiting = u32::try_from(size).expect("a list has fewer");
            starts.push(start + waiting);
            let per_transaction = u32::try_from(limits.per_transaction.max(1)).unwrap_or(u32::MAX);
            let next = start;
            let destination = Destination { next, waiting, per_transaction, ..Default::default() };
            destinations.push(destination);
        }
        let places = *starts.last().expect("one at least") as usize;
        Self {
            starts,
            destinations,
            places: vec![Place::default(); places],
            limits,
            retry,
            ring: VecDeque::new(),
            resting: BinaryHeap::new(),
            due: BinaryHeap::new(),
            back: HashMap::new(),
            looked_up: Vec::new(),
            open: 0,
            unsettled: places,
        }
    }

    /// Takes note, before it begins, of what became of a recipient earlier.
    pub fn restore(&mut self, place: u32, attempts: u16, is_done: bool) {
        let was_done =
            std::mem::replace(&mut self.places[place as usize], Place { attempts, is_done })
                .is_done;
        debug_assert!(!was_done, "a place is restored once");
        if is_done {
            let destination = self.destination_of(place);
            self.destinations[destination as usize].waiting -= 1;
            self.unsettled -= 1;
        }
    }

    /// Begins: each destination has a turn.
    pub fn begin(&mut self) {
        (0..self.destinations.len()).for_each(|destination| self.refresh(destination as u32));
    }

    /// Says what to do next. A destination it gives is counted as connected until [`Queue::closed`].
    pub fn next(&mut self, now: u32) -> Next {
        self.wake(now);
        while self.open < self.limits.connections && self.looked_up.len() < LOOKED_UP_AT_MOST {
            let Some(destination) = self.ring.pop_front() else { break };
            self.destinations[destination as usize].is_in_ring = false;
            if self.wants(destination) {
                let one = &mut self.destinations[destination as usize];
                one.connections += 1;
                one.opening += 1;
                self.open += 1;
                self.refresh(destination);
                return Next::Connect(destination);
            }
        }
        if self.unsettled == 0 {
            return Next::Done;
        }
        let rested = self.resting.peek().map(|&Reverse((at, _))| at);
        let due = self.due.peek().map(|&Reverse((at, _))| at);
        Next::Wait(rested.into_iter().chain(due).min())
    }

    /// Takes recipients of a destination for a transaction, over a connection of which it is the first or not; none if
    /// there are none just now.
    pub fn take(&mut self, destination: u32, is_first: bool) -> Vec<u32> {
        let end = self.starts[destination as usize + 1];
        let one = &mut self.destinations[destination as usize];
        one.opening -= u32::from(is_first);
        let most = one.per_transaction.min(one.waiting) as usize;
        let mut taken = Vec::with_capacity(most);
        if let Some(back) = self.back.get_mut(&destination) {
            taken.extend(back.drain(back.len().saturating_sub(most)..));
            if back.is_empty() {
                self.back.remove(&destination);
            }
        }
        while taken.len() < most && one.next < end {
            if !self.places[one.next as usize].is_done {
                taken.push(one.next);
            }
            one.next += 1;
        }
        debug_assert_eq!(taken.len(), most);
        one.waiting -= taken.len() as u32;
        if is_first {
            self.refresh(destination);
        }
        taken
    }

    /// Takes note of what became of a recipient that was taken.
    pub fn settle(&mut self, destination: u32, place: u32, fate: Fate, now: u32) -> Verdict {
        let one = &mut self.places[place as usize];
        debug_assert!(!one.is_done);
        match fate {
            Fate::Delivered | Fate::Failed => {
                one.is_done = true;
                self.unsettled -= 1;
                Verdict::Final
            }
            Fate::Again => {
                self.give_back(destination, place);
                Verdict::Again
            }
            Fate::Deferred | Fate::Uncertain => {
                one.attempts = one.attempts.saturating_add(1).min(ATTEMPTS_AT_MOST);
                match self.retry.wait(one.attempts, self.retry.after) {
                    Some(wait) => {
                        self.due.push(Reverse((later(now, wait), place)));
                        Verdict::Again
                    }
                    None => {
                        one.is_done = true;
                        self.unsettled -= 1;
                        Verdict::Final
                    }
                }
            }
        }
    }

    /// Who was taken and not even tried can be taken again.
    pub fn give_back(&mut self, destination: u32, place: u32) {
        self.back.entry(destination).or_default().push(place);
        self.destinations[destination as usize].waiting += 1;
        self.refresh(destination);
    }

    /// A destination takes no more than so many recipients in one transaction.
    pub fn takes_at_most(&mut self, destination: u32, recipients: usize) {
        let one = &mut self.destinations[destination as usize];
        let recipients = u32::try_from(recipients.max(1)).unwrap_or(u32::MAX);
        one.per_transaction = one.per_transaction.min(recipients);
    }

    /// A connection is closed, and had taken recipients or not.
    pub fn closed(&mut self, destination: u32, has_taken: bool) {
        let one = &mut self.destinations[destination as usize];
        one.connections -= 1;
        one.opening -= u32::from(!has_taken);
        self.open -= 1;
        self.refresh(destination);
    }

    /// A destination answers as it should.
    pub fn thrives(&mut self, destination: u32) {
        self.destinations[destination as usize].failures = 0;
    }

    /// A destination could not be talked to. It is left alone for a while, longer each time; gives whether it
    /// was long enough: its recipients are to be given up.
    #[must_use]
    pub fn troubled(&mut self, destination: u32, now: u32) -> bool {
        let one = &mut self.destinations[destination as usize];
        if one.is_resting {
            return false; // it is the same trouble
        }
        one.failures = one.failures.saturating_add(1).min(ATTEMPTS_AT_MOST);
        match self.retry.wait(one.failures, self.retry.after.min(FIRST_REST)) {
            Some(rest) => {
                one.is_resting = true;
                self.resting.push(Reverse((later(now, rest), destination)));
                false
            }
            None => true,
        }
    }

    /// Gives up all recipients of a destination that could be taken: they are done.
    pub fn give_up(&mut self, destination: u32) -> Vec<u32> {
        let one = &mut self.destinations[destination as usize];
        let mut places = self.back.remove(&destination).unwrap_or_default();
        let end = self.starts[destination as usize + 1];
        let rest = std::mem::replace(&mut one.next, end)..end;
        places.extend(rest.filter(|&place| !self.places[place as usize].is_done));
        debug_assert_eq!(places.len(), one.waiting as usize);
        one.waiting = 0;
        self.unsettled -= places.len();
        for &place in &places {
            self.places[place as usize].is_done = true;
        }
        places
    }

    /// The route of a destination is being looked up: its connection is not made yet.
    pub fn look_up(&mut self, destination: u32) {
        self.destinations[destination as usize].is_looked_up = true;
        self.looked_up.push(destination);
        self.closed(destination, false);
    }

    /// Routes have become known: destinations that waited for them have a turn.
    pub fn known(&mut self) {
        for destination in std::mem::take(&mut self.looked_up) {
            self.destinations[destination as usize].is_looked_up = false;
            self.refresh(destination);
        }
    }

    /// Whether an address of a destination was of no use.
    pub fn is_useless(&self, destination: u32, address: usize) -> bool {
        address >= ADDRESSES
            || self.destinations[destination as usize].useless & (1 << address) != 0
    }

    /// An address of a destination is of no use. Whether all of them are by now, of so many: then all may be tried
    /// again.
    pub fn address_failed(&mut self, destination: u32, address: usize, of: usize) -> bool {
        let one = &mut self.destinations[destination as usize];
        one.useless |= 1_u16.checked_shl(address as u32).unwrap_or(0);
        let all = one.useless.count_ones() as usize >= of.min(ADDRESSES);
        if all {
            one.useless = 0;
        }
        all
    }

    /// All addresses of a destination may be tried again.
    pub fn forgive(&mut self, destination: u32) {
        self.destinations[destination as usize].useless = 0;
    }

    /// How many recipients' fates are not known.
    pub fn unsettled(&self) -> usize {
        self.unsettled
    }

    /// How many connections are open.
    pub fn open(&self) -> usize {
        self.open
    }

    /// How many recipients wait for another attempt.
    pub fn waits_to_retry(&self) -> usize {
        self.due.len()
    }

    /// How often a recipient was tried so far, without the one under way.
    pub fn attempts(&self, place: u32) -> u16 {
        self.places[place as usize].attempts
    }

    /// The destination of a place.
    pub fn destination_of(&self, place: u32) -> u32 {
        (self.starts.partition_point(|&start| start <= place) - 1) as u32
    }

    /// The place of a destination's first recipient.
    pub fn start(&self, destination: u32) -> u32 {
        self.starts[destination as usize]
    }

    fn wake(&mut self, now: u32) {
        while let Some(&Reverse((at, destination))) = self.resting.peek()
            && at <= now
        {
            self.resting.pop();
            self.destinations[destination as usize].is_resting = false;
            self.refresh(destination);
        }
        while let Some(&Reverse((at, place))) = self.due.peek()
            && at <= now
        {
            self.due.pop();
            self.give_back(self.destination_of(place), place);
        }
    }

    fn wants(&self, destination: u32) -> bool {
        let one = &self.destinations[destination as usize];
        !one.is_resting
            && !one.is_looked_up
            && (one.connections as usize) < self.limits.per_destination
            && one.waiting.div_ceil(one.per_transaction) > one.opening
    }

    /// Gives a destination a turn, if it wants a connection and has none yet.
    fn refresh(&mut self, destination: u32) {
        if self.wants(destination) {
            let one = &mut self.destinations[destination as usize];
            if !std::mem::replace(&mut one.is_in_ring, true) {
                self.ring.push_back(destination);
            }
        }
    }
}

fn later(now: u32, wait: Duration) -> u32 {
    now.saturating_add(u32::try_from(wait.as_millis()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { connections: 4, per_destination: 2, per_transaction: 3 };

    fn retry(after: u64, at_most: u64, give_up: u64) -> Retry {
        let ms = Duration::from_millis;
        Retry { after: ms(after), at_most: ms(at_most), give_up: ms(give_up) }
    }

    fn queue(sizes: &[usize]) -> Queue {
        let mut queue = Queue::new(sizes.iter().copied(), LIMITS, retry(1_000, 3_000, 10_000));
        queue.begin();
        queue
    }

    fn connects(queue: &mut Queue) -> Vec<u32> {
        std::iter::from_fn(|| match queue.next(0) {
            Next::Connect(destination) => Some(destination),
            _ => None,
        })
        .collect()
    }

    #[test]
    fn who_waits_shortly_is_given_up_in_good_time_too() {
        let ms = Duration::from_millis;
        let retry = Retry { after: ms(1), at_most: ms(2), give_up: ms(1_000) };
        // 1 ms, and then 2 ms each time.
        assert_eq!(retry.wait(1, retry.after), Some(ms(1)));
        assert_eq!(retry.wait(500, retry.after), Some(ms(2)));
        assert_eq!(retry.wait(501, retry.after), None);
        let ever = Retry { give_up: Duration::MAX, ..retry };
        assert_eq!(ever.wait(ATTEMPTS_AT_MOST - 1, ever.after), Some(ms(2)));
        assert_eq!(ever.wait(ATTEMPTS_AT_MOST, ever.after), None);
    }

    #[test]
    fn every_destination_has_its_turn_before_one_has_two() {
        assert_eq!(connects(&mut queue(&[100, 1, 0, 5])), [0, 1, 3, 0]);
        let mut queue = queue(&[2, 100]);
        assert_eq!(connects(&mut queue), [0, 1, 1], "one transaction needs one connection");
        assert_eq!(queue.take(0, true), [0, 1]);
        assert_eq!(queue.take(1, true), [2, 3, 4]);
        assert_eq!(queue.take(1, false), [5, 6, 7]);
    }

    #[test]
    fn waits_double_up_to_a_bound_until_it_is_enough() {
        let waits = |attempts| retry(1_000, 3_000, 9_000).wait(attempts, Duration::from_secs(1));
        let expected = [1, 2, 3, 3].map(|s| Some(Duration::from_secs(s)));
        assert_eq!([1, 2, 3, 4].map(waits), expected);
        assert_eq!(waits(5), None, "12 s in all");
    }

    #[test]
    fn who_is_deferred_waits_and_who_had_no_turn_does_not() {
        let mut queue = queue(&[2]);
        assert_eq!(queue.next(0), Next::Connect(0));
        assert_eq!(queue.take(0, true), [0, 1]);
        assert_eq!(queue.settle(0, 0, Fate::Deferred, 500), Verdict::Again);
        assert_eq!(queue.settle(0, 1, Fate::Again, 500), Verdict::Again);
        assert_eq!(queue.take(0, false), [1]);
        assert_eq!(queue.settle(0, 1, Fate::Delivered, 600), Verdict::Final);
        queue.closed(0, true);
        assert_eq!(queue.next(600), Next::Wait(Some(1_500)));
        assert_eq!(queue.next(1_500), Next::Connect(0));
        assert_eq!((queue.take(0, true), queue.attempts(0)), (vec![0], 1));
        assert_eq!(queue.settle(0, 0, Fate::Failed, 1_600), Verdict::Final);
        queue.closed(0, true);
        assert_eq!(queue.next(1_600), Next::Done);
    }

    #[test]
    fn a_troubled_destination_rests_and_delays_no_other() {
        let mut queue = queue(&[9, 1]);
        assert_eq!(connects(&mut queue), [0, 1, 0]);
        assert!(!queue.troubled(0, 0) && !queue.troubled(0, 0), "both have the same trouble");
        queue.closed(0, false);
        queue.closed(0, false);
        assert_eq!(queue.next(50), Next::Wait(Some(100)));
        assert_eq!(queue.take(1, true), [9]);
        assert_eq!(queue.next(100), Next::Connect(0));
        let mut now = 100;
        while !queue.troubled(0, now) {
            now += 3_000;
            assert_eq!(queue.next(now), Next::Connect(0), "at {now}");
            queue.closed(0, false);
        }
        assert_eq!(queue.give_up(0).len(), 9);
        assert_eq!(queue.unsettled(), 1);
    }

    #[test]
    fn addresses_are_of_no_use_until_all_are() {
        let mut queue = queue(&[9]);
        assert!(!queue.address_failed(0, 0, 3));
        assert!(!queue.address_failed(0, 0, 3), "others had the same trouble");
        assert!(!queue.address_failed(0, 2, 3));
        let useless = |queue: &Queue| [0, 1, 2].map(|address| queue.is_useless(0, address));
        assert_eq!(useless(&queue), [true, false, true]);
        assert!(queue.address_failed(0, 1, 3));
        assert_eq!(useless(&queue), [false; 3]);
    }

    #[test]
    fn a_full_transaction_makes_the_next_ones_smaller() {
        let mut queue = queue(&[9]);
        queue.next(0);
        let taken = queue.take(0, true);
        assert_eq!(taken.len(), 3);
        queue.takes_at_most(0, 2);
        taken.iter().for_each(|&place| queue.give_back(0, place));
        assert_eq!(queue.take(0, false).len(), 2);
    }

    #[test]
    fn what_was_done_before_is_not_done_again() {
        let mut queue = Queue::new([3, 2], LIMITS, retry(1, 1, 5));
        queue.restore(1, 0, true);
        queue.restore(3, 0, true);
        queue.restore(4, 0, true);
        queue.restore(0, 4, false);
        queue.begin();
        assert_eq!(connects(&mut queue), [0]);
        assert_eq!(queue.take(0, true), [0, 2]);
        assert_eq!(queue.settle(0, 0, Fate::Deferred, 0), Verdict::Again);
        assert_eq!(queue.settle(0, 2, Fate::Delivered, 0), Verdict::Final);
        queue.closed(0, true);
        assert_eq!(queue.next(1), Next::Connect(0));
        assert_eq!(queue.take(0, true), [0]);
        assert_eq!(queue.settle(0, 0, Fate::Uncertain, 2), Verdict::Final, "six attempts");
        queue.closed(0, true);
        assert_eq!(queue.next(2), Next::Done);
    }

    proptest! {
        /// Whatever servers do, everybody is taken by one connection at a time, and everybody's fate is known in the end.
        #[test]
        fn nobody_is_forgotten_or_taken_twice(
            sizes in proptest::collection::vec(0_usize..12, 1..6),
            mut luck in proptest::collection::vec(0_u8..12, 1..400),
        ) {
            let mut queue = queue(&sizes);
            let all: usize = sizes.iter().sum();
            let mut luck = luck.drain(..).chain(std::iter::repeat(0));
            let mut taken = vec![false; all];
            let mut settled = 0;
            let (mut now, mut open) = (0, Vec::new());
            loop {
                let next = queue.next(now);
                match next {
                    Next::Connect(destination) => {
                        open.push((destination, false));
                        prop_assert!(open.len() <= LIMITS.connections);
                        let here = open.iter().filter(|one| one.0 == destination).count();
                        prop_assert!(here <= LIMITS.per_destination);
                        continue;
                    }
                    Next::Done => break,
                    Next::Wait(at) if open.is_empty() => {
                        prop_assert!(at.is_some(), "it waits for nothing");
                        now = now.max(at.unwrap());
                        continue;
                    }
                    Next::Wait(_) => {}
                }
                now += 1;
                let which = usize::from(luck.next().unwrap()) % open.len();
                let (destination, has_taken) = open[which];
                match luck.next().unwrap() {
                    9 => {
                        let enough = queue.troubled(destination, now);
                        if enough {
                            settled += queue.give_up(destination).len();
                        }
                        queue.closed(destination, has_taken);
                        open.swap_remove(which);
                        continue;
                    }
                    8 => {
                        queue.closed(destination, has_taken);
                        open.swap_remove(which);
                        continue;
                    }
                    _ => {}
                }
                let places = queue.take(destination, !has_taken);
                open[which].1 = true;
                if places.is_empty() {
                    queue.closed(destination, true);
                    open.swap_remove(which);
                }
                for place in places {
                    prop_assert!(!std::mem::replace(&mut taken[place as usize], true));
                    prop_assert_eq!(queue.destination_of(place), destination);
                    let fate = match luck.next().unwrap() {
                        0..5 => Fate::Delivered,
                        5 | 6 => Fate::Deferred,
                        7 => Fate::Uncertain,
                        8 => Fate::Failed,
                        _ => Fate::Again,
                    };
                    match queue.settle(destination, place, fate, now) {
                        Verdict::Final => settled += 1,
                        Verdict::Again => taken[place as usize] = false,
                    }
                }
            }
            prop_assert_eq!(settled, all);
            prop_assert_eq!(queue.unsettled(), 0);
        }
    }
}
