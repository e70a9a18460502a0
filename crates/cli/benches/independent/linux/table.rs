//! The table as text and as JSON.

use loops::answer::Answer;
use loops::operation::Operation;
use serde_json::{Value, json};

use crate::linux::explanations::Explanation;
use crate::linux::figure::Found;
use crate::linux::modes::{Mode, Modes};
use crate::linux::ratio::{Ratio, geometric_mean};

/// Measurements of one turn.
pub struct Turn {
    /// Result of oscost.
    pub oscost: Found,
    /// Result of the plain loop.
    pub plain: Answer,
}

/// A row of the table.
pub struct Row {
    /// The operation.
    pub operation: &'static Operation,
    /// Outcome of measuring it.
    pub outcome: Outcome,
}

/// Outcome of measuring an operation.
pub enum Outcome {
    /// Both were measured.
    Measured {
        /// All turns, in order.
        turns: Vec<Turn>,
        /// Ratio of the two times.
        ratio: Ratio,
        /// Ratio of the mean of all of oscost's samples to the plain loop's time; that of the figure if there is no such mean.
        mean: Ratio,
        /// The two modes of the operation, if it has two.
        modes: Option<Box<Modes>>,
        /// Difference of the ratio from 1 that needs no explanation.
        margin: f64,
        /// Cause of a difference, if it is known.
        explanation: Option<Box<Explanation>>,
    },
    /// One of them was not measured, for this reason.
    NotMeasured(String),
}

impl Outcome {
    /// Whether the times differ by more than the margin without a known cause.
    pub fn is_unexplained(&self) -> bool {
        self.verdict() == UNEXPLAINED
    }

    fn verdict(&self) -> &'static str {
        match self {
            Self::NotMeasured(_) => "not measured",
            Self::Measured { ratio, mean, modes, margin, explanation, .. } => {
                match (modes, explanation) {
                    (Some(modes), _) if modes.agree(*margin) && modes.are_wide() => "ok (wide)",
                    (Some(modes), _) if modes.agree(*margin) => "ok (modes)",
                    (None, _) if ratio.touches(*margin) && ratio.is_wide() => "ok (wide)",
                    (None, _) if ratio.touches(*margin) => "ok",
                    (None, _) if ratio.encloses_one_with(mean, *margin) => "ok (load)",
                    (_, Some(_)) => EXPLAINED,
                    (_, None) => UNEXPLAINED,
                }
            }
        }
    }
}

const EXPLAINED: &str = "explained";
const UNEXPLAINED: &str = "UNEXPLAINED";

/// Prints a line for each row, and below them the causes and the reasons.
pub fn print(rows: &[Row]) {
    let width = |text: fn(&Operation) -> usize| {
        rows.iter().map(|row| text(row.operation)).max().unwrap_or(0)
    };
    let (cases, params) = (width(|o| o.case.len()).max(9), width(|o| o.details().len()).max(6));
    let line = |case: &str, details: &str, figures: [String; 6], verdict: &str| {
        let [own, other, ratio, interval, mean, switches] = figures;
        println!(
            "{case:cases$}  {details:params$}  {own:>9}  {other:>9}  {ratio:>6}  {interval:>13}  {mean:>6}  {switches:>8}  \
             {verdict}"
        );
    };
    let headings = ["oscost", "plain", "ratio", "95 % interval", "mean", "switches"];
    line("operation", "params", headings.map(str::to_owned), "verdict");
    for Row { operation, outcome } in rows {
        line(operation.case, &operation.details(), figures(outcome), outcome.verdict());
    }
    println!("\n{LEGEND}");
    print_end(rows);
}

/// Prints the causes, the reasons and the number of rows.
fn print_end(rows: &[Row]) {
    for Row { operation, outcome } in rows {
        match outcome {
            Outcome::NotMeasured(reason) => println!("\n{operation}: not measured: {reason}"),
            Outcome::Measured { explanation: Some(explanation), .. }
                if outcome.verdict() == EXPLAINED =>
            {
                println!("\n{operation}: {}\n    {}", explanation.why, explanation.experiment);
            }
            Outcome::Measured { .. } => {}
        }
    }
    let unexplained = rows.iter().filter(|row| row.outcome.is_unexplained()).count();
    println!("\n{} operations, {unexplained} unexplained", rows.len());
}

