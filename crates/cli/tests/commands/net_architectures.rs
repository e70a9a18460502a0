//! Every architecture that this system has, as `oscost net serve`: clients one after another and at a time get the replies of
//! each protocol, and an idle client is closed.

use crate::common::{Bench, unbroken};

/// The entries of the list of architectures, each in one line with single spaces: further lines of an entry are indented.
fn entries(list: &str) -> Vec<String> {
    let lines = list.replace("\n ", " ");
    lines.lines().map(unbroken).collect()
}

/// The names of the architectures that this system supports.
fn here(list: &str) -> Vec<String> {
    let entries = entries(list);
    let here = entries.iter().filter(|entry| !entry.contains("(unsupported here: "));
    here.filter_map(|entry| entry.split(' ').next()).map(str::to_owned).collect()
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

/// On Linux, `cargo test -p oscost-servers --test conformance` has these scenarios for each architecture.
#[cfg(not(target_os = "linux"))]
mod replies {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::time::Duration;

    use super::here;
    use crate::common::hosted::Hosted;
    use crate::common::{Bench, at_once};

    const TOO_BUSY: &[u8] = b"450 too busy\r\n";
    const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n";
    const UNAVAILABLE: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\n\r\ntoo busy\n";
    const UNAVAILABLE_LAST: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo busy\n";
    const WORD: &[u8; 16] = b"sixteen-letters.";

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
        if request.is_empty() || reply == UNAVAILABLE_LAST {
            streams.iter_mut().for_each(ends);
        }
    }

    /// Requests of one client after another, and of several at once, and their replies.
    #[test]
    fn each_client_gets_a_reply_to_each_request() {
        let bench = Bench::new();
        let long = WORD.repeat(1024);
        let names = here(&bench.oscost("net serve --list").with(0).out);
        for name in &names {
            for (protocol, clients, request, times, reply) in [
                ("450", 50, &b""[..], 1, TOO_BUSY),
                ("http", 50, GET, 2, UNAVAILABLE),
                ("http-close", 1, GET, 1, UNAVAILABLE_LAST),
                ("echo:16384", 4, &long, 2, &long),
                ("echo:16384", 50, WORD, 2, WORD),
            ] {
                println!("{name} {protocol}");
                let server = start(&bench, name, &format!("--protocol {protocol}"));
                (0..clients).for_each(|_| talk(server.address, 1, request, times, reply));
                talk(server.address, clients, request, times, reply);
                let report = server.stop();
                assert!(report["cpu_ns"].is_u64(), "{report}");
            }
        }
    }

    #[test]
    fn an_idle_client_is_closed_and_does_not_keep_a_server_from_stopping() {
        let bench = Bench::new();
        let names = here(&bench.oscost("net serve --list").with(0).out);
        at_once(&names, |name| {
            let server = start(&bench, name, "--protocol echo:16 --timeout 1500ms");
            let mut idle = connect(server.address);
            (0..5).for_each(|_| talk(server.address, 1, WORD, 2, WORD));
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
}
