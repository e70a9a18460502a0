//! Commands that read saved runs.

use std::path::PathBuf;

use analysis::{Condition, Dimension, Renaming};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use command::options::{Files, StoreArg};
use command::values::{days, share};
use report::MARKDOWN;
use results::{ABOUT_OTAVA, OTAVA, TEXT_FORMATS, TOOL_FORMATS, TextFormat, ToolFormat};

use super::gate::Gate;

/// `oscost show`.
#[derive(Debug, Args)]
#[command(after_help = "\
A run is named by its id, the start of its id, `last`, `last~1` (the run before the last), or a tag `key=value`. \
A first argument that names an area or a case is a filter, and the run is the last one.

Examples:
  oscost show                         the last run
  oscost show syscall                 system calls of the last run
  oscost show last~1 lock/futex       one case of the run before the last
  oscost show kernel=6.12 net --csv -
  oscost show lock --plot
  oscost show --svg lock/futex > futex.svg")]
pub struct Show {
    /// The run to show [default: last]
    pub run: Option<String>,
    /// Show only these areas (`lock`), cases (`lock/futex`) or patterns (`lock/sysv*`) [default: all]
    #[arg(value_name = "FILTER")]
    pub filters: Vec<String>,
    /// Print the run as a JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print all tables of a run of all areas instead of its summary
    #[arg(long, conflicts_with = "json")]
    pub tables: bool,
    /// Also print how long each area took
    #[arg(long, conflicts_with_all = ["json", "plot", "svg"])]
    pub verbose: bool,
    /// Show only the figures that may lie beyond their interval, and why
    #[arg(long, conflicts_with = "plot")]
    pub doubtful: bool,
    /// Also show the interval of this run itself, beside that of the next run
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', conflicts_with_all = ["json", "plot", "svg"])]
    pub columns: Vec<ShownColumn>,
    /// Plot sweeps and distributions as text, 80 columns wide
    #[arg(long, conflicts_with_all = ["json", "tables", "csv"])]
    pub plot: bool,
    /// Print one chart as an SVG file: the one of this case or point, such as `lock/futex` or `lock/futex{workers=2}`
    #[arg(long, value_name = "POINT", conflicts_with_all = ["json", "tables", "csv", "plot"])]
    pub svg: Option<String>,
    #[command(flatten)]
    pub files: Files,
    #[command(flatten)]
    pub store: StoreArg,
}

/// A column that tables have only if it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShownColumn {
    /// The interval of the run itself: fit for figures of one run
    ThisRun,
}

