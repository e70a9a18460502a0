//! Tests of the generator against correct and faulty servers.

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use loadgen::{ErrorKind, Generator, Generators, Load, Offer, Step, Window};
use platform::CaseError;
use serving::Protocol;
use support::{answering, closed_port, echoing, reading_head, resetting, serving};

const SHORT: Duration = Duration::from_millis(300);
const TOO_BUSY: &[u8] = b"450 too busy\r\n";
const UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\ntoo busy\n";

fn load(to: std::net::SocketAddr, protocol: &str) -> Load {
    Load {
        timeout: Duration::from_secs(20),
        ..Load::new(to, protocol.parse().expect("a protocol"))
    }
}

fn step(load: Load, concurrency: usize) -> Step {
    Generator::new(load).and_then(|mut it| it.step(concurrency, SHORT)).expect("a step")
}

/// The first step of which this holds: one that had time for it on a busy machine; or one with errors.
fn step_until(load: &Load, concurrency: usize, holds: impl Fn(&Step) -> bool) -> Step {
    testing::until_some(|| {
        let step = step(load.clone(), concurrency);
        (holds(&step) || step.errors.total() > 0).then_some(step)
    })
}

/// Asserts that errors of `kind` occurred, and no others.
#[track_caller]
fn only(step: &Step, kind: ErrorKind) {
    assert!(step.errors.count(kind) > 0, "{step:?}");
    assert_eq!(step.errors.total(), step.errors.count(kind), "{:?}", step.errors);
    assert_eq!((step.replies, step.reply.len()), (0, 0));
}

#[test]
fn each_correct_reply_is_counted_once() {
    let served = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&served);
    let to = serving(move |mut stream| {
        count.fetch_add(1, Ordering::Relaxed);
        let _ = stream.write_all(TOO_BUSY);
    });
    let step = step(load(to, "450"), 20);
    assert_eq!(step.errors.total(), 0, "{:?}", step.errors);
    assert!(step.replies > 0 && step.replies <= served.load(Ordering::Relaxed) as u64);
    assert_eq!(step.reply.len(), step.replies);
    assert!(step.connections.abs_diff(step.replies) <= 20, "{step:?}");
    assert!(step.close.len().abs_diff(step.replies) <= 20, "{step:?}");
    assert_eq!((step.open, step.concurrency), (20, 20));
    assert!(step.elapsed >= SHORT && step.waiting <= step.elapsed);
}

/// A generator of three threads, two of them on the same CPU.
fn threads(load: &Load) -> Generators {
    let cpu = Some(platform::cpu::allowed()[0]);
    Generators::new(load, &[cpu, None, cpu]).expect("a generator")
}

#[test]
fn several_threads_share_one_load() {
    let accepted = Arc::new(AtomicUsize::new(0));
    let to = echoing(Arc::clone(&accepted));
    let mut generators = threads(&load(to, "echo"));
    let window = Window { at_least: SHORT, service_rounds: 2, at_most: SHORT * 20 };
    let mut asked = 0;
    let mut server_cpu = || {
        asked += 1;
        Some(Duration::from_secs(asked))
    };
    let step = generators.step_watched(10, window, &mut server_cpu).expect("a step");
    assert_eq!((step.threads, step.concurrency, step.open), (3, 10, 10));
    assert_eq!(step.server_cpu, Some(Duration::from_secs(1)));
    assert_eq!((step.errors.total(), accepted.load(Ordering::Relaxed)), (0, 10));
    assert!(step.replies >= 20 && step.reply.len() == step.replies, "{step:?}");
    assert!(step.waiting <= step.elapsed * 3);
    // Two connections for three threads: one thread has none, and the others do not wait for it.
    let step = generators.step_watched(2, window, &mut || None).expect("a step");
    assert_eq!((step.threads, step.open), (2, 2));
}

#[test]
fn a_thread_that_fails_ends_the_others() {
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    let to = echoing(Arc::default());
    let mut generators = threads(&Load { stop: Some(stop), ..load(to, "echo") });
    let mut server_cpu = || {
        stop.store(true, Ordering::Relaxed);
        None
    };
    let long = Window::of(Duration::from_secs(600));
    let ended = generators.step_watched(9, long, &mut server_cpu).map(drop);
    assert!(matches!(ended, Err(CaseError::Interrupted(_) | CaseError::Failed(_))), "{ended:?}");
}

