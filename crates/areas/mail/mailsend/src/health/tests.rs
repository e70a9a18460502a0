use proptest::prelude::*;

use super::*;

fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, number], 25))
}

/// Candidates with the preferences 0, 1, 2, ...
fn candidates(of: u8) -> Vec<Candidate> {
    let one = |number: u8| Candidate { address: address(number), preference: u16::from(number) };
    (0..of).map(one).collect()
}

fn servers(at_first: usize) -> Servers {
    let retry = Retry {
        after: Duration::from_secs(60),
        at_most: Duration::from_secs(1_800),
        give_up: Duration::from_secs(14_400),
    };
    Servers::new(at_first, &retry)
}

fn refused(begun: u32) -> FailedConnection {
    FailedConnection {
        begun,
        was_working: false,
        is_refusal: true,
        is_permanent: false,
        is_tls: false,
    }
}

fn why() -> Arc<str> {
    "421 too many".into()
}

/// A connection to a server is begun and fails at `now`.
fn fail(servers: &mut Servers, number: u8, now: u32, how: FailedConnection) -> Consequence {
    servers.begin(address(number), now);
    servers.failed(address(number), FailedConnection { begun: now, ..how }, &why(), now)
}

fn connects(servers: &Servers, all: &[Candidate], now: u32) -> Option<(usize, bool)> {
    match servers.choose(all, true, 0, now) {
        Choice::Connect { number, in_clear } => Some((number, in_clear)),
        Choice::Full { .. } | Choice::Down { .. } => None,
    }
}

/// A server that admits `admits` connections at a time, each for a transaction of 10 ms, which it answers after 1 ms.
/// Delivers `messages`, each over a connection of its own or many over one. Returns the numbers of refused connections and
/// of ms.
fn deliver(admits: usize, messages: u32, per_connection: u32, at_first: usize) -> (u32, u32) {
    let (mut servers, all) = (servers(at_first), candidates(1));
    let (mut left, mut refusals) = (messages, 0);
    // Connections that wait for their greeting, and that carry messages: time of the next step, messages left.
    let (mut opening, mut working) = (Vec::new(), Vec::new());
    for now in 0..10_000_000 {
        let mut next_opening = Vec::new();
        for begun in std::mem::take(&mut opening) {
            if begun + 1 > now {
                next_opening.push(begun);
            } else if working.len() < admits {
                servers.admitted(address(0), false);
                working.push((now + 10, per_connection));
            } else {
                refusals += 1;
                servers.failed(address(0), refused(begun), &why(), now);
            }
        }
        opening = next_opening;
        working.retain_mut(|(at, messages_left): &mut (u32, u32)| {
            if *at > now || left == 0 {
                return *at > now;
            }
            (left, *messages_left, *at) = (left - 1, *messages_left - 1, now + 10);
            servers.succeeded(address(0));
            if *messages_left == 0 {
                servers.ended(address(0), true);
            }
            *messages_left > 0
        });
        if left == 0 {
            return (refusals, now);
        }
        let wanted = (left as usize).saturating_sub(working.len());
        while opening.len() < wanted && connects(&servers, &all, now) == Some((0, false)) {
            servers.begin(address(0), now);
            opening.push(now);
        }
    }
    panic!("it never ends");
}

#[test]
fn a_server_that_admits_three_is_not_hammered() {
    // 200 messages of 10 ms over 3 connections take 0.67 s, without limits.
    for per_connection in [1, 2, 100] {
        let (refusals, ms) = deliver(3, 200, per_connection, 10);
        assert!(refusals <= 20, "{refusals} with {per_connection} messages per connection");
        assert!(ms < 1_500, "{ms} ms with {per_connection} messages per connection");
    }
    let (refusals, _) = deliver(1, 2_000, 1, 10);
    assert!(refusals <= 30, "{refusals} in 20 s");
}

/// A bad network loses half of the connections before they carry anything. That is no limit of the server.
#[test]
fn random_losses_are_no_limit() {
    let (mut servers, all) = (servers(10), candidates(1));
    let mut luck = 1_u32;
    let mut open: Vec<(u32, bool)> = Vec::new();
    let mut delivered = 0;
    for now in 0..20_000 {
        for (begun, was_working) in std::mem::take(&mut open) {
            luck = luck.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let is_lost = luck >> 31 == 0;
            if !was_working && is_lost {
                servers.failed(address(0), refused(begun), &why(), now);
            } else if !was_working {
                servers.admitted(address(0), false);
                open.push((begun, true));
            } else {
                delivered += 1;
                servers.succeeded(address(0));
                servers.ended(address(0), true);
            }
        }
        while open.len() < 100 && connects(&servers, &all, now).is_some() {
            servers.begin(address(0), now);
            open.push((now, false));
        }
    }
    // The pause after a failure is 100 ms at least, if nothing was delivered in between.
    assert!(delivered > 1_000, "{delivered} in 20 s");
}