/// Prints the rows of a system with this heading: a line for each, and one for each of its modes if it has two.
pub fn print_inside(heading: &str, rows: &[Row]) {
    let width = rows.iter().map(|row| row.operation.short().len()).max().unwrap_or(0).max(9);
    let line = |name: &str, figures: [String; 5], verdict: &str| {
        let [own, other, ratio, interval, shares] = figures;
        let line = format!(
            "{name:width$}  {own:>7}  {other:>7}  {ratio:>5}  {interval:>10}  {shares:>9}  {verdict}"
        );
        println!("{}", line.trim_end());
    };
    println!("\n{heading}\n");
    let headings = ["oscost", "loop", "ratio", "95 %", "shares, %"];
    line("operation", headings.map(str::to_owned), "verdict");
    for Row { operation, outcome } in rows {
        let [own, other, ratio, ..] = figures(outcome);
        let (interval, modes) = match outcome {
            Outcome::Measured { ratio, modes, .. } => (interval(ratio), modes.as_ref()),
            Outcome::NotMeasured(_) => (String::new(), None),
        };
        let ratio = ratio.get(..4).unwrap_or_default().to_owned();
        line(&operation.short(), [own, other, ratio, interval, String::new()], outcome.verdict());
        for (name, mode) in ["fast", "slow"].iter().zip(modes.iter().flat_map(|modes| &modes.both))
        {
            line(&format!("    {name}"), of_mode(mode), "");
        }
        let Outcome::Measured { turns, .. } = outcome else { continue };
        for (which, name) in ["first 1 ms", "first 10 ms"].into_iter().enumerate() {
            if let Some(figures) = of_beginning(turns, which) {
                line(&format!("    {name}"), figures, "");
            }
        }
    }
    println!("\n{LEGEND_INSIDE}");
    print_end(rows);
}

/// The figures of a mode as text.
fn of_mode(mode: &Mode) -> [String; 5] {
    let [own, other] = mode.ns.map(|ns| ns.map_or_else(|| "-".to_owned(), time));
    let ratio = mode.ratio.map_or_else(String::new, |ratio| format!("{:.2}", ratio.mean));
    let interval = mode.ratio.as_ref().map_or_else(String::new, interval);
    let [own_share, others_share] = mode.shares.map(|share| format!("{:.0}", share * 100.0));
    [own, other, ratio, interval, format!("{own_share} / {others_share}")]
}

/// The figures of a beginning as text, if both sides have it in all turns.
fn of_beginning(turns: &[Turn], which: usize) -> Option<[String; 5]> {
    let pair = |turn: &Turn| Some((turn.oscost.first[which]?, turn.plain.first[which]?));
    let pairs = turns.iter().map(pair).collect::<Option<Vec<(f64, f64)>>>()?;
    let ratio = Ratio::of(&pairs);
    let own = geometric_mean(pairs.iter().map(|pair| pair.0));
    let other = geometric_mean(pairs.iter().map(|pair| pair.1));
    let mean = format!("{:.2}", ratio.mean);
    Some([time(own), time(other), mean, interval(&ratio), String::new()])
}

fn interval(ratio: &Ratio) -> String {
    match ratio.high.is_finite() {
        true => format!("{:.2}..{:.2}", ratio.low, ratio.high),
        false => "few turns".to_owned(),
    }
}

const LEGEND_INSIDE: &str = "\
oscost, loop: the time of one operation, geometric means over the turns; ratio: oscost / loop
fast, slow: the two modes of an operation that has two, 1.5 times or further apart, by their medians; shares: of the operations
of oscost and of the loop; the ranges of the shares over turns overlap where modes are ok
first: the mean of a fresh process's operations in that time, or its first one if that takes longer; not judged
ok: the interval touches 0.85..1.15, or does so in each mode that both have; wide: it reaches further than 10 % from the
ratio; load: the loop's time lies between oscost's figure, of quiet samples, and the mean of all of them";

