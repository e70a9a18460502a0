//! Runs into a PostgreSQL server, which this program starts: the commands work as on a file, the password appears nowhere, and a
//! server that is killed costs nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::linux::set_mode;
use crate::common::{
    Bench, Said, Says, entries, finish, kill, kills, needs, run_on, said_by, skip_unless, started,
    until,
};
use testing::postgres::{OWNER, PASSWORD, Server};

/// What is looked for: the beginning of all passwords here.
const SECRET: &str = "hunter2";
const CLAIMS: &str = r#"
[[claim]]
name = "clock-is-cheap"
sentence = "Reading the clock takes less than 1 ms."
a.case = "clock/std-instant"
relation = "< 1 ms"
"#;
const NODE: &str = "hunter2-node";
const RUN: &str = "run syscall/getppid clock/std-instant --budget 2s --tag place=shared";
/// A run that has not ended when it is seen to have begun, however busy the machine is.
const LONG: &str =
    "run syscall/getppid clock/std-instant --budget 15s --precision 0.01% --tag place=shared";

struct Shared {
    bench: Bench,
    server: Server,
}

impl Shared {
    /// A server with a store, for which the user `node` needs a password.
    fn new() -> Option<Self> {
        let shared = Self { server: Server::start("")?, bench: Bench::new() };
        let create = format!("CREATE ROLE node LOGIN PASSWORD '{NODE}'");
        shared.server.sql("postgres", &create);
        shared.init("postgres");
        Some(shared)
    }

    /// Makes a store in this database, into which `node` may write.
    fn init(&self, database: &str) {
        let url = self.server.tcp_url(OWNER, database);
        let init = format!("store init --writer node --store {url}");
        finish(self.bench.command(&init).env("PGPASSWORD", PASSWORD)).with(0);
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.bench.command(arguments);
        command
            .env("OSCOST_STORE", self.server.tcp_url("node", "postgres"))
            .env("OSCOST_JOURNALS", self.bench.path("journals"))
            .env("PGPASSWORD", NODE);
        command
    }

    fn oscost(&self, arguments: &str) -> Said {
        without_secret(finish(&mut self.command(arguments)))
    }

    /// The journals that are here.
    fn journals(&self) -> Vec<String> {
        let folders = self.bench.path("journals");
        if !folders.exists() {
            return Vec::new();
        }
        entries(&folders).iter().flat_map(|folder| entries(&folders.join(folder))).collect()
    }
}

#[track_caller]
fn without_secret(said: Said) -> Said {
    assert!(!said.out.contains(SECRET) && !said.err.contains(SECRET), "{}\n{}", said.err, said.out);
    said
}

/// Whether any process shows a password in its arguments. The server's own processes show none either.
fn is_in_a_process_list() -> bool {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    processes.into_iter().any(|process| {
        let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(SECRET)
    })
}

#[test]
fn all_commands_work_on_a_server_and_the_password_appears_nowhere() {
    let Some(shared) = Shared::new() else { return };
    let is_running = AtomicBool::new(true);
    let (ids, was_listed) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut was_listed = false;
            while is_running.load(Ordering::Relaxed) {
                was_listed |= is_in_a_process_list();
                thread::sleep(Duration::from_millis(5));
            }
            was_listed
        });
        let run = RUN.replace("2s", "60s --precision 50%");
        let runs = [&run, &run].map(|run| finish(&mut shared.command(run)));
        is_running.store(false, Ordering::Relaxed);
        let ids = runs.map(|said| without_secret(said).with(0).saved());
        (ids, watch.join().expect("no panic"))
    });
    assert!(!was_listed, "a process showed the password");
    assert_eq!(shared.journals(), [""; 0], "the server has all of it");
    let page = shared.bench.path("page.html");
    shared.bench.write("getppid.claims", CLAIMS);
    let commands = "runs;show;show place=shared;compare last~1 last --all;history --all;watch --all;export;\
                    export --format benchstat;sync;check getppid.claims last";
    for command in commands.split(';') {
        let said = shared.oscost(command);
        assert!(matches!(said.code, Some(0 | 3)), "{command}: {}", said.err);
    }
    let listed = shared.oscost("runs --json").with(0).out;
    assert!(ids.iter().all(|id| listed.contains(id.as_str())), "{listed}");
    shared.oscost(&format!("report -o {}", page.display())).with(0);
    assert!(!fs::read_to_string(&page).expect("a page").contains(SECRET));
    // What was exported elsewhere can be imported here; the same run twice is one.
    let exported = shared.oscost(&format!("export {} -o run.json", ids[0])).with(0);
    assert_eq!(exported.out, "");
    shared.oscost("import run.json").with(0).notes(&["unchanged"]);
    shared.bench.oscost("import run.json").with(0);
    let [here, there] =
        [shared.bench.oscost("export"), shared.oscost(&format!("export {}", ids[0]))];
    assert_eq!(here.json(), there.json());
    // All that is stored.
    for table in ["runs", "texts", "tags", "rounds", "oscost_runs", "oscost_points"] {
        let rows = shared.server.sql("postgres", &format!("SELECT * FROM oscost.{table}"));
        assert!(!rows.is_empty() && !rows.contains(SECRET), "{table}");
    }
    assert!(!shared.server.log().contains(SECRET));
    let count = "SELECT count(*) FROM oscost.oscost_points WHERE case_name = 'syscall/getppid' AND metric = 'time'";
    assert_eq!(shared.server.sql("postgres", count), "2");
    shared.oscost(&format!("runs --delete {}", ids[1])).with(0);
}

