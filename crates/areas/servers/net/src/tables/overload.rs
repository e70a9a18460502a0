//! Servers that are offered more requests than they can answer: goodput, latency and the outcome of each request.

use crate::metrics::{
    CAPACITY, FAILED, GAVE_UP, GOODPUT, KEPT, OFFERED, REFUSED, REPLY_P50, REPLY_P99,
};
use measure::Metric;
use results::{CaseResult, Estimate, Outcome};

use report::first_seen::{distinct, grouped};
use report::footnotes::{Footnotes, Reason};
use report::grid::{self, Cell, Column};
use report::page::{Ink, Page};
use report::quantity::{format_time, half_width};
use report::rows::{ending_word, is_described, measured, of_this_run, reasons};
use report::swept::levels::three_digits;
use report::swept::{is_name, param};

const CASE: &str = "net/overload";
const PARAMS: [&str; 8] =
    ["arch", "backlog", "cpus", "load", "network", "patience", "place", "work"];
/// Share of its capacity below which an architecture's goodput has collapsed.
const COLLAPSED: f64 = 0.8;
/// Maximum length of a load that is shown, in characters.
const LONGEST_LOAD: usize = 6;

/// Whether this table can show `result`.
pub(crate) fn is_known(result: &CaseResult) -> bool {
    let is_usual = |(key, value): (&String, &String)| match key.as_str() {
        "load" => value.len() <= LONGEST_LOAD && value.parse::<f64>().is_ok_and(f64::is_finite),
        "work" => is_name(&value.replace(':', "-")),
        _ => is_name(value),
    };
    result.case == CASE
        && is_described(result)
        && result.params.keys().eq(PARAMS)
        && result.params.iter().all(is_usual)
}

/// One architecture with one load.
struct OverloadLine<'r> {
    arch: &'r str,
    load: &'r str,
    results: Vec<&'r CaseResult>,
}

impl<'r> OverloadLine<'r> {
    fn estimate(&self, metric: &Metric) -> Option<Estimate> {
        measured(self.result(metric)?)
    }

    fn result(&self, metric: &Metric) -> Option<&'r CaseResult> {
        self.results.iter().copied().find(|result| result.metric == metric.name)
    }

    fn ending(&self) -> Option<&'r CaseResult> {
        let has_figure = self.estimate(&GOODPUT).is_some();
        let ended = |result: &&CaseResult| result.outcome != Outcome::Measured;
        self.results.iter().copied().find(ended).filter(|_| !has_figure)
    }

    fn reasons(&self) -> Vec<Reason> {
        distinct(self.results.iter().flat_map(|result| reasons(result)))
    }

    /// Whether the architecture certainly collapses (true), or certainly does not (false).
    fn collapses(&self) -> Option<bool> {
        let kept = of_this_run(self.result(&KEPT)?)?;
        match () {
            () if kept.high < COLLAPSED => Some(true),
            () if kept.low >= COLLAPSED => Some(false),
            () => None,
        }
    }
}

/// Tables of `results`, which all have known shapes.
pub(crate) fn tables<'r>(results: &[&'r CaseResult], page: &Page) -> String {
    let named = |&result: &&'r CaseResult| {
        let setting = ["backlog", "patience", "work", "cpus", "network", "place"]
            .map(|key| (key, param(result, key)));
        (setting, ((param(result, "arch"), param(result, "load")), result))
    };
    type Points<'r> = Vec<((&'r str, &'r str), &'r CaseResult)>;
    let of_group = |(setting, results): ([(&str, &str); 6], Points<'r>)| {
        let lines = grouped(results).into_iter();
        let lines = lines.map(|((arch, load), results)| OverloadLine { arch, load, results });
        of_setting(&setting, &lines.collect::<Vec<OverloadLine>>(), page)
    };
    let groups = grouped(results.iter().map(named)).into_iter();
    groups.map(of_group).collect::<Vec<_>>().join("\n")
}

fn of_setting(setting: &[(&str, &str)], lines: &[OverloadLine], page: &Page) -> String {
    let usual = [("cpus", "1"), ("network", "loopback"), ("place", "apart")];
    let odd = setting.iter().filter(|param| !usual.contains(param));
    let odd: Vec<String> = odd.map(|(key, value)| format!("{key}={value}")).collect();
    let title = format!(
        "{CASE} ({}): requests that arrive faster than they can be answered",
        odd.join(", ")
    );
    let is_missing =
        |line: &&OverloadLine| line.ending().is_some_and(|end| end.outcome == Outcome::Unsupported);
    let (missing, shown): (Vec<&OverloadLine>, Vec<&OverloadLine>) =
        lines.iter().partition(is_missing);
    let mut text = page.heading(&title);
    if !shown.is_empty() {
        text.push_str(&figures(&shown, page));
    }
    let mut names: Vec<&str> = missing.iter().map(|line| line.arch).collect();
    names.dedup();
    if !names.is_empty() {
        text.push_str(&page.faint(&format!("unsupported here: {}", names.join(", "))));
    }
    text
}

