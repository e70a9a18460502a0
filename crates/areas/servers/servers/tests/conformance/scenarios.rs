//! The scenarios. Each starts a server, connects clients, and checks their outcome and the server's behaviour. A failing
//! scenario panics with the reason.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use servers::hosted::Hosted;
use servers::{Architecture, NameServer, Protocol, Task};
use testing::PATIENCE;

use crate::crowd::{Calls, Outcome, Step};
use crate::hosting::{Held, Setting, descendants, last_descriptor, runs};
use crate::scripts::{
    Dice, GET, UNAVAILABLE, UNAVAILABLE_CLOSE, garbage, good, half_closing, resetting, slow,
};

pub type Scenario = (&'static str, fn(&Architecture));

/// Scenarios that mostly wait, which run in parallel.
pub const WAITING: [Scenario; 12] = [
    ("slow", slow_clients),
    ("hostile", resets_half_closes_and_garbage),
    ("descriptors", few_descriptors),
    ("begin", too_few_descriptors_to_begin),
    ("filling", a_table_that_fills),
    ("processes", few_processes),
    ("stop", stop_under_load),
    ("busy-stop", stop_while_clients_stay),
    ("idle", idle_is_idle),
    ("killed", nothing_survives_a_kill),
    ("work", work_is_done_for_each_request),
    ("http", ordinary_http_clients),
];

/// Scenarios that keep the CPUs busy, which run one after the other.
pub const BUSY: [Scenario; 2] = [("correct", correct), ("leaks", nothing_leaks)];

fn has_workers(architecture: &Architecture) -> bool {
    ["prefork", "pool"].contains(&architecture.name)
}

fn is_event_driven(architecture: &Architecture) -> bool {
    !["fork", "exec", "prefork", "threads", "pool"].contains(&architecture.name)
}

fn starts_one_for_each_connection(architecture: &Architecture) -> bool {
    ["fork", "exec", "threads"].contains(&architecture.name)
}

fn call(server: &Hosted, at_once: usize, next: impl FnMut() -> Option<Vec<Step>>) -> Vec<Outcome> {
    Calls::to(server, at_once).make(next)
}

/// `count` clients, each with the steps that `script` returns.
fn each(
    count: usize,
    mut script: impl FnMut(usize) -> Vec<Step>,
) -> impl FnMut() -> Option<Vec<Step>> {
    let mut begun = 0..count;
    move || begun.next().map(&mut script)
}

#[track_caller]
fn all_done(ends: &[Outcome], what: &str) {
    let not_done: Vec<&Outcome> = ends.iter().filter(|one| **one != Outcome::Done).collect();
    let some = &not_done[..not_done.len().min(3)];
    assert!(
        not_done.is_empty(),
        "{what}: {} of {} failed, as {some:?}",
        not_done.len(),
        ends.len()
    );
}

/// Checks several protocols at once, each with a separate server.
fn for_each_of(protocols: &[&str], check: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        let check = &check;
        let checks: Vec<_> =
            protocols.iter().map(|protocol| scope.spawn(move || check(protocol))).collect();
        let failed = checks.into_iter().filter_map(|one| one.join().err()).count();
        assert!(failed == 0, "{failed} protocols failed, see above");
    });
}

#[track_caller]
fn stop(server: Hosted) {
    server.stop().expect("the server stops");
}

/// The number of questions to a name server shows how often the work was done. Failed work is counted, and the reply is
/// sent nevertheless.
fn work_is_done_for_each_request(architecture: &Architecture) {
    const CLIENTS: usize = 20;
    let names = NameServer::start().expect("a name server");
    let task = Task::Dns { server: names.address() };
    let mut dice = Dice::new(3);
    for (protocol, requests_each) in [("450", 1), ("http", 3), ("echo:700", 3)] {
        let setting = Setting::of(protocol).task(task.clone());
        let (server, before) = (setting.start(architecture), names.answered());
        let clients = each(CLIENTS, |_| good(setting.protocol, &mut dice));
        all_done(&call(&server, CLIENTS, clients), protocol);
        // The count precedes the stop, which may wake the server by a connection of its own.
        assert_eq!(names.answered() - before, requests_each * CLIENTS as u64, "{protocol}");
        stop(server);
    }
    let broken = Setting::of("450").task(Task::Fsync { path: "/nonexistent/file".into() });
    let mut server = broken.start(architecture);
    let ends = call(&server, CLIENTS, each(CLIENTS, |_| good(broken.protocol, &mut dice)));
    all_done(&ends, "work that fails");
    let failed = server.report().expect("a report").work_failed;
    // Programs that the server starts have separate counters.
    assert!(failed == CLIENTS as u64 || architecture.name == "exec" && failed == 0, "{failed}");
    stop(server);
}