#[test]
fn a_wrong_or_typed_password_is_refused_without_showing_it() {
    let Some(shared) = Shared::new() else { return };
    let wrong = finish(shared.command("runs").env("PGPASSWORD", "hunter2-wrong"));
    without_secret(wrong).with(2).complains(&["PGPASSWORD", "postgres://node@127.0.0.1"]);
    let url = |password| shared.server.tcp_url(&format!("node:{password}"), "postgres");
    // Another test looks for the secret in the list of processes, where this one is.
    const TYPED: &str = "swordfish";
    for command in ["runs", "run syscall/getppid", "sync", "store init"] {
        let said = shared.oscost(&format!("{command} --store {}", url(TYPED)));
        assert!(!said.out.contains(TYPED) && !said.err.contains(TYPED), "{}", said.err);
        said.with(2).complains(&["every user", "PGPASSWORD"]);
    }
    // In the environment it is not in the list of processes.
    without_secret(finish(
        shared.command("runs").env_remove("PGPASSWORD").env("OSCOST_STORE", url(NODE)),
    ))
    .with(0);
    let file = shared.bench.write("passwords", &format!("*:*:*:node:{NODE}\n"));
    let with_file = || {
        let mut command = shared.command("runs");
        command.env_remove("PGPASSWORD").env("PGPASSFILE", &file);
        without_secret(finish(&mut command))
    };
    with_file().with(2).complains(&["chmod 600"]);
    set_mode(&file, 0o600);
    with_file().with(0);
    shared.oscost("sync --store x.sqlite").with(2).complains(&["a file needs no such command"]);
}

/// Waits until a run has journalled some rounds; returns its id.
fn begun(shared: &Shared) -> String {
    let mut begun = None;
    until("a run has begun", || {
        for folder in fs::read_dir(shared.bench.path("journals")).into_iter().flatten().flatten() {
            begun = begun.take().or_else(|| {
                entries(&folder.path()).iter().find_map(|name| {
                    let id = name.strip_suffix(".sqlite")?;
                    let journal = results::Store::open_read_only(&folder.path().join(name)).ok()?;
                    (journal.rounds(id).ok()?.len() >= 3).then(|| id.to_owned())
                })
            });
        }
        begun.is_some()
    });
    begun.expect("a run")
}

/// Whether the rounds that are stored of a run are as many as it says, and those of all runs together.
fn has_all_rounds(server: &Server, database: &str, id: &str) -> bool {
    let rounds = format!(
        "SELECT rounds = (SELECT count(*) FROM oscost.packed_rounds WHERE run = r.seq) \
         AND (SELECT sum(rounds) FROM oscost.runs) = (SELECT count(*) FROM oscost.packed_rounds) \
         FROM oscost.runs r WHERE id = '{id}'"
    );
    server.sql(database, &rounds) == "t"
}

#[test]
fn a_run_whose_server_is_killed_is_sent_later() {
    let Some(mut shared) = Shared::new() else { return };
    let run = started(&mut shared.command(LONG));
    let id = begun(&shared);
    shared.server.kill();
    let said = without_secret(said_by(run)).with(3);
    said.err.says(&["is saved on this machine only", "oscost sync", &id]);
    assert_eq!(shared.journals(), [format!("{id}.sqlite")]);
    shared.oscost("sync").with(3).complains(&["cannot be reached"]);
    shared.server.run();
    let sent = shared.oscost("sync").with(0);
    assert_eq!(sent.out, format!("{id}  sent\n"));
    assert_eq!(shared.journals(), [""; 0]);
    let document = shared.oscost("show --json").with(0).json();
    assert_eq!(document["run"]["id"], id.as_str());
    assert!(has_all_rounds(&shared.server, "postgres", &id));
}

