//! A server that is killed, connections that are cut: nothing is lost, and nothing is there twice.

use std::fmt;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use results::store::{Sending, Sent};
use results::{CaseResult, RoundRow, Store, StoreError};
use shared_store::{Access, Grants, init, open, open_now_or_later};
use testing::postgres::{OWNER, PASSWORD, Server};

use crate::battery::{machine, measured, round, run};
use crate::proxy::Proxy;

pub const TESTS: [(&str, fn()); 4] = [
    ("kills_of_the_server_and_cut_connections_lose_and_double_nothing", kills_and_cuts),
    ("a_run_without_its_server_goes_on_and_is_sent_later", without_the_server),
    ("a_server_that_never_answers_is_asked_once_before_a_run", never_answers),
    ("what_is_given_up_holds_no_lock", given_up),
];

const NIGHT: &str = "2026-11-21T20:36:55Z";

/// How much is written, and how often the server is killed meanwhile.
pub struct Extent {
    pub writers: usize,
    /// Runs of each writer, one after the other.
    pub runs: usize,
    pub rounds: u64,
    pub results: usize,
    pub kills: u32,
    /// A connection is cut after at most that many bytes.
    pub bytes: u64,
}

/// What happened.
pub struct Outcome {
    took: Duration,
    cuts: u32,
    /// Runs that could not be delivered when they ended, and were sent later.
    sent_later: usize,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { took, cuts, sent_later } = self;
        write!(f, "{cuts} connections cut, {sent_later} runs sent later, {took:.0?}")
    }
}

fn kills_and_cuts() {
    let extent = Extent { writers: 4, runs: 2, rounds: 40, results: 60, kills: 3, bytes: 60_000 };
    if let Some(outcome) = written_meanwhile(&extent) {
        assert!(outcome.cuts > 0, "no connection was cut");
        println!("{outcome}");
    }
}

/// Sends after each round, so that most of the time something is under way when the connection breaks.
const EAGER: Sending = Sending {
    every: Duration::ZERO,
    patience: Duration::from_secs(5),
    pause: Duration::ZERO,
    patience_at_end: Duration::from_secs(1),
};

fn result(run: usize, n: usize) -> CaseResult {
    measured(&format!("area{}/case-{n}", n / 40), (run * 1000 + n) as f64 + 0.5)
}

fn results_of(run: usize, count: usize) -> Vec<CaseResult> {
    (0..count).map(|n| result(run, n)).collect()
}

/// Writers write runs by a proxy that cuts connections, while the server is killed and started again; then all of it is
/// compared with what they wrote. `None` where there is no PostgreSQL.
pub fn written_meanwhile(extent: &Extent) -> Option<Outcome> {
    let mut server = Server::start("")?;
    let began = Instant::now();
    let owner_url = server.socket_url(OWNER, "postgres");
    init(&owner_url, &Grants::default()).expect("a new store");
    let proxy = Proxy::start(server.port(), extent.bytes, 7);
    let url = format!("postgres://{OWNER}:{PASSWORD}@127.0.0.1:{}/postgres", proxy.port());
    let folder = tempfile::tempdir().expect("a folder");
    let (done, runs_done) = channel();
    let sent_later = thread::scope(|scope| {
        let writers: Vec<_> = (0..extent.writers)
            .map(|writer| {
                let (url, done) = (&url, done.clone());
                let journals = folder.path().join(writer.to_string());
                scope.spawn(move || write(url, &journals, writer, extent, &done))
            })
            .collect();
        drop(done);
        // The kills are spread over the runs.
        let total = (extent.writers * extent.runs) as u32;
        let mut seen = 0;
        for kill in 0..extent.kills {
            let until = total * (2 * kill + 1) / (2 * extent.kills + 1);
            while seen < until && runs_done.recv().is_ok() {
                seen += 1;
            }
            server.kill();
            server.run();
        }
        writers.into_iter().map(|writer| writer.join().expect("no panic")).sum()
    });
    let cuts = proxy.stop_cutting();
    let outcome = Outcome { took: began.elapsed(), cuts, sent_later };
    // All journals are gone: what is missing in the server now would be lost.
    let store = open(&owner_url, Access::Read).expect("opens");
    assert_eq!(store.runs().expect("runs").len(), extent.writers * extent.runs);
    let rounds: Vec<RoundRow> = (0..extent.rounds).map(round).collect();
    for writer in 0..extent.writers {
        for nth in 0..extent.runs {
            let id = format!("run-{writer}-{nth}");
            assert_eq!(store.rounds(&id).expect("rounds"), rounds, "{id}");
            let document = store.document(&id).expect("a document");
            assert_eq!(document.results, results_of(nth, extent.results), "{id}");
            assert_eq!(document.run.finished.as_deref(), Some(NIGHT));
        }
    }
    let counted = store.runs().expect("runs").into_iter().map(|run| run.rounds).sum::<u64>();
    assert_eq!(counted, (extent.writers * extent.runs) as u64 * extent.rounds);
    Some(outcome)
}

