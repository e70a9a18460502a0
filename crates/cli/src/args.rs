//! What the user types.

mod mail;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use mailsink::{Addresses, Extension, Fault, Latency};
use measure::count::{ParseUnitError, parse_count, parse_duration, parse_percentage};
use servers::Protocol;
use servers::{ARCHITECTURES, Architecture};

pub use mail::{Mail, MailArch, MailSend, TlsMode};

use crate::ending::Ending;

/// Measure what an operating system costs: clocks, system calls, locks, files, servers and mail.
#[derive(Debug, Parser)]
#[command(
    name = "oscost",
    version,
    max_term_width = 100,
    after_help = "\
Examples:
  oscost run --quick syscall      a first look at system calls
  oscost run                      measure all areas
  oscost show syscall             system calls of the last run again
  oscost compare last~1 last      what changed between the last two runs"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure all cases, or those you name, print tables and save the run.
    Run(Run),
    /// List the cases: what each one measures, and which are unsupported here.
    List(List),
    /// Describe this machine: CPUs, kernel, clocks, limits.
    Env(Env),
    /// Print a saved run, or some of its areas and cases.
    Show(Show),
    /// The runs in the store.
    Runs(Runs),
    /// Find the fastest way to execute your jobs: serial, threads, a pool or async.
    Concurrency(Concurrency),
    /// Servers of every architecture, and the load generator, by hand.
    #[command(
        subcommand,
        after_help = "Examples:\n  oscost net serve --arch epoll --protocol 450 --listen 127.0.0.1:2525\n  oscost net load --to 127.0.0.1:2525 --protocol 450 --concurrency 1..10000 --ramp"
    )]
    Net(Net),
    /// Deliver a message to a long list, and the server that throws mail away.
    #[command(
        subcommand,
        after_help = "Examples:\n  oscost mail send --list recipients.csv --message message.eml --from bounce@example.org --connections 1500\n  oscost mail sink --listen 127.0.0.1:2525"
    )]
    Mail(Mail),
    /// Compare runs: ratios with confidence intervals, and a verdict for each case.
    Compare(Compare),
    /// Find the smallest difference that this machine can show, by measuring twice and comparing.
    Noise(Noise),
    /// Write a run as JSON, CSV or text for benchstat.
    Export(Export),
    /// Take a run from a JSON file into the store.
    Import(Import),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  oscost completions bash > ~/.local/share/bash-completion/completions/oscost"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages into a folder.
    #[command(after_help = "Example:\n  oscost man ~/.local/share/man/man1")]
    Man {
        /// The folder; it must exist.
        dir: PathBuf,
    },
    /// One round in a fresh process; started by `run`, and nothing that people or their shells
    /// need to see.
    #[command(skip)]
    Worker {
        /// What to do, as JSON.
        order: String,
    },
}

/// Where runs are kept.
#[derive(Debug, Clone, Args)]
pub struct StoreArg {
    /// File that holds the saved runs [default: $OSCOST_STORE, or a file in your data directory]
    #[arg(long, value_name = "PATH", global = true)]
    pub store: Option<PathBuf>,
}

/// What is to be measured, and how well.
#[derive(Debug, Clone, Args)]
pub struct Measuring {
    /// Areas (`clock`), cases (`lock/futex`) or patterns (`lock/pthread*`) to measure [default: all]
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Fewer rounds: about 75 seconds for everything
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Measure each case with all values of its parameters; takes long
    #[arg(long)]
    pub full: bool,
    /// Measure these values of a parameter: workers=1,8 or workers=1..10 (may be repeated)
    #[arg(long = "param", value_name = "NAME=VALUES", value_parser = param, allow_hyphen_values = true)]
    pub params: Vec<(String, Vec<String>)>,
    /// Directory in which `file` cases create files (may be repeated) [default: the temporary directory]
    #[arg(long = "dir", value_name = "PATH")]
    pub dirs: Vec<PathBuf>,
    /// Connect servers and clients over a virtual network (veth) instead of loopback; needs root on Linux
    #[arg(long)]
    pub netns: bool,
    /// A point is done when its interval's half-width is below this share [default: 0.5%; trials and contended locks: 15%]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub precision: Option<f64>,
    /// Time limit for the whole run, such as 30s or 2m; each point gets one round at least
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    /// Multiply the length of all jobs of `concurrency` cases by this factor, such as 0.01
    #[arg(long, value_name = "FACTOR", value_parser = scale, allow_hyphen_values = true)]
    pub scale: Option<f64>,
    /// Seed for the random order of the rounds [default: random]
    #[arg(long, value_name = "N", value_parser = count, allow_hyphen_values = true)]
    pub seed: Option<u64>,
    /// Run cases that need one CPU on this one [default: the last allowed CPU]
    #[arg(long, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub cpu: Option<usize>,
    /// Add this share of extra work to each operation of a single worker, to check that `compare` detects it
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub slow_down: Option<f64>,
}