#[test]
fn a_server_that_refuses_late_is_not_contacted_for_ever() {
    // Connections are admitted and then refused at MAIL, one after the other.
    let (mut servers, all) = (servers(10), candidates(1));
    let (mut open, mut refusals, mut downs) = (Vec::new(), 0, 0);
    for now in 0..10_000 {
        match servers.choose(&all, true, 0, now) {
            Choice::Connect { .. } => {
                servers.begin(address(0), now);
                open.push(now);
            }
            Choice::Down { .. } => downs += 1,
            Choice::Full { .. } => {}
        }
        if open.first().is_some_and(|&begun| begun + 25 < now) {
            let begun = open.remove(0);
            servers.admitted(address(0), false);
            let late = FailedConnection { was_working: true, ..refused(begun) };
            servers.failed(address(0), late, &why(), now);
            refusals += 1;
        }
    }
    assert!(downs > 0 && refusals < 60, "{refusals} refusals, {downs} ms down");
}

#[test]
fn connections_double_while_the_server_admits_them() {
    let (refusals, ms) = deliver(usize::MAX, 4_000, 1, 10);
    assert_eq!(refusals, 0);
    assert!(ms < 120, "{ms} ms");
    let (mut servers, all) = (servers(2), candidates(1));
    let mut open = 0;
    for expected in [2, 4, 8, 16] {
        let before = open;
        while connects(&servers, &all, 0).is_some() {
            servers.begin(address(0), 0);
            open += 1;
        }
        assert_eq!(open, expected);
        (before..open).for_each(|_| servers.admitted(address(0), false));
    }
}

#[test]
fn the_next_server_is_used_at_once_and_the_first_after_its_pause() {
    let (mut servers, all) = (servers(16), candidates(2));
    assert_eq!(fail(&mut servers, 0, 1, refused(1)), Consequence::Paused);
    assert_eq!(connects(&servers, &all, 1), Some((1, false)), "RFC 5321, section 5.1");
    assert_eq!(fail(&mut servers, 1, 2, refused(2)), Consequence::Paused);
    let down = Choice::Down { until: 101, is_permanent: false, why: why() };
    assert_eq!(servers.choose(&all, true, 0, 2), down);
    let mut now = 101;
    for pause in [200, 400, 800, 1_600] {
        assert_eq!(connects(&servers, &all, now), Some((0, false)));
        fail(&mut servers, 0, now, refused(now));
        assert_ne!(connects(&servers, &all, now + pause - 1), Some((0, false)));
        now += pause;
    }
}

#[test]
fn refusals_are_permanent_only_if_all_servers_say_so() {
    let (mut servers, all) = (servers(16), candidates(2));
    let permanent = FailedConnection { is_permanent: true, ..refused(0) };
    let is_permanent = |servers: &Servers, now| match servers.choose(&all, true, 0, now) {
        Choice::Down { is_permanent, .. } => is_permanent,
        _ => false,
    };
    fail(&mut servers, 0, 0, permanent);
    fail(&mut servers, 1, 0, refused(0));
    assert!(!is_permanent(&servers, 0));
    fail(&mut servers, 1, 100, permanent);
    fail(&mut servers, 0, 100, permanent);
    assert!(is_permanent(&servers, 100));
    // A server that has worked must say so twice, since it may mean the number of connections.
    let (mut servers, all) = (self::servers(16), candidates(1));
    for (now, expected) in [(0, false), (1_000, true)] {
        servers.begin(address(0), now);
        if now == 0 {
            servers.succeeded(address(0));
        }
        servers.failed(address(0), FailedConnection { begun: now, ..permanent }, &why(), now);
        let Choice::Down { is_permanent, .. } = servers.choose(&all, true, 0, now) else {
            panic!("it is paused");
        };
        assert_eq!(is_permanent, expected);
    }
}

/// Makes a TLS handshake fail; the connection is begun and ends at `now`.
fn fail_tls(servers: &mut Servers, number: u8, now: u32) -> Consequence {
    fail(servers, number, now, FailedConnection { is_tls: true, ..refused(now) })
}

#[test]
fn clear_text_follows_a_repeated_failure_for_a_limited_time() {
    let (mut servers, all) = (servers(16), candidates(1));
    assert_eq!(fail_tls(&mut servers, 0, 0), Consequence::Paused);
    assert_eq!(connects(&servers, &all, 100), Some((0, false)), "TLS again");
    assert_eq!(fail_tls(&mut servers, 0, 100), Consequence::InClear);
    assert_eq!(connects(&servers, &all, 101), Some((0, true)));
    assert_eq!(connects(&servers, &all, 100 + CLEAR_FOR_MS), Some((0, false)));
    assert_eq!(fail_tls(&mut servers, 0, 100 + CLEAR_FOR_MS), Consequence::InClear);
    // Without the permission there is no clear text.
    let choice = servers.choose(&all, false, 0, 101);
    assert_eq!(choice, Choice::Connect { number: 0, in_clear: false });
    // Handshakes that fail together have failed once.
    let mut servers = self::servers(16);
    (0..5).for_each(|_| servers.begin(address(0), 0));
    for now in 1..6 {
        servers.failed(address(0), FailedConnection { is_tls: true, ..refused(0) }, &why(), now);
    }
    assert_eq!(connects(&servers, &all, 1_000), Some((0, false)));
}