/// Clients of HTTP use methods, content and persistence as ordinary ones do (RFC 9110, RFC 9112), and get a reply to a malformed
/// request although the server closes the connection while they send.
fn ordinary_http_clients(architecture: &Architecture) {
    const BARE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\n";
    const KEPT: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\nConnection: keep-alive\r\n\r\ntoo busy\n";
    let server = Setting::of("http").start(architecture);
    let large = vec![b'x'; 300_000];
    let head = |fields: &str| format!("POST /x HTTP/1.1\r\nHost: x\r\n{fields}\r\n").into_bytes();
    let sized = [head("Content-Length: 300000\r\n"), large.clone()].concat();
    let chunked = [
        &head("Transfer-Encoding: chunked\r\n")[..],
        b"493e0;x=y\r\n",
        &large,
        b"\r\n0\r\nTrailer: z\r\n\r\n",
    ]
    .concat();
    let expects = head("Expect: 100-continue\r\nContent-Length: 300000\r\n");
    let old = b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    let persistent = vec![
        Step::talk(GET, UNAVAILABLE),
        Step::talk(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", BARE),
        Step::talk(&sized, UNAVAILABLE),
        Step::talk(&chunked, UNAVAILABLE),
        Step::talk(&expects, b"HTTP/1.1 100 Continue\r\n\r\n"),
        Step::talk(&large, UNAVAILABLE),
        Step::talk(&[&sized, GET, &chunked].concat(), &UNAVAILABLE.repeat(3)),
        Step::talk(old, KEPT),
        Step::talk(old, KEPT),
        Step::talk(b"GET / HTTP/1.0\r\n\r\n", UNAVAILABLE_CLOSE),
        Step::End,
    ];
    // The server has replied long before the client stops sending, and the reply is not lost by a reset.
    let refused = |begin: &[u8], reply: &[u8]| {
        vec![Step::talk(&[begin, &large].concat(), reply), Step::HalfClose, Step::End]
    };
    let closing = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let scripts = [
        persistent,
        refused(
            b"\0",
            // The date is one of RFC 9110, section 5.6.7, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
            b"HTTP/1.1 400 Bad Request\r\nDate: ???, ?? ??? ???? ??:??:?? GMT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ),
        refused(closing, UNAVAILABLE_CLOSE),
    ];
    let clients = each(4 * scripts.len(), |nth| scripts[nth % scripts.len()].clone());
    all_done(&call(&server, 4 * scripts.len(), clients), "ordinary clients");
    stop(server);
}

fn correct(architecture: &Architecture) {
    for protocol in ["450", "echo:700", "echo:65536/2", "http", "http-close"] {
        let setting = Setting::of(protocol);
        let server = setting.start(architecture);
        let mut dice = Dice::new(1);
        // Large requests are fewer, since memory is not what is tested.
        let count = if protocol.contains("65536") { 100 } else { 1_000 };
        let ends = call(&server, count, each(count, |_| good(setting.protocol, &mut dice)));
        all_done(&ends, protocol);
        stop(server);
    }
    a_lot_at_once(architecture);
}

/// A client may send more than the server's and its own buffers hold, if it receives the replies afterwards: the server
/// stops receiving meanwhile.
fn a_lot_at_once(architecture: &Architecture) {
    let server = Setting::of("echo:1000").start(architecture);
    let mut dice = Dice::new(2);
    let script = |_| {
        let bytes = dice.bytes(1_500_000);
        let (send, expect) = (bytes.clone(), bytes);
        vec![Step::Talk { send, expect, or_last: b"" }, Step::HalfClose, Step::End]
    };
    all_done(&call(&server, 4, each(4, script)), "a lot at once");
    stop(server);
}

/// Number of slow clients: more than the workers of an architecture that has them.
const SLOW_CLIENTS: usize = 300;

fn slow_clients(architecture: &Architecture) {
    for protocol in ["450", "echo:1024", "http"] {
        if is_event_driven(architecture) {
            nobody_waits_for_slow_clients(architecture, protocol);
        }
        slow_clients_time_out(architecture, protocol);
    }
}

/// The timeout is longer than correct clients can wait in this test.
fn nobody_waits_for_slow_clients(architecture: &Architecture, protocol: &str) {
    let setting = Setting::of(protocol).timeout_ms(600_000);
    let server = setting.start(architecture);
    let calls = Calls::to(&server, SLOW_CLIENTS);
    std::thread::scope(|scope| {
        let slow_ones = scope.spawn(|| {
            let mut dice = Dice::new(3);
            calls.make(each(SLOW_CLIENTS, |n| slow(setting.protocol, &mut dice, n)))
        });
        testing::until(|| calls.connected() == SLOW_CLIENTS);
        let mut dice = Dice::new(4);
        let good_ones = call(&server, 100, each(100, |_| good(setting.protocol, &mut dice)));
        all_done(&good_ones, &format!("{protocol}: good clients beside slow ones"));
        calls.leave();
        let ended = slow_ones.join().expect("no panic").len();
        // With the protocol 450 a server does not wait for its client.
        assert!(ended == 0 || protocol == "450", "{protocol}: {ended} were disconnected");
    });
    server.end_now().expect("it is killed");
}

/// Slow clients are disconnected after the timeout, and then others that had to wait are served.
fn slow_clients_time_out(architecture: &Architecture, protocol: &str) {
    // The timeout is short where slow clients may block others until it passes, but long enough for a correct client on a
    // busy machine.
    let (timeout_ms, workers, good_clients) = match architecture {
        one if has_workers(one) => (1_500, SLOW_CLIENTS - 50, 100),
        one if is_event_driven(one) => (1_000, 1, 0),
        _ => (3_000, 1, 100),
    };
    // The clients send a byte each 100 ms, so that a request of this length is never complete before the timeout.
    let setting = Setting::of(protocol).timeout_ms(timeout_ms).workers(workers);
    let mut server = setting.start(architecture);
    let calls = Calls::to(&server, SLOW_CLIENTS);
    let (slow_ones, good_ones) = std::thread::scope(|scope| {
        let slow_ones = scope.spawn(|| {
            let mut dice = Dice::new(3);
            calls.make(each(SLOW_CLIENTS, |n| slow(setting.protocol, &mut dice, n)))
        });
        testing::until(|| calls.connected() == SLOW_CLIENTS);
        let mut dice = Dice::new(4);
        let good_ones = each(good_clients, |_| good(setting.protocol, &mut dice));
        let good_ones = call(&server, 100, good_ones);
        (slow_ones.join().expect("no panic"), good_ones)
    });
    all_done(&good_ones, &format!("{protocol}: good clients beside slow ones"));
    all_done(&slow_ones, &format!("{protocol}: slow clients"));
    let timed_out = server.report().expect("the server runs").timed_out;
    // Programs started for each connection do not report timeouts.
    if protocol != "450" && architecture.name != "exec" {
        // A client that sends without end and receives nothing may be disconnected in other ways.
        let expected = SLOW_CLIENTS as u64 * 49 / 50..=SLOW_CLIENTS as u64;
        assert!(expected.contains(&timed_out), "{protocol}: {timed_out} timed out");
    }
    stop(server);
}

fn resets_half_closes_and_garbage(architecture: &Architecture) {
    for_each_of(&["450", "echo:300", "http", "http-close"], |protocol| {
        // The timeout is long because a client on a busy machine may not run for seconds.
        let setting = Setting::of(protocol).timeout_ms(6_000).workers(200);
        let server = setting.start(architecture);
        let mut dice = Dice::new(5);
        let script = |n: usize| match n % 4 {
            0 => resetting(setting.protocol, &mut dice),
            1 => half_closing(setting.protocol, &mut dice),
            2 if setting.protocol != Protocol::TOO_BUSY => garbage(&mut dice),
            _ => good(setting.protocol, &mut dice),
        };
        // The architecture `exec` starts a program for each client.
        let count = if architecture.name == "exec" { 300 } else { 1_200 };
        all_done(&call(&server, 100, each(count, script)), protocol);
        stop(server);
    });
}

fn few_descriptors(architecture: &Architecture) {
    for_each_of(&["450", "http"], |protocol| {
        let setting = Setting::of(protocol).timeout_ms(4_000).workers(40);
        let setting = Setting { descriptors: Some(64), ..setting };
        let mut server = setting.start(architecture);
        let mut dice = Dice::new(6);
        // The architecture `exec` starts a program for each client.
        let count = if architecture.name == "exec" { 300 } else { 1_000 };
        let ends = call(&server, 200, each(count, |_| good(setting.protocol, &mut dice)));
        all_done(&ends, &format!("{protocol}: with 64 descriptors"));

        // The silent clients are more than the server can have: then nothing can be done.
        let calls = Calls::to(&server, 100);
        std::thread::scope(|scope| {
            let silent = scope.spawn(|| {
                let hold = vec![Step::send(b"G"), Step::UntilClosed];
                calls.make(each(if protocol == "450" { 0 } else { 100 }, |_| hold.clone()))
            });
            quiet(&server);
            let share = cpu_share(&mut server, Duration::from_secs(1));
            assert!(share < 0.2, "{protocol}: without descriptors it uses {share:.2} of a CPU");
            all_done(&silent.join().expect("no panic"), "silent clients");
        });
        let ends = call(&server, 200, each(200, |_| good(setting.protocol, &mut dice)));
        all_done(&ends, &format!("{protocol}: after 64 silent ones"));
        stop(server);
    });
}

/// io_uring accepts by a multishot operation while its table surely has room, and then one by one. Clients must not be
/// affected when the number of connections crosses that limit.
fn a_table_that_fills(architecture: &Architecture) {
    if architecture.name != "io_uring" {
        return;
    }
    let Some(waiting) = platform::process::limits::waiting_connections() else {
        return testing::skip("net.core.somaxconn cannot be read");
    };
    let descriptors = 2 * waiting + 400; // room for some hundreds more than a multishot operation requires
    let has_them =
        platform::process::limits::raise_descriptors().is_some_and(|most| most > descriptors);
    if testing::skip_unless(has_them, &format!("needs {descriptors} descriptors")) {
        return;
    }
    let setting = Setting { descriptors: Some(descriptors), ..Setting::of("http") };
    let server = setting.start(architecture);
    let mut dice = Dice::new(11);
    let calls = Calls::to(&server, 600);
    std::thread::scope(|scope| {
        let idle = scope.spawn(|| {
            let request = Step::talk(GET, UNAVAILABLE);
            let idle = vec![request, Step::Wait(Duration::from_millis(1_500))];
            calls.make(each(600, |_| idle.clone()))
        });
        while !idle.is_finished() {
            let ends = call(&server, 100, each(500, |_| good(setting.protocol, &mut dice)));
            all_done(&ends, "while its table fills and empties");
        }
        all_done(&idle.join().expect("no panic"), "those that fill it");
    });
    stop(server);
}

/// A server must fail if it lacks a descriptor that it needs; otherwise clients would wait for ever.
fn too_few_descriptors_to_begin(architecture: &Architecture) {
    let setting = Setting::of("450").workers(4);
    let server = setting.start(architecture);
    all_done(&call(&server, 1, each(1, |_| good(setting.protocol, &mut Dice::new(10)))), "450");
    quiet(&server);
    let last = last_descriptor(server.pid());
    stop(server);
    let setting = Setting { descriptors: Some(last), ..setting };
    if let Ok(server) = setting.try_to_start(architecture) {
        // It does not serve without this descriptor.
        testing::until(|| !runs(server.pid()));
    }
}

/// The server's CPU time as a share of `time`, which nothing happens in.
fn cpu_share(server: &mut Hosted, time: Duration) -> f64 {
    let (before, began) = (server.report().expect("the server runs"), Instant::now());
    std::thread::sleep(time);
    let report = server.report().expect("the server runs").since(before);
    report.cpu_ns as f64 / began.elapsed().as_nanos() as f64
}

fn few_processes(architecture: &Architecture) {
    if !starts_one_for_each_connection(architecture) {
        return;
    }
    if testing::skip_unless_root("to become a user of its own with few processes") {
        return;
    }
    // The timeout is long enough for correct clients on a machine that has other work.
    let setting = Setting::of("http").timeout_ms(4_000);
    let setting = Setting { processes: Some(20), ..setting };
    let mut server = setting.start(architecture);
    let mut dice = Dice::new(7);
    let script = |n: usize| match n {
        0..40 => vec![Step::send(b"GET"), Step::UntilClosed],
        _ => good(setting.protocol, &mut dice),
    };
    let ends = call(&server, 100, each(400, script));
    all_done(&ends, "with 20 processes");
    let short = server.report().expect("the server runs").no_process;
    assert!(short > 0, "it was never short of processes");
    stop(server);
}

fn stop_under_load(architecture: &Architecture) {
    let probe = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).expect("a port");
    if !platform::socket::server::ignore_new(&probe) {
        return testing::skip("root: nobody else may filter a socket here");
    }
    for_each_of(&["450", "450", "http", "http", "echo:100", "http-close"], |protocol| {
        let setting = Setting::of(protocol).timeout_ms(15_000);
        let server = setting.start(architecture);
        let calls = Calls::to(&server, 50);
        let over = AtomicBool::new(false);
        let ends = std::thread::scope(|scope| {
            let clients = scope.spawn(|| {
                let mut dice = Dice::new(8);
                let more = || !over.load(Ordering::SeqCst);
                calls.make(|| more().then(|| good(setting.protocol, &mut dice)))
            });
            // The stop comes in the middle: some clients are served by then.
            testing::until(|| calls.connected() >= 200);
            let stopped = server.stop();
            over.store(true, Ordering::SeqCst);
            let ends = clients.join().expect("no panic");
            stopped.expect("the server stops");
            ends
        });
        let connected = ends.into_iter().filter(|end| *end != Outcome::NotConnected);
        let connected: Vec<Outcome> = connected.collect();
        all_done(&connected, protocol);
        assert!(!connected.is_empty(), "{protocol}: no client was served");
    });
}

/// The server must end after the timeout, although some clients are silent and others never stop: [`Hosted::stop`] fails if it
/// has not ended after 15 s.
fn stop_while_clients_stay(architecture: &Architecture) {
    const WORKERS: usize = 4;
    let setting = Setting::of("echo:10").timeout_ms(1_000).workers(WORKERS);
    let server = setting.start(architecture);
    let calls = Calls::to(&server, 6);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let request = Step::talk(b"0123456789", b"0123456789");
            let silent = vec![request.clone(), Step::Count, Step::send(b"x"), Step::UntilClosed];
            let again = [request.clone(), Step::Wait(Duration::from_millis(20))];
            let again = std::iter::repeat_n(again, 1_000).flatten(); // at least 20 s
            let endless: Vec<Step> = [request, Step::Count].into_iter().chain(again).collect();
            calls.make(each(6, |n| if n < 2 { silent.clone() } else { endless.clone() }))
        });
        // All workers are taken.
        testing::until(|| calls.counted() >= WORKERS);
        stop(server);
    });
}