/// `oscost runs`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  oscost runs\n  oscost runs --delete 20261121-203655-4f2a\n  oscost runs --thin 90d"
)]
pub struct Runs {
    /// Remove this run from the store
    #[arg(long, value_name = "RUN")]
    pub delete: Option<String>,
    /// Remove the samples of runs older than this, such as 90d; figures, intervals and values of rounds stay
    #[arg(long, value_name = "AGE", value_parser = days, conflicts_with_all = ["delete", "json", "names"])]
    pub thin: Option<u32>,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
    /// Print the names of runs and tags, one a line, as shells complete them
    #[arg(long, conflicts_with_all = ["delete", "json"])]
    pub names: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost compare`.
#[derive(Debug, Args)]
#[command(mut_arg("undecided", |undecided| undecided.requires("fail_above")))]
#[command(mut_arg("junit", |junit| junit.requires("fail_above")))]
#[command(after_help = "\
A run is named by its id, the start of its id, `last`, `last~1` (the run before the last), a tag `key=value`, or a \
JSON file. A tag names all of its runs on the machine of the newest one: their mean is compared, and each visit (runs within ten \
minutes) counts once. With --by it names the newest.

With --by, the values of any dimension form the columns, and everything else is matched: `system`, `run`, `case`, the name of a \
parameter such as `arch` or `as`, or `tag.KEY`. Runs measured together on several systems are all taken if one is named.

With --fail-above, the exit code is 0 if no row is worse by more than the limit, 1 if one certainly is, and 3 if one could not be \
judged (--undecided pass: 0). Without it, the exit code is 0.

Examples:
  oscost compare last~1 last
  oscost compare kernel=6.12 kernel=6.18 --fail-above 5%
  oscost compare last~1 last --fail-above 5% --only syscall --only lock/futex
  oscost compare main.json last --fail-above 5% --markdown summary.md
  oscost compare last --by system
  oscost compare last --by system --ladder --at case=syscall
  oscost compare last --by arch --at connections=1000
  oscost compare last --by case --at 'case=lock/*sem*'
  oscost compare a.json b.json --by system --map lock/futex=lock/srwlock
  oscost compare last~1 last --map syscall/getppid=perf-bench/syscall-basic")]
pub struct Compare {
    /// The run to compare with
    pub base: String,
    /// The runs to compare with it
    #[arg(required_unless_present = "by")]
    pub news: Vec<String>,
    /// The dimension whose values form the columns: system, run, case, a parameter, or tag.KEY
    #[arg(long, value_name = "DIMENSION", value_parser = Dimension::parse)]
    pub by: Option<Dimension>,
    /// Compare only results with this value, such as connections=1000, case=lock or metric=time; of one name given twice, either
    /// value
    #[arg(long, value_name = "NAME=VALUE", requires = "by", value_parser = Condition::parse)]
    pub at: Vec<Condition>,
    /// Match this case of the base with a case of another name, such as lock/futex=lock/srwlock; common counterparts of Linux
    /// and Windows are matched already. Without --by, match points, such as 'lock/futex{workers=2}=go/Lock', and compare these only
    #[arg(long, value_name = "OLD=NEW", value_parser = Renaming::parse)]
    pub map: Vec<Renaming>,
    /// The value that the others are compared with [default: of the first run, or the one with most figures]
    #[arg(long = "base", value_name = "VALUE", requires = "by")]
    pub base_value: Option<String>,
    /// With --by system: what each layer adds to each operation, from the host to the VM
    #[arg(long, requires = "by")]
    pub ladder: bool,
    /// Make it a gate: exit code 1 if a row is certainly worse by more than this share, such as 5%
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true)]
    pub fail_above: Option<f64>,
    #[command(flatten)]
    pub gate: Gate,
    /// Compare, and judge, only these areas (`lock`), cases (`lock/futex`) or patterns (`lock/sysv*`) (may be repeated)
    #[arg(long, value_name = "FILTER", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Differences smaller than this share are called `same`
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, default_value = "2%")]
    pub margin: f64,
    /// Show all rows, including unchanged ones
    #[arg(long)]
    pub all: bool,
    /// Print the comparison as JSON, with every row
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub store: StoreArg,
}

/// `oscost export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oscost export > run.json
  oscost export last~1 --format benchstat > old.txt
  oscost export --format openmetrics -o /var/lib/node_exporter/oscost.prom
  oscost export --format github-smaller --only syscall > bench.json
  oscost export --format otava -o perf && otava analyze oscost \\
    --config-file perf/otava.yaml")]
pub struct Export {
    /// The run to write; for otava the last of the runs
    #[arg(default_value = "last")]
    pub run: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), default_value = "json")]
    pub format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Write only these areas (`lock`), cases (`lock/futex`) or patterns (may be repeated)
    #[arg(long, value_name = "FILTER", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Write all points, also in formats that have only those of the first page
    #[arg(long, conflicts_with = "only")]
    pub all: bool,
    /// Write to this file instead of stdout; for otava a folder
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub store: StoreArg,
}

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Text.
    Text(&'static TextFormat),
    /// A folder with all runs of a machine.
    Otava,
    /// A workbook with raw values, summary and charts.
    Workbook,
}

/// The name of the workbook's format.
const XLSX: &str = "xlsx";

fn text_formats() -> impl Iterator<Item = &'static TextFormat> {
    TEXT_FORMATS.iter().chain([&MARKDOWN])
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let texts = text_formats().map(|text| PossibleValue::new(text.name).help(text.about));
    let otava = PossibleValue::new(OTAVA).help(ABOUT_OTAVA);
    let workbook = PossibleValue::new(XLSX)
        .help("A workbook with raw values, summary and charts; needs --output");
    PossibleValuesParser::new(texts.chain([otava, workbook])).map(|name| match name.as_str() {
        OTAVA => Format::Otava,
        XLSX => Format::Workbook,
        name => {
            let text = text_formats().find(|text| text.name == name);
            text.map_or(Format::Workbook, Format::Text)
        }
    })
}

/// `oscost import`.
#[derive(Debug, Args)]
#[command(after_help = "\
With --from, the results of another tool become a run of their own, whose id begins with the tool's name; every figure is marked \
as that tool's. `compare --map OURS=THEIRS` compares it.

Examples:
  oscost import run.json
  ssh box oscost run --json | oscost import -
  hyperfine --export-json times.json 'make -j2'
  oscost import --from hyperfine times.json
  oscost import --from criterion target/criterion")]
pub struct Import {
    /// The file; `-` for stdin
    pub file: PathBuf,
    /// The other tool that wrote the file
    #[arg(long, value_name = "TOOL", value_parser = tool_parser())]
    pub from: Option<&'static ToolFormat>,
    #[command(flatten)]
    pub store: StoreArg,
}

fn tool_parser() -> impl TypedValueParser<Value = &'static ToolFormat> {
    let tools = TOOL_FORMATS.iter().map(|tool| PossibleValue::new(tool.name).help(tool.about));
    PossibleValuesParser::new(tools).map(|name| {
        let tool = TOOL_FORMATS.iter().find(|tool| tool.name == name);
        tool.expect("the parser accepts names of tools only")
    })
}
