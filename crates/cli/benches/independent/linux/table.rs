//! The table as text and as JSON.

use serde_json::{Value, json};

use crate::linux::explanations::Explanation;
use crate::linux::figure::Found;
use crate::linux::operation::Operation;
use crate::linux::plain::Plain;
use crate::linux::ratio::{Ratio, geometric_mean};

/// Measurements of one turn.
pub struct Turn {
    /// Result of oscost.
    pub oscost: Found,
    /// Result of the plain loop.
    pub plain: Plain,
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
        /// Cause of a difference, if it is known.
        explanation: Option<Explanation>,
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
            Self::Measured { ratio, .. } if ratio.touches_one() && ratio.is_wide() => "ok (wide)",
            Self::Measured { ratio, .. } if ratio.touches_one() => "ok",
            Self::Measured { ratio, mean, .. } if ratio.encloses_one_with(mean) => "ok (load)",
            Self::Measured { explanation: Some(_), .. } => EXPLAINED,
            Self::Measured { .. } => UNEXPLAINED,
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
    for Row { operation, outcome } in rows {
        match outcome {
            Outcome::NotMeasured(reason) => println!("\n{operation}: not measured: {reason}"),
            Outcome::Measured { ratio, explanation: Some(explanation), .. }
                if outcome.verdict() == EXPLAINED && !ratio.touches_one() =>
            {
                println!("\n{operation}: {}\n    {}", explanation.why, explanation.experiment);
            }
            Outcome::Measured { .. } => {}
        }
    }
    let unexplained = rows.iter().filter(|row| row.outcome.is_unexplained()).count();
    println!("\n{} operations, {unexplained} unexplained", rows.len());
}

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
            Outcome::Measured { turns, ratio, explanation, .. } => {
                object["ratio"] =
                    json!({ "mean": ratio.mean, "low": ratio.low, "high": ratio.high });
                object["explanation"] = json!(explanation);
                let turn = |turn: &Turn| {
                    json!({
                        "oscost_ns": turn.oscost.ns,
                        "oscost_mean_ns": turn.oscost.mean_ns,
                        "plain_ns": turn.plain.ns,
                        "switches": turn.plain.switches,
                    })
                };
                object["turns"] = turns.iter().map(turn).collect();
            }
        }
        object
    };
    json!({ "operations": rows.iter().map(row).collect::<Vec<_>>() })
}