/// `oscost run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oscost run --quick
  oscost run syscall/getppid --precision 0.2%
  oscost run lock/futex --param workers=1..8 --param place=same,spread
  oscost run file --dir /srv --dir /dev/shm
  oscost run --resume")]
pub struct Run {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Continue the latest unfinished run, or the run named
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "",
          conflicts_with_all = ["filters", "quick", "full", "params", "dirs", "netns", "precision", "budget", "scale", "seed", "cpu", "slow_down", "tags"])]
    pub resume: Option<String>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost concurrency`.
#[derive(Debug, Args)]
#[command(after_help = "\
A file of jobs has one job per line: its length, the share of that time in which it needs a CPU, and its arrival \
time if not 0. For example, `5ms 30% 20ms` arrives after 20 ms and takes 5 ms: 1.5 ms of CPU time and 3.5 ms of waiting.

Examples:
  oscost concurrency --jobs 40 --length 5ms..80ms --goal turnaround
  oscost concurrency --bound cpu --jobs 8
  oscost concurrency --from jobs.txt --goal worst --rounds 6")]
pub struct Concurrency {
    /// Number of jobs [default: 40]
    #[arg(long, value_name = "N", value_parser = jobs, allow_hyphen_values = true, conflicts_with = "from")]
    pub jobs: Option<u64>,
    /// Shortest and longest time that one job takes alone; the others are spaced evenly [default: 5ms..80ms]
    #[arg(long, value_name = "FROM..TO", value_parser = lengths, allow_hyphen_values = true, conflicts_with = "from")]
    pub length: Option<String>,
    /// What the jobs do: `cpu` computes, `wait` sleeps, `mixed:30` computes for 30 % of its time [default: mixed:30]
    #[arg(long, value_name = "KIND", value_parser = bound, allow_hyphen_values = true, conflicts_with = "from")]
    pub bound: Option<String>,
    /// Read the jobs from this file
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// What to minimise
    #[arg(long, value_enum, default_value = "elapsed")]
    pub goal: Goal,
    /// Number of trials of each way; more trials resolve smaller differences
    #[arg(long, value_name = "N", default_value = "10", value_parser = rounds, allow_hyphen_values = true)]
    pub rounds: usize,
    /// Time limit, such as 30s or 2m [default: none]
    #[arg(long, value_name = "TIME", value_parser = budget, allow_hyphen_values = true)]
    pub budget: Option<Duration>,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost net`.
#[derive(Debug, Subcommand)]
pub enum Net {
    /// Run a server of one architecture, until Ctrl-C or SIGTERM.
    Serve(Serve),
    /// Make requests of a server, step by step more at a time, or so many a second.
    Load(NetLoad),
}

/// `oscost net serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oscost net serve --arch epoll --protocol 450 --listen 127.0.0.1:2525
  oscost net serve --arch threads --protocol http --bind-cpu 1
  oscost net serve --list")]