/// Opens the store, however often the connection is cut meanwhile.
fn opened(url: &str, journals: &Path, sending: Sending) -> Store {
    let store = testing::until_some(|| match open(url, Access::Write) {
        Err(StoreError::Lost { .. }) => None,
        other => Some(other.expect("opens")),
    });
    store.with_journals(journals.to_owned(), sending)
}

/// Writes the runs of one writer; returns how many of them were sent later.
fn write(url: &str, journals: &Path, writer: usize, extent: &Extent, done: &Sender<()>) -> usize {
    let mut later = 0;
    let mut store = opened(url, journals, EAGER);
    for nth in 0..extent.runs {
        let id = format!("run-{writer}-{nth}");
        store.begin_run(&run(&id, NIGHT), &machine(), "{}").expect("begins in its journal");
        for seq in 0..extent.rounds {
            store.add_round(&id, &round(seq)).expect("kept in its journal");
        }
        store.put_results(&id, &results_of(nth, extent.results)).expect("kept");
        store.finish_run(&id, NIGHT).expect("kept");
        store.deliver(&id).expect("kept at least");
        later += usize::from(store.undelivered(&id).is_some());
        // Nobody listens after the last kill.
        let _ = done.send(());
    }
    // As `oscost sync` does, in another process.
    drop(store);
    let store = opened(url, journals, Sending::default());
    testing::until(|| {
        let unsent = store.unsent().expect("readable");
        for id in &unsent {
            match store.sync_run(id) {
                Ok(sent) => assert_eq!(sent, Sent::Whole),
                Err(StoreError::Lost { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        unsent.is_empty()
    });
    later
}

fn without_the_server() {
    let Some(mut server) = Server::start("") else { return };
    let url = server.socket_url(OWNER, "postgres");
    init(&url, &Grants::default()).expect("a new store");
    let folder = tempfile::tempdir().expect("a folder");
    let journaled = || {
        let store = open(&url, Access::Write).expect("opens");
        store.with_journals(folder.path().to_owned(), EAGER)
    };
    let mut store = journaled();
    store.begin_run(&run("a", NIGHT), &machine(), "{\"plan\": 1}").expect("begins");
    store.add_round("a", &round(0)).expect("kept and sent");
    server.kill();
    store.add_round("a", &round(1)).expect("kept");
    // Whoever goes on with the run has all of it.
    assert_eq!(store.unfinished().expect("one"), Some("a".to_owned()));
    assert_eq!(store.rounds("a").expect("rounds"), [round(0), round(1)]);
    assert_eq!(store.plan("a").expect("a plan").as_deref(), Some("{\"plan\": 1}"));
    store.begin_run(&run("empty", NIGHT), &machine(), "").expect("begins");
    store.delete_run("empty").expect("deleted here");
    store.put_results("a", &[measured("lock/futex", 20.0)]).expect("kept");
    store.add_quiet_level("key", 0.5, 1.0).expect("no run waits for it");
    store.finish_run("a", NIGHT).expect("kept");
    store.deliver("a").expect("kept");
    let why = store.undelivered("a").expect("undelivered");
    assert!(why.contains("cannot be reached"), "{why}");
    assert_eq!(store.unsent().expect("both"), ["a", "empty"]);
    drop(store);
    server.run();
    // The first round was acknowledged before the kill.
    assert_eq!(server.sql("postgres", "SELECT count(*) FROM oscost.packed_rounds"), "1");
    let store = journaled();
    assert_eq!(store.sync_run("empty").expect("sent"), Sent::Deleted);
    assert_eq!(store.sync_run("a").expect("sent"), Sent::Whole);
    assert_eq!(store.unsent().expect("none"), [""; 0]);
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    assert_eq!(store.rounds("a").expect("rounds"), [round(0), round(1)]);
    // The same run twice is one; another run of its id is refused before it is measured.
    let mut store = store;
    store.begin_run(&run("a", NIGHT), &machine(), "{\"plan\": 1}").expect("begins");
    store.add_round("a", &round(0)).expect("kept");
    store.add_round("a", &round(1)).expect("kept");
    store.put_results("a", &[measured("lock/futex", 20.0)]).expect("kept");
    store.finish_run("a", NIGHT).expect("kept");
    assert_eq!(store.sync_run("a").expect("sent"), Sent::Whole);
    let other = run("a", "2026-11-22T00:00:00Z");
    let error = store.begin_run(&other, &machine(), "{}").expect_err("another run");
    assert!(matches!(error, StoreError::RunDiffers { .. }), "{error}");
    assert_eq!(store.unsent().expect("none"), [""; 0]);
    assert_eq!(server.sql("postgres", "SELECT count(*) FROM oscost.packed_rounds"), "2");
}

/// A run begins without its server, whether that refuses connections, or takes them and never answers. It is asked once, for at most
/// ten seconds, and again only to send something.
fn never_answers() {
    for is_there in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let asked = AtomicU32::new(0);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let (asked, is_over) = (&asked, &is_over);
            match is_there {
                false => drop(listener),
                true => drop(scope.spawn(move || {
                    let mut kept = Vec::new();
                    for client in listener.incoming() {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        asked.fetch_add(1, Ordering::Relaxed);
                        kept.push(client);
                    }
                })),
            }
            let folder = tempfile::tempdir().expect("a folder");
            let url = format!("postgres://ann@127.0.0.1:{port}/perf");
            let sending = Sending {
                every: Duration::from_secs(3600),
                patience_at_end: Duration::from_secs(1),
                ..EAGER
            };
            let store = open_now_or_later(&url).expect("later");
            let mut store = store.with_journals(folder.path().to_owned(), sending);
            store.multiplication_cycles("cpu").expect_err("no server");
            let levels = store.quiet_levels("key", "a", 9);
            assert_eq!(store.if_reached(levels).expect("none"), []);
            store.begin_run(&run("a", NIGHT), &machine(), "{}").expect("begins");
            let earlier = store.latest_machines("a", 9);
            assert_eq!(store.if_reached(earlier).expect("none"), []);
            store.add_round("a", &round(0)).expect("kept");
            store.put_results("a", &[measured("lock/futex", 20.0)]).expect("kept");
            store.add_quiet_level("key", 0.5, 1.0).expect("no run waits for it");
            store.finish_run("a", NIGHT).expect("kept");
            assert_eq!(asked.load(Ordering::Relaxed), u32::from(is_there));
            // What a command names is looked up here first; what is not here needs the server.
            assert_eq!(store.resolve("a").expect("in its journal"), "a");
            let error = store.resolve("last").expect_err("no server");
            assert!(matches!(error, StoreError::Lost { .. }), "{error}");
            store.deliver("a").expect("kept");
            let why = store.undelivered("a").expect("undelivered");
            let expected = if is_there { "did not answer" } else { "cannot be reached" };
            assert!(why.contains(expected), "{why}");
            assert_eq!(store.unsent().expect("one"), ["a"]);
            assert!(!is_there || asked.load(Ordering::Relaxed) > 1, "it is asked again to send");
            is_over.store(true, Ordering::Relaxed);
            let _ = TcpStream::connect(("127.0.0.1", port));
        });
    }
}

/// A statement that is not answered in time is given up, and with it the transaction: its locks do not wait for the next statement.
fn given_up() {
    let Some(server) = Server::start("") else { return };
    let url = server.socket_url(OWNER, "postgres");
    init(&url, &Grants::default()).expect("a new store");
    let folder = tempfile::tempdir().expect("a folder");
    let impatient = Sending { patience: Duration::from_millis(300), ..EAGER };
    let store = open(&url, Access::Write).expect("opens");
    let mut store = store.with_journals(folder.path().to_owned(), impatient);
    store.begin_run(&run("a", NIGHT), &machine(), "{}").expect("begins");
    store.add_round("a", &round(0)).expect("sent");
    // Another transaction holds up the next round, in the middle of this store's.
    let lock =
        "BEGIN; LOCK TABLE oscost.packed_rounds IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(100)";
    thread::scope(|scope| {
        let holder = scope.spawn(|| server.try_sql("postgres", lock));
        let which = |what: &str| format!("FROM pg_stat_activity WHERE {what}");
        let count =
            |what: &str| server.sql("postgres", &format!("SELECT count(*) {}", which(what)));
        testing::until(|| count("wait_event = 'PgSleep'") == "1");
        store.add_round("a", &round(1)).expect("kept in its journal");
        let of_store = "application_name = 'oscost' AND xact_start IS NOT NULL";
        assert_eq!(count(&format!("{of_store} AND wait_event_type = 'Lock'")), "1");
        let end = format!("SELECT pg_terminate_backend(pid) {}", which("wait_event = 'PgSleep'"));
        server.sql("postgres", &end);
        holder.join().expect("it ends").expect_err("terminated");
        testing::until(|| count(of_store) == "0");
    });
    assert!(!server.log().contains("idle-in-transaction timeout"), "{}", server.log());
}
