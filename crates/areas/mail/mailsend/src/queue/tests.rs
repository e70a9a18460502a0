use proptest::prelude::*;

use super::*;

const LIMITS: Limits =
    Limits { connections: 4, per_destination: 2, per_transaction: 3, at_first: 9 };

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
fn short_waits_do_not_postpone_giving_up() {
    let ms = Duration::from_millis;
    let retry = Retry { after: ms(1), at_most: ms(2), give_up: ms(1_000) };
    // The first wait is 1 ms, each later one 2 ms.
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
fn deferred_recipients_wait_and_requeued_ones_do_not() {
    let mut queue = queue(&[2]);
    assert_eq!(queue.next(0), Next::Connect(0));
    assert_eq!(queue.take(0, true), [0, 1]);
    assert_eq!(queue.settle(0, 0, DeliveryStatus::Deferred, 500), Verdict::Retry);
    assert_eq!(queue.settle(0, 1, DeliveryStatus::Requeued, 500), Verdict::Retry);
    assert_eq!(queue.take(0, false), [1]);
    assert_eq!(queue.settle(0, 1, DeliveryStatus::Delivered, 600), Verdict::Final);
    queue.closed(0, true);
    assert_eq!(queue.next(600), Next::Wait(Some(1_500)));
    assert_eq!(queue.next(1_500), Next::Connect(0));
    assert_eq!((queue.take(0, true), queue.attempts(0)), (vec![0], 1));
    assert_eq!(queue.settle(0, 0, DeliveryStatus::Failed, 1_600), Verdict::Final);
    queue.closed(0, true);
    assert_eq!(queue.next(1_600), Next::Done);
}

#[test]
fn a_failing_destination_is_paused_and_delays_no_other() {
    let mut queue = queue(&[9, 1]);
    assert_eq!(connects(&mut queue), [0, 1, 0]);
    assert!(
        !queue.record_failure(0, 0) && !queue.record_failure(0, 0),
        "both report the same failure"
    );
    queue.closed(0, false);
    queue.closed(0, false);
    assert_eq!(queue.next(50), Next::Wait(Some(100)));
    assert_eq!(queue.take(1, true), [9]);
    assert_eq!(queue.next(100), Next::Connect(0));
    let mut now = 100;
    while !queue.record_failure(0, now) {
        now += 3_000;
        assert_eq!(queue.next(now), Next::Connect(0), "at {now}");
        queue.closed(0, false);
    }
    assert_eq!(queue.give_up(0).len(), 9);
    assert_eq!(queue.unsettled(), 1);
}

#[test]
fn a_destination_waits_until_its_pause_ends_or_it_is_woken() {
    let mut queue = queue(&[9]);
    assert_eq!(queue.next(0), Next::Connect(0));
    queue.pause(0, 50);
    queue.closed(0, false);
    assert_eq!(queue.next(10), Next::Wait(Some(50)));
    assert!(queue.resume(0));
    assert_eq!(queue.next(10), Next::Connect(0));
    queue.pause(0, 60);
    queue.closed(0, false);
    assert_eq!(queue.next(60), Next::Connect(0));
}

#[test]
fn a_destination_that_stays_down_is_given_up() {
    // Waits may take 10 s in all.
    let mut queue = queue(&[2]);
    assert!(!queue.is_down(0, 1, 1_000, 2_000));
    assert!(!queue.is_down(0, 1, 10_000, 11_000));
    assert!(queue.is_down(0, 1, 11_000, 11_001));
    queue.record_success(0);
    assert!(!queue.is_down(0, 1, 12_000, 13_000), "it was reached meanwhile");
    assert_eq!(queue.left().collect::<Vec<_>>(), [(0, 1), (1, 1)]);
}

#[test]
fn recipients_that_may_have_got_it_twice_count_once() {
    let mut queue = queue(&[2]);
    assert!(!queue.sent(0, true));
    assert!(queue.is_uncertain(0) && !queue.is_uncertain(1));
    assert!(queue.sent(0, true), "the second time");
    assert!(!queue.sent(0, true) && !queue.sent(0, false));
    assert!(!queue.sent(1, true));
    assert!(queue.sent(1, false), "sent again, and accepted");
}

#[test]
fn a_full_transaction_makes_the_next_ones_smaller() {
    let mut queue = queue(&[9]);
    queue.next(0);
    let taken = queue.take(0, true);
    assert_eq!(taken.len(), 3);
    queue.limit_transaction(0, 2);
    taken.iter().for_each(|&recipient| queue.give_back(0, recipient));
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
    assert_eq!(queue.settle(0, 0, DeliveryStatus::Deferred, 0), Verdict::Retry);
    assert_eq!(queue.settle(0, 2, DeliveryStatus::Delivered, 0), Verdict::Final);
    queue.closed(0, true);
    assert_eq!(queue.next(1), Next::Connect(0));
    assert_eq!(queue.take(0, true), [0]);
    assert_eq!(queue.settle(0, 0, DeliveryStatus::Uncertain, 2), Verdict::Final, "six attempts");
    queue.closed(0, true);
    assert_eq!(queue.next(2), Next::Done);
}

proptest! {
    /// Whatever servers do, each recipient is taken by one connection at a time, and every recipient gets a final result.
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
                    let enough = queue.record_failure(destination, now);
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
            let recipients = queue.take(destination, !has_taken);
            open[which].1 = true;
            if recipients.is_empty() {
                queue.closed(destination, true);
                open.swap_remove(which);
            }
            for recipient in recipients {
                prop_assert!(!std::mem::replace(&mut taken[recipient as usize], true));
                prop_assert_eq!(queue.destination_of(recipient), destination);
                let status = match luck.next().unwrap() {
                    0..5 => DeliveryStatus::Delivered,
                    5 | 6 => DeliveryStatus::Deferred,
                    7 => DeliveryStatus::Uncertain,
                    8 => DeliveryStatus::Failed,
                    _ => DeliveryStatus::Requeued,
                };
                match queue.settle(destination, recipient, status, now) {
                    Verdict::Final => settled += 1,
                    Verdict::Retry => taken[recipient as usize] = false,
                }
            }
        }
        prop_assert_eq!(settled, all);
        prop_assert_eq!(queue.unsettled(), 0);
    }
}