pub struct Serve {
    /// How it is built; --list tells of each
    #[arg(long, value_name = "NAME", value_parser = architecture, default_value = "threads")]
    pub arch: &'static Architecture,
    /// What it says: 450 (then it closes), echo, echo:SIZE, http, or http-close; echo/N or http/N closes after N requests
    #[arg(long, value_name = "NAME", default_value = "450")]
    pub protocol: Protocol,
    /// Where it listens; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2525")]
    pub listen: SocketAddr,
    /// How long a client may keep it waiting
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = budget, allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Threads or processes, where they are started beforehand
    #[arg(long, value_name = "N", default_value = "64", value_parser = workers, allow_hyphen_values = true)]
    pub workers: usize,
    /// Keep it to these CPUs, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub bind_cpu: Vec<usize>,
    /// List the architectures
    #[arg(long)]
    pub list: bool,
    /// Report on stdout to each line on stdin, and end with it: for `run`
    #[arg(long, hide = true)]
    pub report: bool,
    /// Count system calls at this tracepoint: for `run`
    #[arg(long, hide = true)]
    pub count: Option<u64>,
}

/// `oscost net load`.
#[derive(Debug, Args)]
#[command(after_help = "\
Protocols: `450`, where the server says `450 too busy` and closes; `echo:SIZE`, where it sends back what it \
was sent; `http` and `http-close`. `/N` after echo or http: the server closes after N replies.

With --concurrency there is a closed loop: each connection asks again when it has its reply. With --rate \
requests have planned moments, from which their time counts, on up to --concurrency connections.

Examples:
  oscost net load --to 127.0.0.1:2525 --protocol 450 --concurrency 1..10000 --ramp
  oscost net load --to 127.0.0.1:8080 --protocol http --status 503 --concurrency 200 --server-pid 4711
  oscost net load --to 127.0.0.1:8080 --protocol http --rate 5000 --duration 10s --bind-cpu 0")]
pub struct NetLoad {
    /// The server, as in 127.0.0.1:2525 or [::1]:2525
    #[arg(long, value_name = "ADDRESS")]
    pub to: SocketAddr,
    /// What is said
    #[arg(long, value_name = "PROTOCOL")]
    pub protocol: Protocol,
    /// The server is any HTTP server: its replies have this status, and all the same body
    #[arg(long, value_name = "CODE", value_parser = status, allow_hyphen_values = true)]
    pub status: Option<u16>,
    /// Connections in flight: 200, or 1,10,100, or with --ramp 1..10000
    #[arg(long, value_name = "N", default_value = "100", value_parser = concurrency, allow_hyphen_values = true)]
    pub concurrency: Connections,
    /// Go through a range of them in steps: 1, 10, 100, 500, 1000, 1500, 2500, 5000, 10000 ...
    #[arg(long)]
    pub ramp: bool,
    /// So many requests a second, whether or not those before have had their reply
    #[arg(long, value_name = "N", value_parser = rate, allow_hyphen_values = true, conflicts_with_all = ["ramp", "idle"])]
    pub rate: Option<f64>,
    /// Leave the connections idle after one exchange, to see what memory each takes
    #[arg(long)]
    pub idle: bool,
    /// How long each step is counted
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = budget, allow_hyphen_values = true)]
    pub duration: Duration,
    /// What takes longer is given up
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = budget, allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Connect from this address, or these in turn (may be repeated)
    #[arg(long = "source", value_name = "IP", value_delimiter = ',')]
    pub sources: Vec<IpAddr>,
    /// Keep the generator on this CPU
    #[arg(long, value_name = "N", value_parser = cpu, allow_hyphen_values = true)]
    pub bind_cpu: Option<usize>,
    /// The server's process: its CPU time and memory are shown, and whether it or the generator was the bottleneck
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// The server may be another machine. Ask its owner first
    #[arg(long)]
    pub beyond_this_machine: bool,
    /// Print the steps as one JSON document
    #[arg(long)]
    pub json: bool,
}

/// `oscost mail sink`.
#[derive(Debug, Args)]
#[command(after_help = "\
Faults are PHASE:KIND:RATE. Phases: connect, ehlo, starttls, auth, mail, rcpt, data, body (while the message comes), \
end (the reply to the whole message), rset, quit, any. Kinds: drop, reset, stall (nothing more is said), 4xx, 5xx, \
malformed, endless, slowly (byte by byte), late (at end: the message is accepted, but the reply never comes). Rates: \
20% or 0.2. The same --seed does the same to the n-th connection.

Latencies are 10ms, 5ms..20ms (any between) or exp:10ms (exponential, this mean), of all phases or, as in rcpt=10ms, \
of one.

