//! A PostgreSQL server for tests: in a temporary folder, on a free port of this machine, ended with the test.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The superuser of test servers.
pub const OWNER: &str = "owner";
/// The password of [`OWNER`], which connections by TCP need, and those by the socket do not.
pub const PASSWORD: &str = "hunter2-owner";

/// Where Debian has the programs, the oldest supported version first.
const FOLDERS: [&str; 4] = [
    "/usr/lib/postgresql/15/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/18/bin",
];

/// The user that runs the server if the test is root, which PostgreSQL refuses to be.
const NOBODY: u32 = 65_534;

const PATIENCE: Duration = Duration::from_secs(60);

/// A running server, or one that was killed.
#[derive(Debug)]
pub struct Server {
    folder: TempDir,
    programs: PathBuf,
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// The folder of PostgreSQL's programs, if it is installed.
    pub fn programs() -> Option<PathBuf> {
        let has_all = |folder: &&&str| Path::new(folder).join("initdb").is_file();
        FOLDERS.iter().find(has_all).map(PathBuf::from)
    }

    /// Creates a cluster and starts a server for it; `None`, with a report, where PostgreSQL is not installed.
    ///
    /// # Panics
    /// If the server does not start; in CI if there is none.
    pub fn start(settings: &str) -> Option<Self> {
        let programs = Self::programs();
        if crate::skip_unless(programs.is_some(), "database: PostgreSQL is not installed") {
            return None;
        }
        let folder = TempDir::new().expect("a temporary folder");
        let mut server =
            Self { folder, programs: programs.unwrap_or_default(), port: free_port(), child: None };
        server.create(settings);
        server.run();
        Some(server)
    }

    fn create(&self, settings: &str) {
        let (root, password) = (self.folder.path(), self.folder.path().join("password"));
        fs::set_permissions(root, fs::Permissions::from_mode(0o755)).expect("set");
        fs::write(&password, PASSWORD).expect("written");
        let data = self.data();
        fs::create_dir(&data).expect("a folder");
        if crate::is_root() {
            [root, &data].into_iter().for_each(|path| {
                chown(path, Some(NOBODY), Some(NOBODY)).expect("owned by nobody");
            });
        }
        let mut create = self.program("initdb");
        create.arg("-D").arg(&data).arg("--pwfile").arg(&password).args([
            "--username",
            OWNER,
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            "--no-sync",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
        ]);
        let created = create.output().expect("initdb starts");
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
        // What a kill leaves is in the memory of the system, which lives on: nothing needs to reach the disk.
        let common =
            "fsync = off\nfull_page_writes = off\nmax_connections = 60\nshared_buffers = 32MB\n";
        let file = data.join("postgresql.auto.conf");
        fs::write(&file, format!("{common}{settings}\n")).expect("written");
    }

    /// Starts the server, once more after a kill, and waits until it accepts connections.
    ///
    /// # Panics
    /// If it does not within a minute.
    pub fn run(&mut self) {
        let began = Instant::now();
        loop {
            let log =
                fs::File::options().create(true).append(true).open(self.folder.path().join("log"));
            let mut start = self.program("postgres");
            start.arg("-D").arg(self.data()).arg("-p").arg(self.port.to_string());
            start.arg("-k").arg(self.folder.path()).args(["-h", "127.0.0.1"]);
            start.stdout(Stdio::null()).stderr(log.expect("a log"));
            let mut child = start.spawn().expect("postgres starts");
            let has_ended = loop {
                if self
                    .program("pg_isready")
                    .args(["-q", "-h"])
                    .arg(self.folder.path())
                    .args(["-p", &self.port.to_string()])
                    .status()
                    .expect("it starts")
                    .success()
                {
                    break false;
                }
                if child.try_wait().expect("a child").is_some() {
                    break true;
                }
                assert!(began.elapsed() < PATIENCE, "no server: {}", self.log());
                thread::sleep(Duration::from_millis(20));
            };
            if !has_ended {
                self.child = Some(child);
                return;
            }
            // Processes of a killed server end on their own, and until then no other one starts.
            assert!(began.elapsed() < PATIENCE, "no server: {}", self.log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Kills the server with SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Writes a file that only the server's user can read, such as a key.
    pub fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        if crate::is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).expect("owned by nobody");
        }
        path
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The folder of the server's socket and of its data.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The URL of a database by the server's socket, where no password is needed.
    pub fn socket_url(&self, user: &str, database: &str) -> String {
        let folder = self.folder.path().to_str().expect("a plain path").replace('/', "%2F");
        format!("postgres://{user}@{folder}:{}/{database}", self.port)
    }

    /// The URL of a database by TCP, where a password is needed.
    pub fn tcp_url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// Executes SQL as the superuser; returns what psql prints, without headings.
    ///
    /// # Panics
    /// If there is an error.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// Executes SQL as the superuser; returns what psql prints, or its errors.
    ///
    /// # Errors
    /// The errors of psql.
    pub fn try_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.program("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", OWNER, "-d", database]);
        psql.arg("-h").arg(self.folder.path()).args(["-p", &self.port.to_string()]);
        // Not as an argument: a test looks for passwords in the list of processes.
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut psql = psql.spawn().expect("psql starts");
        let mut input = psql.stdin.take().expect("a pipe");
        // A server that refuses the connection ends psql before it reads: its error follows.
        let _ = input.write_all(sql.as_bytes());
        drop(input);
        let done = psql.wait_with_output().expect("psql ends");
        match done.status.success() {
            true => Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned()),
            false => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
        }
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.env_clear().env("LANG", "C.UTF-8").current_dir("/");
        if crate::is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // SAFETY: the child has not been waited for, so that the number is still its own.
            unsafe { libc::kill(child.id() as i32, libc::SIGQUIT) };
            let _ = child.wait();
        }
    }
}

fn free_port() -> u16 {
    let any = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    any.expect("a free port").port()
}