#[test]
fn a_server_with_tls_goes_before_one_without() {
    let (mut servers, all) = (servers(1), candidates(2));
    fail_tls(&mut servers, 0, 0);
    fail_tls(&mut servers, 0, 100);
    assert_eq!(connects(&servers, &all, 101), Some((1, false)));
    // It has no free connection: mail waits rather than being sent in clear text.
    servers.begin(address(1), 101);
    assert!(matches!(servers.choose(&all, true, 0, 102), Choice::Full { number: 1, .. }));
    // It cannot be reached at all.
    servers.failed(address(1), refused(101), &why(), 102);
    assert_eq!(connects(&servers, &all, 103), Some((0, true)));
    // Its TLS has failed once, and is tried again before that.
    let mut servers = self::servers(1);
    fail_tls(&mut servers, 0, 0);
    fail_tls(&mut servers, 0, 100);
    fail_tls(&mut servers, 1, 101);
    assert!(matches!(servers.choose(&all, true, 0, 102), Choice::Down { until: 201, .. }));
    fail_tls(&mut servers, 1, 201);
    assert_eq!(connects(&servers, &all, 202), Some((0, true)));
}

#[test]
fn a_server_that_defers_recipients_is_set_aside() {
    let (mut servers, all) = (servers(16), candidates(2));
    servers.begin(address(0), 0);
    servers.set_aside(address(0), 500);
    assert_eq!(connects(&servers, &all, 100), Some((1, false)));
    assert_eq!(connects(&servers, &all, 500), Some((0, false)));
    servers.begin(address(1), 100);
    servers.set_aside(address(1), 500);
    assert_eq!(connects(&servers, &all, 200), Some((0, false)), "all defer");
}

#[test]
fn waiting_destinations_get_the_free_connections() {
    let (mut servers, all) = (servers(1), candidates(1));
    servers.begin(address(0), 0);
    assert!(matches!(servers.choose(&all, true, 0, 0), Choice::Full { number: 0, until: 1_000 }));
    servers.wait_for(address(0), 7);
    servers.wait_for(address(0), 8);
    assert_eq!(servers.freed(address(0), 0, 1), None);
    servers.ended(address(0), false);
    assert_eq!(servers.freed(address(0), 0, 1), Some(7));
    assert_eq!(servers.freed(address(0), 1, 1), None, "there is one connection");
}

#[test]
fn servers_without_trouble_are_forgotten() {
    let mut servers = servers(1);
    for number in 0..3 * KEPT {
        let address = SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 25));
        servers.begin(address, 0);
        servers.ended(address, false);
        servers.begin(SocketAddr::from(([10, 1, 0, 0], number as u16)), 0);
    }
    assert!(servers.known.len() <= 4 * KEPT, "{}", servers.known.len());
}

proptest! {
    /// Whatever a server does: a choice never waits for the past, connections are never fewer than none, and a server that
    /// admits all at last gets a connection again.
    #[test]
    fn a_server_is_always_tried_again(steps in proptest::collection::vec((0_u8..8, 0_u8..3, 0_u32..500), 0..200)) {
        let (mut servers, all) = (servers(4), candidates(3));
        let mut open: Vec<(u8, u32, bool)> = Vec::new();
        let mut now = 0;
        for (what, which, ms) in steps {
            now += ms;
            let at = usize::from(which).min(open.len().saturating_sub(1));
            match what {
                0..3 => match servers.choose(&all, true, usize::from(which), now) {
                    Choice::Connect { number, .. } => {
                        servers.begin(address(number as u8), now);
                        open.push((number as u8, now, false));
                    }
                    Choice::Full { until, .. } | Choice::Down { until, .. } => prop_assert!(until > now),
                },
                _ if open.is_empty() => {}
                3 if !open[at].2 => {
                    servers.admitted(address(open[at].0), which == 0);
                    open[at].2 = true;
                }
                4 => servers.succeeded(address(open[at].0)),
                5 => {
                    let (number, _, was_working) = open.swap_remove(at);
                    servers.ended(address(number), was_working);
                }
                6 => servers.set_aside(address(open[at].0), now + ms),
                _ => {
                    let (number, begun, was_working) = open.swap_remove(at);
                    let failed = FailedConnection {
                        begun,
                        was_working,
                        is_refusal: ms % 2 == 0,
                        is_permanent: ms % 3 == 0,
                        is_tls: ms % 5 == 0,
                    };
                    servers.failed(address(number), failed, &why(), now);
                }
            }
        }
        for (number, _, was_working) in open {
            servers.ended(address(number), was_working);
        }
        prop_assert!(connects(&servers, &all, now + 1_900_000).is_some());
    }
}