#[test]
fn each_request_of_an_open_loop_has_one_outcome() {
    let refusing = closed_port();
    let too_slow = slow_server();
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_at = silent.local_addr().expect("an address");
    for (to, most) in [(refusing, 50), (resetting(), 50), (too_slow, 20), (silent_at, 30)] {
        let load = Load { timeout: SHORT / 3, ..load(to, "450") };
        let offer = Offer {
            per_second: 2_000.0,
            most,
            settling: SHORT / 2,
            duration: SHORT,
            awaits_all: true,
        };
        let step = threads(&load).offer(&offer, &mut || None).expect("a step");
        assert!(step.planned > 300, "{step:?}");
        assert_eq!(step.planned, step.replies + step.errors.total(), "{:?}", step.errors);
        assert_eq!((step.unfinished.count, step.reply.len()), (0, step.replies));
        // A step that does not wait for all requests counts those without a result.
        let step = Generator::new(load).and_then(|mut it| it.rate(2_000.0, most, SHORT));
        let step = step.expect("a step");
        let counted = step.replies + step.errors.total() + step.unfinished.count;
        assert_eq!(step.planned, counted, "{:?} {:?}", step.errors, step.unfinished);
    }
}

/// Serves one connection after the other, each for at least a millisecond.
fn slow_server() -> std::net::SocketAddr {
    serving(|mut stream| {
        std::thread::sleep(Duration::from_millis(1));
        let _ = stream.write_all(TOO_BUSY);
    })
}

#[test]
fn a_window_lasts_until_all_connections_were_served_several_times() {
    let mut generator = Generator::new(load(slow_server(), "450")).expect("a generator");
    // In 5 ms this server answers five of the 50.
    let window = Window {
        at_least: Duration::from_millis(5),
        service_rounds: 4,
        at_most: Duration::from_secs(300),
    };
    let step = generator.step_watched(50, window, &mut || None).expect("a step");
    assert!(step.replies >= 4 * 50 && step.elapsed >= Duration::from_millis(200), "{step:?}");
    // The step ends at its maximum time even if few are answered.
    let window = Window { service_rounds: u32::MAX, at_most: Duration::from_millis(50), ..window };
    let step = generator.step_watched(50, window, &mut || None).expect("a step that ends");
    assert!(step.elapsed >= Duration::from_millis(50), "{step:?}");
}

#[test]
fn the_server_cpu_time_is_the_measured_one() {
    let mut generator = Generator::new(load(slow_server(), "450")).expect("a generator");
    let mut cpu_times =
        [Some(Duration::from_secs(5)), Some(Duration::from_secs(3_605))].into_iter();
    let step = generator
        .step_watched(2, Window::of(SHORT), &mut || cpu_times.next().flatten())
        .expect("a step");
    assert_eq!(step.server_cpu, Some(Duration::from_secs(3_600)));
    assert!(cpu_times.next().is_none(), "called at the begin and at the end");
    assert!(step.server_busy() && !step.client_saturated(), "{step:?}");
}

#[test]
fn connections_persist_from_step_to_step() {
    let accepted = Arc::new(AtomicUsize::new(0));
    let to = echoing(Arc::clone(&accepted));
    let mut generator = Generator::new(load(to, "echo:100")).expect("a generator");
    for concurrency in [1, 8, 3, 8] {
        let step = generator.step(concurrency, SHORT).expect("a step");
        assert_eq!(step.errors.total(), 0, "{:?}", step.errors);
        assert!(step.replies > 0 && step.open == concurrency, "{step:?}");
    }
    // The server accepted eight connections, and five that were reopened after three exchanges.
    assert_eq!(accepted.load(Ordering::Relaxed), 13);
    let step = generator.rate(200.0, 4, SHORT).expect("an open loop");
    assert!(step.replies > 0 && step.errors.total() == 0, "{step:?}");
    assert_eq!(accepted.load(Ordering::Relaxed), 13, "idle ones serve it");
}