Examples:
  oscost mail sink --listen 127.0.0.1-200:2525
  oscost mail sink --tls --write-ca ca.pem --user me:secret --log accepted.jsonl
  oscost mail sink --fault rcpt:4xx:20% --fault end:late:1% --latency exp:10ms --seed 7
  oscost mail sink --without pipelining,chunking --capture mail")]
pub struct MailSink {
    /// Where it listens, also a range of last octets as in 127.0.0.1-200:2525 (may be repeated); port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2525")]
    pub listen: Vec<Addresses>,
    /// Other machines may send it mail, too
    #[arg(long)]
    pub beyond_this_machine: bool,
    /// How long a client may keep it waiting
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = budget, allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Largest message it takes, in bytes
    #[arg(long, value_name = "BYTES", default_value = "52428800", value_parser = size, allow_hyphen_values = true)]
    pub size: u64,
    /// Extensions it is not to have: pipelining, size, 8bitmime, smtputf8, enhancedstatuscodes, chunking, starttls, auth
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub without: Vec<Extension>,
    /// Refuse EHLO, as servers of old
    #[arg(long)]
    pub helo_only: bool,
    /// Offer STARTTLS, with a certificate made now
    #[arg(long)]
    pub tls: bool,
    /// Offer STARTTLS with this certificate, in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Write the certificate to this file, for a sender to trust
    #[arg(long, value_name = "FILE")]
    pub write_ca: Option<PathBuf>,
    /// The only name and password that AUTH takes [default: any]
    #[arg(long, value_name = "NAME:PASSWORD", value_parser = login)]
    pub user: Option<(String, String)>,
    /// Do something wrong, PHASE:KIND:RATE as in rcpt:4xx:20% (may be repeated)
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<Fault>,
    /// Hold replies back, as in 10ms or rcpt=5ms..20ms (may be repeated)
    #[arg(long = "latency", value_name = "LATENCY")]
    pub latencies: Vec<Latency>,
    /// What chance begins with
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Put each new recipient off for so long
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub greylist: Option<Duration>,
    /// Take so long for each byte of a reply
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub tarpit: Option<Duration>,
    /// The system's buffer for what has come of a connection
    #[arg(long, value_name = "BYTES", value_parser = window, allow_hyphen_values = true)]
    pub window: Option<usize>,
    /// Read only so many bytes a second of each connection
    #[arg(long, value_name = "BYTES", value_parser = size, allow_hyphen_values = true)]
    pub read_rate: Option<u64>,
    /// Add a line of JSON for each message accepted to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Write each message accepted, and its envelope, into this folder
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// Keep it to these CPUs, such as 0 or 0,2 [default: all]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    pub bind_cpu: Vec<usize>,
    /// Print what was counted as JSON
    #[arg(long)]
    pub json: bool,
    /// Report on stdout to each line on stdin, and end with it: for `run`
    #[arg(long, hide = true)]
    pub report: bool,
    /// Count system calls at this tracepoint: for `run`
    #[arg(long, hide = true)]
    pub count: Option<u64>,
}

/// Numbers of connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connections {
    /// These, one after the other.
    Each(Vec<usize>),
    /// From one to the other.
    Range(usize, usize),
}

/// What to minimise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Goal {
    /// The time until the last job is done
    Elapsed,
    /// The mean over all jobs of (completion - arrival) / length
    Turnaround,
    /// The largest (completion - arrival) / length of any job
    Worst,
}

/// Labels, and forms of output beside the tables.
#[derive(Debug, Clone, Args)]
pub struct Output {
    /// Label the run, as in kernel=patched; commands accept the label as the run's name (may be repeated)
    #[arg(long = "tag", value_name = "KEY=VALUE", value_parser = tag)]
    pub tags: Vec<(String, String)>,
    /// Print the run as a JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print all tables, where a run of all areas ends with a summary
    #[arg(long, conflicts_with = "json")]
    pub tables: bool,
    #[command(flatten)]
    pub files: Files,
}