fn nothing_leaks(architecture: &Architecture) {
    let soak = std::env::var("OSCOST_SOAK")
        .ok()
        .map(|count| count.parse().expect("OSCOST_SOAK is a number"));
    let usual = if ["fork", "exec"].contains(&architecture.name) { 1_000 } else { 4_000 };
    let count: usize = soak.unwrap_or(usual);
    let setting = Setting::of("http-close").timeout_ms(1_000);
    let server = setting.start(architecture);
    let mut dice = Dice::new(9);
    let mut script = |n: usize| match n % 1_000 {
        0..20 => resetting(setting.protocol, &mut dice),
        20..40 => half_closing(setting.protocol, &mut dice),
        40..60 => garbage(&mut dice),
        60 => slow(setting.protocol, &mut dice, n / 1_000),
        _ => vec![Step::talk(GET, UNAVAILABLE_CLOSE), Step::End],
    };
    let mut held_after = |count: usize| {
        let within = PATIENCE + Duration::from_millis(count as u64 * 5);
        let calls = Calls::to(&server, 30).within(within);
        let began = Instant::now();
        all_done(&calls.make(each(count, &mut script)), "clients");
        (quiet(&server), began.elapsed())
    };
    let (before, _) = held_after(count / 10);
    let (after, took) = held_after(count);
    if soak.is_some() {
        println!(
            "{:14} {count:>9} {:>7.0} {:>5} {:>5} {:>5} {:>5} {:>8} {:>8}",
            architecture.name,
            took.as_secs_f64(),
            before.descriptors,
            after.descriptors,
            before.processes,
            after.processes,
            before.memory_kib,
            after.memory_kib
        );
    }
    assert_eq!(after.descriptors, before.descriptors, "descriptors");
    assert_eq!(after.processes, before.processes, "processes");
    // Each process writes to a few shared pages late, which takes memory in proportion to the number of processes, but is
    // no leak.
    let allowed = 1_024 + 32 * after.processes as u64;
    let grown = after.memory_kib.saturating_sub(before.memory_kib);
    assert!(grown <= allowed, "memory grew by {grown} KiB, from {before:?} to {after:?}");
    stop(server);
}