#[test]
fn large_and_small_echoes() {
    for protocol in ["echo:1", "echo:65536", "echo:1000/3"] {
        let limit = protocol.split_once('/').map(|(_, n)| n.parse().expect("a number"));
        let size = protocol.parse::<Protocol>().map(|p| match p.kind {
            serving::ExchangeKind::Echo { size } => size,
            _ => 0,
        });
        let size = size.expect("a protocol");
        let to = answering(move |stream| {
            let mut buffer = vec![0; size];
            for _ in 0..limit.unwrap_or(u32::MAX) {
                if stream.read_exact(&mut buffer).is_err() || stream.write_all(&buffer).is_err() {
                    return;
                }
            }
        });
        let step = step(load(to, protocol), 4);
        assert_eq!(step.errors.total(), 0, "{protocol}: {:?}", step.errors);
        assert!(step.replies > 0, "{protocol}");
    }
}

#[test]
fn external_http_servers_are_accepted() {
    let to = answering(|stream| {
        for n in 0..5 {
            if !reading_head(stream) {
                return;
            }
            let end = if n == 4 { "Connection: close\r\n" } else { "" };
            let reply =
                format!("HTTP/1.1 503 Sorry\r\nDate: {n}\r\nContent-Length: 4\r\n{end}\r\nno.\n");
            let (first, second) = reply.split_at(reply.len() / 2);
            let _ = stream.write_all(first.as_bytes());
            let _ = stream.write_all(second.as_bytes());
        }
    });
    let foreign = Load { status: Some(503), ..load(to, "http") };
    let good = step_until(&foreign, 3, |step| step.replies > 5 && step.close.len() > 1);
    assert_eq!(good.errors.total(), 0, "{:?}", good.errors);
    assert!(good.replies > 5 && good.close.len() > 1, "{good:?}");
    let other = step(Load { status: Some(200), ..foreign }, 3);
    only(&other, ErrorKind::WrongReply);
    assert_eq!(other.errors.first_wrong.as_deref(), Some("its status is 503, not 200"));
}

/// Replies in each way that RFC 9112, section 6.3, allows, each on a server of its own.
#[test]
fn replies_of_ordinary_http_servers_are_accepted() {
    const CHUNKED: &str =
        "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n";
    const HINTED: &str =
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno";
    const TO_THE_END: &str = "HTTP/1.1 503 No\r\n\r\nno";
    const TWO_LINES: &str =
        "HTTP/1.1 503 No\r\nConnection: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno";
    for (reply, closes) in
        [(CHUNKED, false), (HINTED, false), (TO_THE_END, true), (TWO_LINES, true)]
    {
        let to = answering(move |stream| {
            while reading_head(stream) {
                for piece in reply.as_bytes().chunks(reply.len() / 3) {
                    let _ = stream.write_all(piece);
                }
                if closes {
                    return;
                }
            }
        });
        let step =
            step_until(&Load { status: Some(503), ..load(to, "http") }, 3, |s| s.replies > 3);
        assert_eq!(step.errors.total(), 0, "{reply:?}: {:?}", step.errors);
        assert!(step.replies > 3 && step.reply.len() == step.replies, "{reply:?}: {step:?}");
        assert_eq!(closes, !step.close.is_empty(), "{reply:?}");
        assert_eq!(closes, step.connections > 0, "{reply:?}");
    }
    // A reply that the end of its connection cuts off is no whole one.
    for reply in [&CHUNKED[..CHUNKED.len() - 1], "HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nno"] {
        let to = answering(move |stream| {
            let _ = reading_head(stream) && stream.write_all(reply.as_bytes()).is_ok();
        });
        only(&step(Load { status: Some(503), ..load(to, "http") }, 3), ErrorKind::ClosedEarly);
    }
}

#[test]
fn a_closed_port() {
    let step = step(load(closed_port(), "450"), 50);
    only(&step, ErrorKind::Refused);
    assert!(step.errors.total() < 20_000, "it pauses: {:?}", step.errors);
    assert_eq!(step.connections, 0);
}

#[test]
#[cfg_attr(windows, ignore = "Wine ends a connection in order where it is to be reset")]
fn a_server_that_resets() {
    only(&step(load(resetting(), "echo"), 5), ErrorKind::Reset);
}