/// Files that a run is written to as well.
#[derive(Debug, Clone, Args)]
pub struct Files {
    /// Also write the results as CSV, one row per metric; `-` prints them instead of the tables
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write an Excel workbook with summary, raw values and charts
    #[arg(long, value_name = "FILE")]
    pub xlsx: Option<PathBuf>,
}

/// `oscost list`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost list\n  oscost list syscall\n  oscost list --long lock/sysv-sem"
)]
pub struct List {
    /// Areas (`clock`), cases (`lock/futex`) or patterns (`lock/pthread*`) to list [default: all]
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Print all that is known of each case: parameters, metrics, similar tools
    #[arg(long, short)]
    pub long: bool,
    /// Print the list as JSON, with all that is known of each case
    #[arg(long)]
    pub json: bool,
}

/// `oscost env`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost env\n  oscost run --json > \"$(oscost env --line).json\""
)]
pub struct Env {
    /// Print a short name of the machine without spaces, for file names and logs
    #[arg(long, conflicts_with = "json")]
    pub line: bool,
    /// Print the description as JSON
    #[arg(long)]
    pub json: bool,
}

/// `oscost show`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is named by its id, the start of its id, `last`, `last~1` (the run before the last), or a tag `key=value`. \
A first argument that names an area or a case is a filter, and the run is the last one.

Examples:
  oscost show                         the last run
  oscost show syscall                 system calls of the last run
  oscost show last~1 lock/futex       one case of the run before the last
  oscost show kernel=6.12 net --csv -")]
pub struct Show {
    /// The run to show [default: last]
    pub run: Option<String>,
    /// Show only these areas (`lock`), cases (`lock/futex`) or patterns (`lock/sysv*`) [default: all]
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Print the run as a JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print all tables, where a run of all areas is shown as a summary
    #[arg(long, conflicts_with = "json")]
    pub tables: bool,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost runs`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  oscost runs\n  oscost runs --delete 20261121-203655-4f2a")]
pub struct Runs {
    /// Remove this run from the store
    #[arg(long, value_name = "RUN")]
    pub delete: Option<String>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is named by its id, the start of its id, `last`, `last~1` (the run before the last), a tag `key=value`, or a \
JSON file.

Examples:
  oscost compare last~1 last
  oscost compare kernel=6.12 kernel=6.18 --fail-above 5%")]
pub struct Compare {
    /// The run to compare with
    pub base: String,
    /// The runs that are compared with it
    #[arg(required = true)]
    pub news: Vec<String>,
    /// Exit with code 1 if a case is certainly slower by more than this share, such as 5%
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub fail_above: Option<f64>,
    /// Differences smaller than this share are called `same`
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, default_value = "2%")]
    pub margin: f64,
    /// Show every row, also those that are the same
    #[arg(long)]
    pub all: bool,
    /// Print the comparison as JSON, with every row
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost noise`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  oscost noise --quick\n  oscost noise syscall --tries 5")]
pub struct Noise {
    #[command(flatten)]
    pub measuring: Measuring,
    /// Number of pairs of runs to measure and compare
    #[arg(long, value_name = "N", default_value = "1", value_parser = tries, allow_hyphen_values = true)]
    pub tries: u64,
    /// Print the result as JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost export > run.json\n  oscost export last~1 --format benchstat > old.txt"
)]
pub struct Export {
    /// The run
    #[arg(default_value = "last")]
    pub run: String,
    /// In which form
    #[arg(long, value_enum, default_value = "json")]
    pub format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArg,
}

/// A form of export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// The whole document; `import` takes it back
    Json,
    /// One row for each metric of each case
    Csv,
    /// Go's benchmark format, which benchstat reads
    Benchstat,
    /// A workbook with raw values, summary and charts; needs --output
    Xlsx,
}

/// `oscost import`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost import run.json\n  ssh box oscost run --json | oscost import -"
)]
pub struct Import {
    /// The file; `-` for stdin
    pub file: PathBuf,
    #[command(flatten)]
    pub store: StoreArg,
}

