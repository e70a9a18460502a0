//! Small servers, correct and faulty.
#![allow(dead_code, reason = "each test program uses a part of this")]

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};

fn listening() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = listener.local_addr().expect("an address");
    (listener, to)
}

/// Starts a server that serves one connection after the other, and then closes it.
pub fn serving(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let (listener, to) = listening();
    std::thread::spawn(move || listener.incoming().flatten().for_each(serve));
    to
}

/// Starts a server that serves each connection in a thread, and then closes it.
pub fn answering(serve: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let serve = Arc::new(serve);
    serving(move |mut stream| {
        let serve = Arc::clone(&serve);
        std::thread::spawn(move || serve(&mut stream));
    })
}

/// Starts a server that sends back received bytes, and counts connections.
pub fn echoing(accepted: Arc<AtomicUsize>) -> SocketAddr {
    answering(move |stream| {
        accepted.fetch_add(1, Ordering::Relaxed);
        let mut buffer = [0; 4096];
        while let Ok(count) = stream.read(&mut buffer)
            && count > 0
            && stream.write_all(&buffer[..count]).is_ok()
        {}
    })
}

/// Starts a server that resets each connection after it has received something.
pub fn resetting() -> SocketAddr {
    serving(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let socket = socket2::SockRef::from(&stream);
        socket.set_linger(Some(Duration::ZERO)).expect("a socket's option");
    })
}

/// An address at which nothing listens.
pub fn closed_port() -> SocketAddr {
    listening().1
}

/// Reads to the end of a request's head; returns false at the end of the connection.
pub fn reading_head(stream: &mut TcpStream) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// Sends back received bytes on thousands of connections; prints its port, and ends with standard input.
pub fn echo_server_of_thousands() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(0);
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket's option");
    println!("\nport {}", listener.local_addr().expect("an address").port());
    let mut listener = mio::net::TcpListener::from_std(listener);
    let mut poll = Poll::new().expect("epoll");
    poll.registry().register(&mut listener, Token(0), Interest::READABLE).expect("registered");
    let (mut streams, mut next) = (HashMap::new(), 1);
    let (mut events, mut buffer) = (Events::with_capacity(1024), [0; 4096]);
    loop {
        match poll.poll(&mut events, None) {
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            polled => polled.expect("events"),
        }
        for event in &events {
            if event.token() == Token(0) {
                while let Ok((mut stream, _)) = listener.accept() {
                    let token = Token(next);
                    next += 1;
                    poll.registry().register(&mut stream, token, Interest::READABLE).expect("ok");
                    streams.insert(token, stream);
                }
            } else if let Some(stream) = streams.get_mut(&event.token()) {
                loop {
                    match stream.read(&mut buffer) {
                        Ok(count) if count > 0 => drop(stream.write_all(&buffer[..count])),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                        _ => {
                            streams.remove(&event.token());
                            break;
                        }
                    }
                }
            }
        }
    }
}