#[test]
fn a_server_with_wrong_replies() {
    let to = serving(|mut stream| drop(stream.write_all(b"450 too bUsy\r\n")));
    let wrong = step(load(to, "450"), 5);
    only(&wrong, ErrorKind::WrongReply);
    let how = wrong.errors.first_wrong.expect("the first is kept");
    assert_eq!(how, r#"from byte 9 on it was "Usy\r\n", not "usy\r\n""#);
}

#[test]
fn a_server_that_sends_surplus_data_at_once_or_later() {
    let to = serving(|mut stream| drop(stream.write_all(b"450 too busy\r\n450 too busy\r\n")));
    let wrong = step(load(to, "450"), 5);
    only(&wrong, ErrorKind::WrongReply);
    assert!(wrong.errors.first_wrong.expect("the first is kept").starts_with("more came after"));
    let to = answering(|stream| {
        let _ = stream.write_all(TOO_BUSY);
        // The generator has read the reply by then, and waits for the end; the server sees nothing of it.
        std::thread::sleep(Duration::from_millis(20));
        let _ = stream.write_all(b"!");
    });
    let wrong = step(load(to, "450"), 5);
    assert!(wrong.errors.count(ErrorKind::WrongReply) > 0, "{wrong:?}");
    assert_eq!(wrong.close.len(), 0);
}

#[test]
fn a_server_that_confuses_clients() {
    // The server answers each request with the previous one.
    let to = answering({
        let before = Arc::new(std::sync::Mutex::new([0; 64]));
        move |stream| {
            let mut request = [0; 64];
            while stream.read_exact(&mut request).is_ok() {
                let mut before = before.lock().expect("no thread panics");
                std::mem::swap(&mut *before, &mut request);
                let _ = stream.write_all(&request);
            }
        }
    });
    only(&step(load(to, "echo"), 2), ErrorKind::WrongReply);
}

#[test]
fn a_server_that_closes_early() {
    let to = serving(|mut stream| drop(stream.write_all(&TOO_BUSY[..5])));
    only(&step(load(to, "450"), 5), ErrorKind::ClosedEarly);
}

#[test]
fn a_server_that_never_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().expect("an address");
    for protocol in ["450", "http", "echo/1"] {
        let silent = Load { timeout: Duration::from_millis(100), ..load(to, protocol) };
        let step = step(silent, 3);
        only(&step, ErrorKind::TimedOut);
    }
    // The step reports requests that wait at the end, with their age.
    let step = step(load(to, "http"), 0);
    assert_eq!(step.unfinished.count, 0);
    let mut generator =
        Generator::new(Load { timeout: SHORT * 2, ..load(to, "http") }).expect("one");
    let step = generator.rate(20.0, 2, SHORT).expect("a step");
    assert!(step.unfinished.count >= 6, "{:?}", step.unfinished);
    assert!(step.unfinished.oldest >= SHORT, "{:?}", step.unfinished);
    drop(listener);
}

#[test]
fn a_server_that_does_not_close_after_its_last_reply() {
    let to = answering(|stream| {
        let _ = stream.write_all(TOO_BUSY);
        let _ = stream.read(&mut [0]);
    });
    let stuck = Load { timeout: Duration::from_millis(100), ..load(to, "450") };
    let step = step(stuck, 3);
    assert!(step.errors.count(ErrorKind::TimedOut) > 0, "{:?}", step.errors);
    assert!(step.replies > 0 && step.close.is_empty());
}

/// Answers HTTP, with one stall of all connections after 350 requests.
fn stalling(stall: Duration) -> std::net::SocketAddr {
    let answered = Arc::new(std::sync::Mutex::new(0));
    answering(move |stream| {
        while reading_head(stream) {
            let mut answered = answered.lock().expect("no thread panics");
            *answered += 1;
            if *answered == 350 {
                std::thread::sleep(stall);
            }
            drop(answered);
            let _ = stream.write_all(UNAVAILABLE);
        }
    })
}

#[test]
#[cfg_attr(
    windows,
    ignore = "reading byte by byte, its server cannot answer 500 requests a second under Wine"
)]
fn an_open_loop_shows_a_stall_in_all_requests_scheduled_meanwhile() {
    let stall = Duration::from_millis(400);
    let mut generator = Generator::new(load(stalling(stall), "http")).expect("a generator");
    let step = generator.rate(500.0, 2, Duration::from_secs(2)).expect("a step");
    assert_eq!(step.errors.total(), 0, "{:?}", step.errors);
    // During the stall 200 of about 1000 requests were scheduled, each 2 ms later than the one before, so that 100 wait for
    // 200 ms or more. In a closed loop two would.
    let long = step.reply.count_between(200_000_000, u64::MAX);
    assert!(long >= 90, "{long} of {}", step.reply.len());
    assert!(step.reply.value_at_percentile(99.0) >= 200_000_000);
    assert!(step.unfinished.count + step.replies >= 950, "{step:?}");
}