/// Reads the command line. On a mistake, or if only help was wanted, says how the program ends.
pub fn parse() -> Result<Command, Ending> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "worker") {
        let order = arguments.next().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Command::Worker { order });
    }
    match Cli::try_parse() {
        Ok(cli) => Ok(cli.command),
        Err(error) => {
            // Where nobody reads it, the exit code is all there is to say.
            let print = || drop(error.print());
            match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    print();
                    return Err(Ending::Done);
                }
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => print(),
                _ => crate::output::note(&in_one_line(&error.render().to_string())),
            }
            Err(Ending::WrongUsage)
        }
    }
}

/// What clap says of a mistake over several paragraphs, without its reminders of the usage.
fn in_one_line(text: &str) -> String {
    let paragraphs = text.trim_start_matches("error: ").split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ")
    });
    let said = paragraphs.filter(|words| {
        !words.is_empty() && !words.starts_with("Usage:") && !words.starts_with("For more ")
    });
    said.chain(["see --help".to_owned()]).collect::<Vec<_>>().join("; ")
}

/// The command line's definition, for completions and manual pages.
pub fn definition() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// What is wrong with a number; clap names the number itself.
fn problem(error: ParseUnitError) -> String {
    format!("it {}", error.problem())
}

fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(problem)
}

fn share(text: &str) -> Result<f64, String> {
    parse_percentage(text).map_err(problem)
}

fn scale(text: &str) -> Result<f64, String> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match text.parse::<f64>() {
        Ok(scale) if plain && scale > 0.0 && scale <= 1_000.0 => Ok(scale),
        _ => Err("it is not a factor above 0 and up to 1000, as in 0.01".into()),
    }
}

fn cpu(text: &str) -> Result<usize, String> {
    usize::try_from(count(text)?).map_err(|_| "there is no such CPU".to_owned())
}

fn budget(text: &str) -> Result<Duration, String> {
    let budget = parse_duration(text).map_err(problem)?;
    if budget < Duration::from_millis(100) {
        return Err("it is too short to measure anything: at least 100ms".into());
    }
    Ok(budget)
}

/// More connections than this are not asked for, however many descriptors there may be.
const CONNECTIONS_AT_MOST: u64 = 1_000_000;

fn concurrency(text: &str) -> Result<Connections, String> {
    let number = |text: &str| match count(text)? {
        n @ 1..=CONNECTIONS_AT_MOST => Ok(n as usize),
        _ => Err(format!("there can be 1 to {CONNECTIONS_AT_MOST} connections")),
    };
    match text.split_once("..") {
        None => text.split(',').map(number).collect::<Result<_, String>>().map(Connections::Each),
        Some((from, to)) => match (number(from)?, number(to)?) {
            (from, to) if from <= to => Ok(Connections::Range(from, to)),
            _ => Err("the range ends before it begins".into()),
        },
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match count(text)? {
        rate @ 1..=10_000_000 => Ok(rate as f64),
        _ => Err("it must be 1 to 10000000 a second".into()),
    }
}

fn status(text: &str) -> Result<u16, String> {
    match count(text)? {
        status @ 200..=599 => Ok(status as u16),
        _ => Err("it is no status of a reply, such as 200 or 503".into()),
    }
}

fn tries(text: &str) -> Result<u64, String> {
    match count(text)? {
        count @ 1..=1000 => Ok(count),
        _ => Err("it must be 1 to 1000".into()),
    }
}

fn jobs(text: &str) -> Result<u64, String> {
    let most = cases::concurrency::list::JOBS_AT_MOST as u64;
    match count(text)? {
        count if (1..=most).contains(&count) => Ok(count),
        _ => Err(format!("it must be 1 to {most}")),
    }
}

fn rounds(text: &str) -> Result<usize, String> {
    match count(text)? {
        count @ 3..=1000 => Ok(count as usize),
        _ => Err("it must be 3 to 1000".into()),
    }
}

fn workers(text: &str) -> Result<usize, String> {
    match count(text)? {
        count @ 1..=4096 => Ok(count as usize),
        _ => Err("it must be 1 to 4096".into()),
    }
}

fn size(text: &str) -> Result<u64, String> {
    match count(text)? {
        bytes @ 1..=1_000_000_000_000 => Ok(bytes),
        _ => Err("it must be 1 to 1000000000000 bytes".into()),
    }
}

fn window(text: &str) -> Result<usize, String> {
    match count(text)? {
        bytes @ 1..=1_000_000_000 => Ok(bytes as usize),
        _ => Err("it must be 1 to 1000000000 bytes".into()),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    match parse_duration(text).map_err(problem)? {
        Duration::ZERO => Err("it is no time at all".into()),
        time => Ok(time),
    }
}

fn login(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, password)) if !name.is_empty() => Ok((name.to_owned(), password.to_owned())),
        _ => Err("it is not NAME:PASSWORD".into()),
    }
}