/// The resources of a server when they have not changed for a while; before, the last connections may be ending.
fn quiet(server: &Hosted) -> Held {
    let mut last = Held::by(server.pid());
    for _ in 0..50 {
        std::thread::sleep(Duration::from_millis(100));
        let now = Held::by(server.pid());
        if std::mem::replace(&mut last, now) == now {
            break;
        }
    }
    last
}

fn idle_is_idle(architecture: &Architecture) {
    let mut server = Setting::of("http").start(architecture);
    let share = cpu_share(&mut server, Duration::from_secs(1));
    assert!(share < 0.02, "without clients it uses {share:.3} of a CPU");
    const CLIENTS: usize = 20;
    let calls = Calls::to(&server, CLIENTS);
    std::thread::scope(|scope| {
        let clients = scope.spawn(|| {
            let idle = vec![Step::talk(GET, UNAVAILABLE), Step::Count, Step::UntilClosed];
            calls.make(each(CLIENTS, |_| idle.clone()))
        });
        testing::until(|| calls.counted() == CLIENTS);
        let share = cpu_share(&mut server, Duration::from_secs(1));
        assert!(share < 0.02, "with idle clients it uses {share:.3} of a CPU");
        assert!(!clients.is_finished(), "idle clients were disconnected");
        server.end_now().expect("it is killed");
        all_done(&clients.join().expect("no panic"), "idle clients");
    });
}

fn nothing_survives_a_kill(architecture: &Architecture) {
    let server = Setting::of("http").workers(8).start(architecture);
    let calls = Calls::to(&server, 5);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let held = vec![Step::send(b"GET"), Step::UntilClosed];
            calls.make(each(5, |_| held.clone()))
        });
        testing::until(|| calls.connected() == 5);
        let processes = match architecture.name {
            // A process for each connection.
            "fork" | "exec" => 5,
            // A process for each worker.
            "prefork" => 8,
            _ => 0,
        };
        testing::until(|| descendants(server.pid()).len() == processes);
        let below = descendants(server.pid());
        // SAFETY: our own child, not waited for yet.
        unsafe { libc::kill(server.pid() as libc::pid_t, libc::SIGKILL) };
        testing::until(|| !below.iter().any(|&pid| runs(pid)));
    });
}