/// A file system of 32 MB in memory, on which the server stores a database.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(server: &Server) -> Self {
        let folder = server.folder().join("small");
        fs::create_dir(&folder).expect("a folder");
        let made = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=32m,mode=700,uid=65534,gid=65534", "tmpfs"])
            .arg(&folder)
            .status();
        assert!(made.expect("mount starts").success(), "no file system");
        let disk = Self(folder);
        let place = disk.0.display();
        server.sql("postgres", &format!("CREATE TABLESPACE small LOCATION '{place}'"));
        server.sql("postgres", "CREATE DATABASE small TABLESPACE small");
        disk
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    fn fill(&self) {
        let mut filler = fs::File::create(self.filler()).expect("a file");
        let error = loop {
            if let Err(error) = filler.write_all(&[0; 4096]) {
                break error;
            }
        };
        assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // At once, although the server uses it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_run_whose_server_has_no_space_is_sent_later() {
    skip_unless!(needs::mounts());
    let Some(shared) = Shared::new() else { return };
    let disk = SmallDisk::mount(&shared.server);
    shared.init("small");
    let url = shared.server.tcp_url("node", "small");
    let command = |arguments: &str| {
        let mut command = shared.command(arguments);
        command.env("OSCOST_STORE", &url);
        command
    };
    let sync = || without_secret(finish(&mut command("sync")));
    // A new connection fails when its process cannot write its cache.
    let says_why = |said: &Said| {
        let reasons = ["No space left on device", "could not write init file"];
        assert!(reasons.iter().any(|reason| said.err.contains(reason)), "{}", said.err);
    };
    for is_full_before in [true, false] {
        if is_full_before {
            disk.fill();
        }
        let run = started(&mut command(LONG));
        let id = begun(&shared);
        if !is_full_before {
            disk.fill();
        }
        let said = without_secret(said_by(run)).with(3);
        says_why(&said);
        assert!(said.err.contains("oscost sync") && said.err.contains(&id), "{}", said.err);
        assert_eq!(shared.journals(), [format!("{id}.sqlite")]);
        says_why(&sync().with(3));
        fs::remove_file(disk.filler()).expect("our own file");
        assert_eq!(sync().with(0).out, format!("{id}  sent\n"));
        assert_eq!(shared.journals(), [""; 0]);
        assert!(has_all_rounds(&shared.server, "small", &id));
    }
}

#[test]
fn a_killed_run_is_resumed_from_its_journal() {
    let Some(shared) = Shared::new() else { return };
    let mut run = started(&mut shared.command(LONG));
    let id = begun(&shared);
    kill(&mut run);
    shared.oscost("sync").with(0).says(&["not finished"]);
    assert_eq!(shared.journals().iter().filter(|name| name.ends_with(".sqlite")).count(), 1);
    let shown = shared.oscost(&format!("run --resume {id}"));
    assert_eq!(shown.with(0).saved(), id);
    assert_eq!(shared.journals(), [""; 0]);
    assert!(has_all_rounds(&shared.server, "postgres", &id));
}

/// `OSCOST_KILLS=100 cargo test -p oscost --test with_programs whatever_is_killed` kills more often.
#[test]
fn what_was_acknowledged_is_on_the_server_whatever_is_killed() {
    const QUICK: &str = "run clock/std-instant --quick --budget 300ms";
    let Some(shared) = Shared::new() else { return };
    let first = shared.oscost(&format!("{QUICK} --json")).with(0);
    let id = first.saved();
    let mut known = BTreeSet::from([id.clone()]);
    for nth in 0..kills(6) {
        let command = match nth % 3 {
            0 => QUICK.to_owned(),
            1 => {
                let new = format!("20200101-{nth:06}-abcd");
                shared.bench.write("import.json", &first.out.replace(&id, &new));
                "import import.json".to_owned()
            }
            _ => "sync".to_owned(),
        };
        let mut child = started(&mut shared.command(&command));
        run_on(if nth % 3 == 0 { 2_000 } else { 300 });
        child.kill().expect("our own child");
        known.extend(said_by(child).acknowledged());
    }
    // Runs that were killed are not finished, and are sent as far as they are.
    shared.oscost("sync").ended();
    let list = shared.server.sql("postgres", "SELECT id FROM oscost.runs");
    let stored: BTreeSet<String> = list.lines().map(str::to_owned).collect();
    let lost: Vec<_> = known.difference(&stored).collect();
    assert!(lost.is_empty(), "{lost:?} of {stored:?}");
}