/// The table, and lines that name the architectures that collapse.
fn figures(lines: &[&OverloadLine], page: &Page) -> String {
    let reasons: Vec<Vec<Reason>> = lines.iter().map(|line| line.reasons()).collect();
    let notes = Footnotes::lettered(&reasons);
    let number = |heading: &str, metric: &Metric, scale: f64| {
        let cell = |line: &&OverloadLine| match (line.estimate(metric), line.ending()) {
            (Some(e), _) => {
                let half = half_width(e.median, e.low, e.high) / scale;
                Cell::text(three_digits(e.median / scale, half))
            }
            (None, Some(ending)) if metric.name == GOODPUT.name => {
                Cell::inked(ending_word(ending), Ink::Bad)
            }
            _ => Cell::text("-"),
        };
        Column::figures(heading, lines.iter().map(cell))
    };
    let time = |heading: &str, metric: &Metric| {
        let time = |e: Estimate| format_time(e.median, half_width(e.median, e.low, e.high));
        let cell = |line: &&OverloadLine| line.estimate(metric).map_or("-".to_owned(), time);
        Column::figures(heading, lines.iter().map(cell))
    };
    let keys = [
        Column::words("arch", lines.iter().map(|line| line.arch)),
        Column::figures("load", lines.iter().map(|line| line.load)),
    ];
    let rates = [
        number("capacity\n/s", &CAPACITY, 1.0),
        number("offered\n/s", &OFFERED, 1.0),
        number("goodput\n/s", &GOODPUT, 1.0),
        number("kept\n%", &KEPT, 0.01),
    ];
    let outcomes = [
        time("reply\np50", &REPLY_P50),
        time("reply\np99", &REPLY_P99),
        number("gave\nup, %", &GAVE_UP, 0.01),
        number("refused\n%", &REFUSED, 0.01),
        number("failed\n%", &FAILED, 0.01),
        notes.column(&reasons),
    ];
    let all = [&keys[..], &rates, &outcomes].concat();
    let tables = match grid::total_width(&all) <= page.table_width() + 2 {
        true => grid::table(all, page),
        false => {
            let second = [&keys[..], &outcomes].concat();
            grid::table([&keys[..], &rates].concat(), page) + "\n" + &grid::table(second, page)
        }
    };
    let conclusions = conclusions(lines).into_iter();
    let legend: String = conclusions.map(|line| page.hanging("", &page.signs(&line))).collect();
    let meaning = "capacity: with 64 clients that wait; goodput: answered before the client gives up, counted from the planned time; kept: goodput \
                   as a share of the capacity, or of the load if that is less; each request is answered, timed out, refused \
                   or failed";
    tables + &notes.lines(page) + &legend + &page.faint(meaning)
}

/// Lines that name the architectures that collapse at the highest load, and those that do not.
fn conclusions(lines: &[&OverloadLine]) -> Vec<String> {
    let load_of = |line: &OverloadLine| line.load.parse::<f64>().unwrap_or(0.0);
    let highest = lines.iter().map(|line| load_of(line)).fold(0.0, f64::max);
    let at_highest = || lines.iter().filter(|line| load_of(line) == highest && highest > 1.0);
    let names = |wanted: Option<bool>| {
        let has_figure = |line: &&&OverloadLine| line.estimate(&KEPT).is_some();
        let matching = at_highest().filter(has_figure).filter(|line| line.collapses() == wanted);
        matching.map(|line| line.arch).collect::<Vec<_>>().join(", ")
    };
    let said = [
        (Some(true), "collapse: goodput below 80 % of the capacity"),
        (Some(false), "hold: goodput at least 80 % of the capacity"),
        (None, "cannot tell: the interval contains 80 %"),
    ];
    said.into_iter()
        .map(|(wanted, what)| (names(wanted), what))
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, what)| format!("at {highest} times the capacity {names}: {what}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use results::Direction;

    use super::*;

    fn kept(arch: &str, load: &str, [low, high]: [f64; 2]) -> Vec<CaseResult> {
        let params = [
            ("arch", arch),
            ("backlog", "128"),
            ("cpus", "1"),
            ("load", load),
            ("network", "loopback"),
            ("patience", "200ms"),
            ("place", "apart"),
            ("work", "cpu:100us"),
        ];
        let params = params.map(|(k, v)| (k.to_owned(), v.to_owned()));
        let result = |(metric, value): (&Metric, f64)| CaseResult {
            estimate: Some(Estimate { median: value, low, high, level: 0.95 }),
            ..CaseResult::blank(
                CASE,
                params.clone().into(),
                metric.name,
                metric.unit,
                Direction::Higher,
            )
        };
        [(&KEPT, (low + high) / 2.0), (&GOODPUT, 5_000.0)].map(result).to_vec()
    }

    #[test]
    fn collapse_is_stated_only_if_the_interval_allows_it() {
        static AREAS: [&catalog::Area; 1] = [&crate::AREA];
        catalog::install(&AREAS);
        let run = [
            kept("fork", "2", [0.1, 0.3]),
            kept("threads", "2", [0.7, 0.9]),
            kept("epoll", "2", [0.9, 1.0]),
            kept("epoll", "0.5", [0.1, 0.2]),
        ]
        .concat();
        assert!(run.iter().all(is_known));
        let results: Vec<&CaseResult> = run.iter().collect();
        for width in [60, 80, 120] {
            let text =
                tables(&results, &Page { width, colour: false, unicode: false, this_run: false });
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            for line in [
                "at 2 times the capacity fork: collapse: goodput below 80 % of the capacity",
                "at 2 times the capacity epoll: hold: goodput at least 80 % of the capacity",
                "at 2 times the capacity threads: cannot tell: the interval contains 80 %",
            ] {
                assert!(flat.contains(line), "{text}");
            }
            assert!(text.lines().all(|line| line.len() <= width), "{text}");
        }
    }
}
