//! A name server for tests with a zone of its own, on loopback, by UDP and TCP on the same port.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::{A, AAAA, CNAME, MX, SOA, TXT};
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

/// The answer for a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Answer<'a> {
    Mx(&'a [(u16, &'a str)]),
    A(&'a [&'a str]),
    Aaaa(&'a [&'a str]),
    Both(&'a str, &'a str),
    Cname(&'a str),
    /// A TXT record only: the name exists, but mail cannot be sent to it.
    Txt,
    /// SERVFAIL.
    Broken,
    /// No answer.
    Silence,
    /// A truncated answer by UDP, and these MX records by TCP.
    Truncated(&'a [(u16, &'a str)]),
}

/// An [`Answer`] in the form in which it is sent.
enum Say {
    Records(Vec<RData>),
    Long(Vec<RData>),
    Broken,
    Silence,
}

#[derive(Default)]
struct QueryLog {
    /// Number of queries for each name, of any type.
    asked: Mutex<HashMap<String, usize>>,
    by_tcp: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    delay_ms: AtomicU64,
}

/// The server, whose threads stay until the test's process ends.
pub(super) struct NameServer {
    address: SocketAddr,
    seen: Arc<QueryLog>,
}

type Zone = HashMap<String, Say>;

impl NameServer {
    pub(super) fn start(zone: &[(&str, Answer<'_>)]) -> Self {
        let zone: Arc<Zone> = Arc::new(
            zone.iter().map(|(name, answer)| (format!("{name}."), say(*answer))).collect(),
        );
        let (udp, tcp) = sockets();
        let address = udp.local_addr().unwrap();
        let seen = Arc::new(QueryLog::default());
        let (z, s) = (Arc::clone(&zone), Arc::clone(&seen));
        std::thread::spawn(move || {
            for stream in tcp.incoming() {
                answer_stream(stream.unwrap(), &z, &s);
            }
        });
        let s = Arc::clone(&seen);
        std::thread::spawn(move || answer_datagrams(&Arc::new(udp), &zone, &s));
        Self { address, seen }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn delay(&self, delay: Duration) {
        self.seen.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    pub(super) fn asked(&self, name: &str) -> usize {
        *self.seen.asked.lock().unwrap().get(&format!("{name}.")).unwrap_or(&0)
    }

    pub(super) fn most_asked(&self) -> usize {
        self.seen.asked.lock().unwrap().values().copied().max().unwrap_or(0)
    }

    pub(super) fn asked_by_tcp(&self) -> usize {
        self.seen.by_tcp.load(Ordering::Relaxed)
    }

    pub(super) fn most_in_flight(&self) -> usize {
        self.seen.most_in_flight.load(Ordering::Relaxed)
    }
}

/// Two sockets on the same port; another process may have the port for one of them.
fn sockets() -> (UdpSocket, TcpListener) {
    for _ in 0..100 {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both UDP and TCP");
}

fn name(text: &str) -> Name {
    Name::from_ascii(if text == "." { text.to_owned() } else { format!("{text}.") }).unwrap()
}

fn mx(servers: &[(u16, &str)]) -> Vec<RData> {
    servers.iter().map(|&(preference, host)| RData::MX(MX::new(preference, name(host)))).collect()
}

fn say(answer: Answer<'_>) -> Say {
    let a = |text: &str| RData::A(A(text.parse().unwrap()));
    let aaaa = |text: &str| RData::AAAA(AAAA(text.parse().unwrap()));
    Say::Records(match answer {
        Answer::Mx(servers) => mx(servers),
        Answer::A(addresses) => addresses.iter().map(|text| a(text)).collect(),
        Answer::Aaaa(addresses) => addresses.iter().map(|text| aaaa(text)).collect(),
        Answer::Both(four, six) => vec![a(four), aaaa(six)],
        Answer::Cname(other) => vec![RData::CNAME(CNAME(name(other)))],
        Answer::Txt => vec![RData::TXT(TXT::new(vec!["no mail here".to_owned()]))],
        Answer::Truncated(servers) => return Say::Long(mx(servers)),
        Answer::Broken => return Say::Broken,
        Answer::Silence => return Say::Silence,
    })
}

fn answer_datagrams(socket: &Arc<UdpSocket>, zone: &Zone, seen: &Arc<QueryLog>) {
    let mut query = [0; 4096];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut query) else { continue };
        let now = seen.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        seen.most_in_flight.fetch_max(now, Ordering::Relaxed);
        let reply = answer(&query[..length], zone, seen, false);
        let delay = Duration::from_millis(seen.delay_ms.load(Ordering::Relaxed));
        let finish = {
            let (socket, seen) = (Arc::clone(socket), Arc::clone(seen));
            move || {
                seen.in_flight.fetch_sub(1, Ordering::Relaxed);
                if let Some(reply) = reply {
                    socket.send_to(&reply, from).unwrap();
                }
            }
        };
        if delay.is_zero() {
            finish();
        } else {
            std::thread::spawn(move || {
                // The delay is what the test has asked for.
                std::thread::sleep(delay);
                finish();
            });
        }
    }
}

fn answer_stream(mut stream: TcpStream, zone: &Zone, seen: &QueryLog) {
    let mut length = [0; 2];
    while stream.read_exact(&mut length).is_ok() {
        let mut query = vec![0; u16::from_be_bytes(length).into()];
        if stream.read_exact(&mut query).is_err() {
            return;
        }
        seen.by_tcp.fetch_add(1, Ordering::Relaxed);
        let Some(reply) = answer(&query, zone, seen, true) else { return };
        let length = u16::try_from(reply.len()).unwrap().to_be_bytes();
        if stream.write_all(&[&length[..], &reply].concat()).is_err() {
            return;
        }
    }
}

fn answer(query: &[u8], zone: &Zone, seen: &QueryLog, by_tcp: bool) -> Option<Vec<u8>> {
    let query = Message::from_vec(query).ok()?;
    let question = query.queries.first()?.clone();
    let asked = question.name().to_lowercase().to_ascii();
    *seen.asked.lock().unwrap().entry(asked.clone()).or_default() += 1;
    let mut reply = Message::response(query.metadata.id, query.metadata.op_code);
    reply.metadata.recursion_desired = true;
    reply.metadata.recursion_available = true;
    reply.add_query(question.clone());
    match zone.get(&asked) {
        Some(Say::Silence) => return None,
        Some(Say::Broken) => reply.metadata.response_code = ResponseCode::ServFail,
        Some(Say::Long(_)) if !by_tcp => reply.metadata.truncation = true,
        Some(Say::Records(data) | Say::Long(data)) => {
            add_records(&mut reply, zone, question.name(), question.query_type(), data);
        }
        None => reply.metadata.response_code = ResponseCode::NXDomain,
    }
    if reply.answers.is_empty() && !reply.metadata.truncation {
        let soa = SOA::new(name("ns.example"), name("hostmaster.example"), 1, 60, 60, 60, 0);
        reply.add_authority(Record::from_rdata(name("example"), 0, RData::SOA(soa)));
    }
    reply.to_vec().ok()
}

/// Adds the records of the requested type, and those that an alias leads to.
fn add_records(reply: &mut Message, zone: &Zone, of: &Name, kind: RecordType, data: &[RData]) {
    for data in data {
        if data.record_type() == kind {
            reply.add_answer(Record::from_rdata(of.clone(), 0, data.clone()));
        } else if let RData::CNAME(CNAME(other)) = data {
            reply.add_answer(Record::from_rdata(of.clone(), 0, data.clone()));
            if let Some(Say::Records(data)) = zone.get(&other.to_ascii()) {
                add_records(reply, zone, other, kind, data);
            }
        }
    }
}