const LEGEND: &str = "\
oscost, plain: the time of one operation, geometric means over the turns; ratio: oscost / plain
mean: the mean of all of oscost's samples, of which the ratio's figure has the quiet ones, / plain
switches: context switches of the plain loop's measuring thread in one operation
ok: the interval touches 0.95..1.05; wide: it reaches further than 10 % from the ratio; load: the plain loop's time lies
between oscost's figure, of quiet samples, and the mean of all of them";

/// The figures of a row as text; empty if it was not measured.
fn figures(outcome: &Outcome) -> [String; 6] {
    let Outcome::Measured { turns, ratio, .. } = outcome else {
        return std::array::from_fn(|_| String::new());
    };
    let mean_of = |figure: fn(&Turn) -> f64| geometric_mean(turns.iter().map(figure));
    let means: Option<Vec<f64>> =
        turns.iter().map(|turn| turn.oscost.mean_ns.map(|mean| mean / turn.plain.ns)).collect();
    let switches = turns.iter().map(|turn| turn.plain.switches).sum::<f64>() / turns.len() as f64;
    [
        time(mean_of(|turn| turn.oscost.ns)),
        time(mean_of(|turn| turn.plain.ns)),
        format!("{:.3}", ratio.mean),
        format!("{:.3}..{:.3}", ratio.low, ratio.high),
        means.map_or_else(String::new, |means| format!("{:.3}", geometric_mean(means.into_iter()))),
        format!("{switches:.3}"),
    ]
}

/// A time with three digits.
fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ..1e3 => (ns, "ns"),
        ..1e6 => (ns / 1e3, "us"),
        _ => (ns / 1e6, "ms"),
    };
    let decimals = match value {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

fn of_ratio(ratio: &Ratio) -> Value {
    // Infinity, of a mode in one turn, becomes null.
    json!({ "mean": ratio.mean, "low": ratio.low, "high": ratio.high })
}

/// The rows as JSON, with all turns.
pub fn document(rows: &[Row]) -> Value {
    let row = |Row { operation, outcome }: &Row| {
        let params: serde_json::Map<String, Value> =
            operation.params.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        let mut object = json!({
            "case": operation.case,
            "params": params,
            "metric": operation.metric(),
            "verdict": outcome.verdict(),
        });
        match outcome {
            Outcome::NotMeasured(reason) => object["reason"] = reason.as_str().into(),
            Outcome::Measured { turns, ratio, modes, explanation, .. } => {
                object["ratio"] = of_ratio(ratio);
                if let Some(modes) = modes {
                    let of = |mode: &Mode| {
                        let [oscost, plain] = mode.ns;
                        json!({
                            "oscost_ns": oscost,
                            "plain_ns": plain,
                            "oscost_share": mode.shares[0],
                            "plain_share": mode.shares[1],
                            "ratio": mode.ratio.as_ref().map(of_ratio),
                        })
                    };
                    object["modes"] = modes.both.iter().map(of).collect();
                    object["shares_overlap"] = modes.shares_overlap.into();
                }
                object["explanation"] = json!(explanation);
                let turn = |turn: &Turn| {
                    // The document has the loop's readings where it has oscost's samples.
                    let is_inside = !turn.oscost.samples.is_empty();
                    let plain_readings = is_inside.then_some(&turn.plain.readings);
                    json!({
                        "oscost_ns": turn.oscost.ns,
                        "oscost_mean_ns": turn.oscost.mean_ns,
                        "plain_ns": turn.plain.ns,
                        "switches": turn.plain.switches,
                        "oscost_first_1ms_and_10ms_ns": turn.oscost.first,
                        "plain_first_1ms_and_10ms_ns": turn.plain.first,
                        "oscost_samples": turn.oscost.samples,
                        "plain_readings": plain_readings,
                    })
                };
                object["turns"] = turns.iter().map(turn).collect();
            }
        }
        object
    };
    json!({ "operations": rows.iter().map(row).collect::<Vec<_>>() })
}