#[test]
fn it_stops_on_request() {
    let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(true)));
    let to = closed_port();
    let mut generator = Generator::new(Load { stop: Some(stop), ..load(to, "450") }).expect("one");
    let ended = generator.step(1, Duration::from_secs(3_600));
    assert!(matches!(ended, Err(CaseError::Interrupted(_))));
    assert!(generator.rate(0.0, 1, SHORT).is_err());
    assert!(generator.rate(1.0, 0, SHORT).is_err());
    assert!(matches!(generator.hold(1), Err(CaseError::Unsupported(_))));
}

#[test]
fn idle_connections_are_held_and_reused() {
    let to = echoing(Arc::default());
    let mut generator = Generator::new(load(to, "echo")).expect("a generator");
    let held = generator.hold(100).expect("held");
    assert_eq!((held.open, held.errors.total()), (100, 0), "{held:?}");
    let step = generator.step(100, SHORT).expect("a step");
    assert!(step.replies > 0 && step.open == 100 && step.connections == 0, "{step:?}");
}

/// On Linux and Windows all addresses of 127.0.0.0/8 are this machine's; others have one loopback address.
#[test]
#[cfg(any(target_os = "linux", windows))]
fn source_addresses_are_taken_in_turn() {
    let seen = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let note = Arc::clone(&seen);
    let to = serving(move |mut stream| {
        note.lock().expect("no thread panics").extend(stream.peer_addr().map(|peer| peer.ip()));
        let _ = stream.write_all(TOO_BUSY);
    });
    let sources: Vec<std::net::IpAddr> =
        ["127.0.0.5", "127.8.9.10"].map(|ip| ip.parse().expect("an address")).to_vec();
    let step = step(Load { sources: sources.clone(), ..load(to, "450") }, 4);
    assert!(step.replies > 0 && step.errors.total() == 0, "{step:?}");
    assert!(seen.lock().expect("no thread panics").iter().eq(sources.iter()));
    let foreign = vec!["192.0.2.1".parse().expect("an address")];
    let step = self::step(Load { sources: foreign, ..load(to, "450") }, 2);
    only(&step, ErrorKind::NoPort);
    assert!(step.errors.total() < 100 && step.open == 0, "{step:?}");
}

/// Connections in TIME_WAIT from or to a port, as Linux lists them (state 6, proc_net_tcp).
#[cfg(target_os = "linux")]
fn time_waits(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux has it");
    let port = format!(":{port:04X}");
    let waits = |line: &&str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.len() > 3
            && fields[3] == "06"
            && (fields[1].ends_with(&port) || fields[2].ends_with(&port))
    };
    table.lines().filter(waits).count()
}

#[test]
#[cfg(target_os = "linux")]
fn no_time_wait_remains_after_thousands_of_connections() {
    let to = serving(|mut stream| drop(stream.write_all(TOO_BUSY)));
    let mut generator = Generator::new(load(to, "450")).expect("a generator");
    let mut connections = 0;
    while connections < 4_000 {
        let step = generator.step(50, SHORT).expect("a step");
        assert_eq!(step.errors.total(), 0, "{:?}", step.errors);
        connections += step.connections;
    }
    let waits = time_waits(to.port());
    assert!(waits <= 50, "{waits} after {connections} connections");
}

#[test]
fn connections_that_the_client_closes_are_not_reset() {
    let (end_tx, end_rx) = std::sync::mpsc::channel();
    let to = answering(move |stream: &mut TcpStream| {
        while reading_head(stream) {
            let _ = stream.write_all(UNAVAILABLE);
        }
        let _ = end_tx.send(stream.read(&mut [0]).map_err(|error| error.kind()));
    });
    let mut generator = Generator::new(load(to, "http")).expect("a generator");
    generator.hold(3).expect("held");
    drop(generator);
    for _ in 0..3 {
        let end = end_rx.recv_timeout(Duration::from_secs(60)).expect("an end");
        assert_eq!(end, Ok(0), "an end, not a reset");
    }
}
