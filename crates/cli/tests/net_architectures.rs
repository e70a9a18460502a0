//! Every architecture that this system has, as `oscost net serve`: clients one after another and at a time get the replies of
//! each protocol, and an idle client is closed.

mod common;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use common::Bench;
use common::hosted::Hosted;

const TOO_BUSY: &[u8] = b"450 too busy\r\n";
const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n";
const UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\ntoo busy\n";
const UNAVAILABLE_LAST: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo busy\n";
const WORD: &[u8; 16] = b"sixteen-letters.";

/// The entries of the list of architectures, each in one line with single spaces: further lines of an entry are indented.
fn entries(list: &str) -> Vec<String> {
    let lines = list.replace("\n ", " ");
    lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The names of the architectures that this system supports.
fn here(list: &str) -> Vec<String> {
    let entries = entries(list);
    let here = entries.iter().filter(|entry| !entry.contains("(unsupported here: "));
    here.filter_map(|entry| entry.split(' ').next()).map(str::to_owned).collect()
}

/// Starts a server of each architecture, one after another, and checks it.
#[track_caller]
fn for_each(options: &str, check: impl Fn(&str, Hosted)) {
    let bench = Bench::new();
    for name in names(&bench) {
        println!("{name} {options}");
        check(&name, start(&bench, &name, options));
    }
}

/// Starts a server of each architecture and checks all at once, for checks that mostly wait.
#[track_caller]
fn for_all_at_once(options: &str, check: impl Fn(&str, Hosted) + Sync) {
    let bench = Bench::new();
    let names = names(&bench);
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| check(name, start(&bench, name, options)));
        }
    });
}

#[track_caller]
fn names(bench: &Bench) -> Vec<String> {
    let list = bench.oscost("net serve --list").with(0).out;
    let names = here(&list);
    assert!(!names.is_empty(), "{list}");
    names
}

#[track_caller]
fn start(bench: &Bench, name: &str, options: &str) -> Hosted {
    // If a worker serves one client at a time, there are enough workers for all of these tests' clients.
    Hosted::start(bench, &format!("net serve --arch {name} --workers 64 {options}"))
}

fn connect(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    stream
}

#[track_caller]
fn expect(stream: &mut TcpStream, reply: &[u8]) {
    let mut read = vec![0; reply.len()];
    stream.read_exact(&mut read).expect("a whole reply");
    assert!(read == reply, "{:?}", String::from_utf8_lossy(&read[..read.len().min(200)]));
}

#[track_caller]
fn ends(stream: &mut TcpStream) {
    match stream.read(&mut [0]) {
        Ok(0) => {}
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
            ) => {}
        other => panic!("it does not end: {other:?}"),
    }
}

/// Opens `connections` connections at once, and sends a number of requests over each.
#[track_caller]
fn talk(to: SocketAddr, connections: usize, request: &[u8], times: usize, reply: &[u8]) {
    let mut streams: Vec<TcpStream> = (0..connections).map(|_| connect(to)).collect();
    for _ in 0..times {
        streams.iter_mut().for_each(|stream| stream.write_all(request).expect("it reads"));
        streams.iter_mut().for_each(|stream| expect(stream, reply));
    }
    if request.is_empty() {
        streams.iter_mut().for_each(ends);
    }
}

#[track_caller]
fn talk_one_after_another(
    to: SocketAddr,
    clients: usize,
    request: &[u8],
    times: usize,
    reply: &[u8],
) {
    (0..clients).for_each(|_| talk(to, 1, request, times, reply));
}

#[test]
fn the_list_names_what_this_system_lacks_with_the_reason() {
    let list = Bench::new().oscost("net serve --list").with(0).out;
    let here = here(&list);
    let entries = entries(&list);
    let is_said = |reason: &str| entries.iter().any(|entry| entry.contains(reason));
    assert!(is_said("(unsupported here: "), "{list}");
    if cfg!(windows) {
        let mut names = here.clone();
        names.sort_unstable();
        assert_eq!(names, ["iocp", "pool", "select", "threads", "tokio", "wsapoll"]);
        assert!(is_said("(unsupported here: Windows has no fork)"), "{list}");
    } else {
        let has = |name: &str| here.iter().any(|here| here == name);
        assert!(has("fork") && has("threads") && !has("iocp"), "{list}");
    }
}

#[test]
fn each_client_gets_its_450() {
    for_each("--protocol 450", |_, server| {
        talk_one_after_another(server.address, 50, b"", 1, TOO_BUSY);
        talk(server.address, 50, b"", 1, TOO_BUSY);
        let report = server.stop();
        assert!(report["cpu_ns"].is_u64(), "{report}");
    });
}

#[test]
fn each_client_gets_a_reply_to_each_request() {
    for_each("--protocol http", |_, server| {
        talk_one_after_another(server.address, 50, GET, 2, UNAVAILABLE);
        talk(server.address, 50, GET, 2, UNAVAILABLE);
        server.stop();
    });
}

#[test]
fn a_server_announces_the_end_of_a_connection() {
    for_each("--protocol http-close", |_, server| {
        let mut client = connect(server.address);
        client.write_all(GET).expect("it reads");
        expect(&mut client, UNAVAILABLE_LAST);
        ends(&mut client);
        server.stop();
    });
}

#[test]
fn echoes_come_back_long_and_short() {
    let long = WORD.repeat(1024);
    for_each("--protocol echo:16384", |_, server| {
        talk(server.address, 4, &long, 2, &long);
        talk(server.address, 50, WORD, 2, WORD);
        server.stop();
    });
}

#[test]
fn an_idle_client_is_closed_and_does_not_keep_a_server_from_stopping() {
    for_all_at_once("--protocol echo:16 --timeout 1500ms", |name, server| {
        let mut idle = connect(server.address);
        talk_one_after_another(server.address, 5, WORD, 2, WORD);
        ends(&mut idle);
        drop(idle);
        let mut idle = connect(server.address);
        let report = server.stop();
        ends(&mut idle);
        // A program that is started for each connection cannot report the error.
        if name != "exec" {
            let timed_out = report["timed_out"].as_u64();
            assert!(matches!(timed_out, Some(1 | 2)), "{name}: {report}");
        }
    });
}
