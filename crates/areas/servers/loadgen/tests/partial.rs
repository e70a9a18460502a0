//! A test of the memory for incomplete replies. It is that of the process, so that no other test is in this program.
#![cfg(unix)]

mod support;

use std::io::{Read, Write};
use std::time::Duration;

use loadgen::{ErrorKind, Generator, Load};
use support::{answering, reading_head};

/// Size of the incomplete replies: just not too long for one reply.
const PART: usize = 60_000;
/// More such replies than 64 MiB are enough for.
const CONNECTIONS: usize = 1_500;

#[test]
fn incomplete_replies_are_bounded_together() {
    if testing::skip_unless(
        platform::process::limits::raise_descriptors().is_none_or(|most| most > 3_200),
        "needs 3,200 descriptors",
    ) {
        return;
    }
    let to = answering(|stream| {
        if reading_head(stream) {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", PART + 1);
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&vec![b'x'; PART]);
            let _ = stream.read(&mut [0]); // until the client closes
        }
    });
    let load = Load {
        status: Some(200),
        timeout: Duration::from_secs(600),
        ..Load::new(to, "http".parse().unwrap())
    };
    let mut generator = Generator::new(load).unwrap();
    let mut wrong = None;
    testing::until(|| {
        let step = generator.step(CONNECTIONS, Duration::from_millis(500)).unwrap();
        if step.errors.count(ErrorKind::WrongReply) > 0 {
            wrong = step.errors.first_wrong;
        }
        wrong.is_some()
    });
    assert_eq!(wrong.as_deref(), Some("it is one of too many that are not complete"));
}