fn architecture(text: &str) -> Result<&'static Architecture, String> {
    Architecture::find(text).ok_or_else(|| {
        let names: Vec<_> = ARCHITECTURES.iter().map(|one| one.name).collect();
        format!("there are {}", names.join(", "))
    })
}

fn lengths(text: &str) -> Result<String, String> {
    cases::concurrency::list::parse_lengths(text).map(|_| text.to_owned())
}

fn bound(text: &str) -> Result<String, String> {
    cases::concurrency::list::parse_bound(text).map(|_| text.to_owned())
}

fn tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err("it is not KEY=VALUE, as in kernel=patched".into()),
    }
}

fn param(text: &str) -> Result<(String, Vec<String>), String> {
    let (name, values) =
        text.split_once('=').ok_or("it is not NAME=VALUES, as in workers=1,2,8")?;
    let mut list = Vec::new();
    for value in values.split(',') {
        match value.split_once("..") {
            None => list.push(value.to_owned()),
            Some((from, to)) => {
                let number = |text| parse_count(text).map_err(|e| e.to_string());
                let (from, to) = (number(from)?, number(to)?);
                if from > to || to - from > 1_000 {
                    return Err(format!("{value} is not a range of up to 1,000 values"));
                }
                list.extend((from..=to).map(|n| n.to_string()));
            }
        }
    }
    if list.iter().any(String::is_empty) {
        return Err("it has an empty value".into());
    }
    Ok((name.to_owned(), list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound_and_every_command_has_an_example() {
        definition().debug_assert();
        for command in definition().get_subcommands().filter(|c| !c.is_hide_set()) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("oscost "), "{} has no example", command.get_name());
        }
    }

    #[test]
    fn a_mistake_is_told_in_one_line() {
        for (arguments, told) in [
            (
                &["run", "--budget", "5"][..],
                "invalid value '5' for '--budget <TIME>': it is not a duration: a number and ns, us, \
                 ms, s, m or h, as in 10ms or 2s; see --help",
            ),
            (
                &["run", "--budget", "-5s"],
                "invalid value '-5s' for '--budget <TIME>': it is not a duration: a number and ns, us, \
                 ms, s, m or h, as in 10ms or 2s; see --help",
            ),
            (
                &["compare", "last"],
                "the following required arguments were not provided: <NEWS>...; see --help",
            ),
            (
                &["run", "--quikc"],
                "unexpected argument '--quikc' found; tip: a similar argument exists: '--quick'; \
                 see --help",
            ),
            (
                &["completions", "dos"],
                "invalid value 'dos' for '<SHELL>' [possible values: bash, elvish, fish, \
                 powershell, zsh]; see --help",
            ),
        ] {
            let arguments = ["oscost"].iter().chain(arguments);
            let error = Cli::try_parse_from(arguments).unwrap_err();
            assert_eq!(in_one_line(&error.render().to_string()), told);
        }
    }

    #[test]
    fn numbers_of_connections() {
        assert_eq!(concurrency("1,10"), Ok(Connections::Each(vec![1, 10])));
        assert_eq!(concurrency("1..10000"), Ok(Connections::Range(1, 10_000)));
        for bad in ["", "0", "1,", "9..1", "1..", "..9", "-1", "1000001", "1...9"] {
            assert!(concurrency(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_and_lists_of_values() {
        assert_eq!(param("workers=1..3,8").unwrap().1, ["1", "2", "3", "8"]);
        for bad in ["workers", "workers=", "workers=1,,2", "workers=3..1", "workers=1..g"] {
            assert!(param(bad).is_err(), "{bad}");
        }
    }
}
