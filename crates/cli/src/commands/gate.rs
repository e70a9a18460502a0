//! The rule of all gates (`compare --fail-above`, `check`, `study`): exit code 1 if something is worse or fails, else 3 if
//! something could not be judged, else 0; and a last line that says which.

use analysis::claim::{ClaimVerdict, JudgedClaim};
use analysis::{Compared, Verdict};
use command::ending::Ending;
use command::options::write;
use command::output::{note, print};
use report::{
    Comparison, TestCase, TestOutcome, claims_junit, claims_markdown, comparison_markdown, junit,
};
use results::Document;

use crate::args::{Gate, Undecided};

/// Number of names in the last line.
const NAMED: usize = 6;

/// What a gate has judged.
pub struct Tally {
    /// The judged things, such as `claims`.
    things: &'static str,
    /// Number of all things.
    count: usize,
    /// What one that is good is, such as `hold`.
    good: String,
    /// What one that is not good is, such as `worse by more than 5 %`.
    bad: String,
    /// Names of those that are not good.
    failed: Vec<String>,
    /// Groups of those that could not be judged, such as their areas, in the order of the things.
    open: Vec<String>,
    /// Reasons why these could not be judged, one for each.
    reasons: Vec<&'static str>,
    /// Number of those that had nothing to be compared with.
    alone: usize,
    /// Number of those without a verdict that are good because they are certainly within the limit.
    within: usize,
}

impl Tally {
    /// The tally of rows by the largest share by which they may be worse; without this limit a row is judged if it has a verdict.
    pub fn of_rows<'a>(rows: impl Iterator<Item = &'a Compared>, limit: Option<f64>) -> Self {
        let limit_in_words = |limit: f64| format!("{} %", (limit * 1e6).round() / 1e4);
        let worse = limit.map(|limit| format!("worse by more than {}", limit_in_words(limit)));
        let good = worse.as_ref().map(|worse| format!("none {worse}"));
        let mut tally = Self::new("rows", good.unwrap_or_default(), worse.unwrap_or_default());
        for row in rows {
            tally.count += 1;
            match is_good(row, limit) {
                Some(true) => tally.within += usize::from(!row.verdict.is_decided()),
                Some(false) => tally.failed.push(row.point.to_string()),
                None => {
                    tally.alone += usize::from(row.verdict == Verdict::NotComparable);
                    tally.leave_open(row.point.area(), reason(row));
                }
            }
        }
        tally
    }

    /// The tally of claims.
    pub fn of_claims(claims: &[JudgedClaim]) -> Self {
        let mut tally = Self::new("claims", "all hold".to_owned(), "failed".to_owned());
        for judged in claims {
            tally.count += 1;
            let name = &judged.claim.title();
            match judged.verdict {
                ClaimVerdict::Holds => {}
                ClaimVerdict::Fails => tally.failed.push(name.clone()),
                open => tally.leave_open(name, open.word()),
            }
        }
        tally
    }

    fn new(things: &'static str, good: String, bad: String) -> Self {
        let (failed, open, reasons) = (Vec::new(), Vec::new(), Vec::new());
        Self { things, count: 0, good, bad, failed, open, reasons, alone: 0, within: 0 }
    }

    fn leave_open(&mut self, group: &str, reason: &'static str) {
        self.open.push(group.to_owned());
        self.reasons.push(reason);
    }

    /// Prints the last line: after text on standard output, beside JSON on standard error.
    ///
    /// # Errors
    /// The error of writing.
    pub fn print(&self, beside_json: bool) -> anyhow::Result<()> {
        match beside_json {
            true => note(&self.line()),
            false => print(&format!("\n{}", self.line()))?,
        }
        Ok(())
    }

    /// The ending of the gate. Where nothing could be compared it never passes.
    pub fn ending(&self, undecided: Undecided) -> Ending {
        match (self.failed.is_empty(), self.open.is_empty(), undecided) {
            (false, ..) => Ending::CheckFailed,
            _ if self.alone == self.count => Ending::NotMeasured,
            (true, false, Undecided::Fail) => Ending::NotMeasured,
            _ => Ending::Done,
        }
    }

    /// The last line.
    pub fn line(&self) -> String {
        let Self { things, count, good, bad, failed, open, reasons, alone: _, within } = self;
        let mut parts = Vec::new();
        if !failed.is_empty() {
            parts.push(format!("{} of {count} {bad}: {}", failed.len(), counted(failed)));
        }
        if !open.is_empty() {
            let (number, open, reasons) = (open.len(), counted(open), counted(reasons));
            parts.push(format!("{number} of {count} not judged: {open} ({reasons})"));
        }
        if parts.is_empty() {
            let good = if good.is_empty() { String::new() } else { format!(", {good}") };
            parts.push(match count {
                0 => format!("no {} to judge", things.trim_end_matches('s')),
                1 => format!("1 {} judged{good}", things.trim_end_matches('s')),
                _ => format!("all {count} {things} judged{good}"),
            });
            if *within > 0 {
                parts.push(format!("{within} without a verdict, but certainly within the limit"));
            }
        }
        parts.join("; ")
    }
}

/// Writes the files of a gate that judges claims.
///
/// # Errors
/// The error of writing.
pub fn write_claims(
    title: Option<&str>,
    judged: &[JudgedClaim],
    runs: &[Document],
    gate: &Gate,
) -> anyhow::Result<()> {
    if let Some(path) = &gate.markdown {
        write(path, claims_markdown(title, judged, runs).as_bytes())?;
    }
    if let Some(path) = &gate.junit {
        write(path, claims_junit(title, judged, runs).as_bytes())?;
    }
    Ok(())
}

/// A comparison with its rows as the gate judges them, each with the name of its column.
pub struct JudgedRows<'a> {
    /// The comparison.
    pub comparison: &'a Comparison,
    /// All rows of all columns.
    pub rows: Vec<(&'a str, &'a Compared)>,
    /// The compared runs.
    pub runs: &'a [Document],
    /// Largest share by which a row may be worse.
    pub limit: Option<f64>,
}

impl JudgedRows<'_> {
    /// The tally of the rows. A run compared with itself judges nothing, as where the new run was not saved.
    pub fn tally(&self) -> Tally {
        let mut ids: Vec<&str> = self.runs.iter().map(|run| run.run.id.as_str()).collect();
        ids.sort_unstable();
        let is_same_twice = ids.windows(2).any(|pair| pair[0] == pair[1]);
        let rows = || self.rows.iter().map(|(_, row)| *row);
        if !is_same_twice {
            return Tally::of_rows(rows(), self.limit);
        }
        let mut tally = Tally::new("rows", String::new(), String::new());
        for row in rows() {
            tally.count += 1;
            tally.alone += 1;
            tally.leave_open(row.point.area(), "the same run on both sides");
        }
        tally
    }

    /// Writes the files of the gate.
    ///
    /// # Errors
    /// The error of writing.
    pub fn write(&self, gate: &Gate) -> anyhow::Result<()> {
        if let Some(path) = &gate.markdown {
            let headline = self.tally().line();
            let text = comparison_markdown(self.comparison, &headline, self.runs);
            write(path, text.as_bytes())?;
        }
        if let Some(path) = &gate.junit {
            let tests: Vec<TestCase> = self.rows.iter().map(|row| self.test(row)).collect();
            let base = self.comparison.runs.first().map_or("base", |(_, run)| run.as_str());
            let name = format!("compared with {base}");
            write(path, junit(&name, "ratios", &tests, self.runs).as_bytes())?;
        }
        Ok(())
    }

    fn test(&self, (column, row): &(&str, &Compared)) -> TestCase {
        let mut name = format!("{} {}", row.point, row.metric);
        if self.comparison.columns.len() > 2 {
            name.push_str(&format!(" ({column})"));
        }
        let mut said = match row.ratio {
            Some(ratio) => {
                let (mid, low, high) = (ratio.mid, ratio.low, ratio.high);
                format!("{}: x{mid:.3} ({low:.3} to {high:.3})", row.verdict.word())
            }
            None => row.verdict.word().to_owned(),
        };
        if !row.note.is_empty() {
            said.push_str(&format!(": {}", row.note));
        }
        let outcome = match is_good(row, self.limit) {
            Some(true) => TestOutcome::Passed,
            Some(false) => TestOutcome::Failure(said.clone()),
            None if row.has_failed => TestOutcome::Error(said.clone()),
            None => TestOutcome::Skipped(said.clone()),
        };
        TestCase { name, outcome, output: said }
    }
}

/// Whether the row is certainly not worse by more than the limit, or certainly is; `None` if neither is certain.
fn is_good(row: &Compared, limit: Option<f64>) -> Option<bool> {
    let Some(limit) = limit else { return row.verdict.is_decided().then_some(true) };
    let is_small = row.worse_at_most.is_some_and(|worse| worse <= limit);
    match row.verdict {
        Verdict::CannotTell => is_small.then_some(true),
        Verdict::NotComparable | Verdict::Emulated | Verdict::AnotherMachine => None,
        verdict if !verdict.is_loss() => Some(true),
        _ if certainly_worse_by(row) > limit => Some(false),
        // A figure without a ratio, such as a share that was 0, is worse by an unknown share.
        _ if row.ratio.is_none() => Some(false),
        _ => is_small.then_some(true),
    }
}

/// Share by which a row is certainly worse.
fn certainly_worse_by(row: &Compared) -> f64 {
    row.ratio.map_or(0.0, |ratio| (ratio.low - 1.0).max(1.0 / ratio.high - 1.0))
}

fn reason(row: &Compared) -> &'static str {
    match row.verdict {
        Verdict::NotComparable => "no pair",
        Verdict::CannotTell => "cannot tell",
        Verdict::Emulated | Verdict::AnotherMachine => row.verdict.word(),
        _ => "perhaps above the limit",
    }
}

/// Each name once, the most frequent first, with its number if there are several: `lock 12, syscall`.
fn counted(names: &[impl AsRef<str>]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names.iter().map(AsRef::as_ref) {
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let word = |(name, count): &(&str, usize)| match count {
        1 => (*name).to_owned(),
        count => format!("{name} {count}"),
    };
    let mut words: Vec<String> = counts.iter().take(NAMED).map(word).collect();
    if counts.len() > NAMED {
        let more: usize = counts[NAMED..].iter().map(|(_, count)| count).sum();
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use analysis::Ratio;
    use results::PointKey;

    use super::*;

    fn row(case: &str, verdict: Verdict, [low, high]: [f64; 2]) -> Compared {
        Compared {
            point: PointKey { case: case.to_owned(), params: std::collections::BTreeMap::new() },
            metric: "time".to_owned(),
            unit: "ns/op".to_owned(),
            base: None,
            new: None,
            ratio: Some(Ratio { mid: (low + high) / 2.0, low, high }),
            floor: 0.0,
            verdict,
            note: String::new(),
            worse_at_most: Some(high - 1.0),
            has_failed: false,
        }
    }

    fn tally(rows: &[Compared]) -> Tally {
        Tally::of_rows(rows.iter(), Some(0.05))
    }

    #[test]
    fn what_cannot_be_judged_neither_passes_nor_fails() {
        let good = row("clock/a", Verdict::Same, [0.99, 1.01]);
        let small = row("clock/b", Verdict::CannotTell, [0.98, 1.04]);
        let open = row("lock/a", Verdict::CannotTell, [0.9, 1.3]);
        let perhaps = row("lock/b", Verdict::Slower, [1.03, 1.08]);
        let bad = row("net/a", Verdict::Slower, [1.06, 1.08]);
        for (rows, strict, lax, line) in [
            (
                &[good.clone(), small.clone()][..],
                Ending::Done,
                Ending::Done,
                "all 2 rows judged, none worse by more than 5 %; 1 without a verdict, but certainly within the limit",
            ),
            (
                &[good.clone(), open.clone(), perhaps],
                Ending::NotMeasured,
                Ending::Done,
                "2 of 3 not judged: lock 2 (cannot tell, perhaps above the limit)",
            ),
            (
                &[good, open, bad],
                Ending::CheckFailed,
                Ending::CheckFailed,
                "1 of 3 worse by more than 5 %: net/a; 1 of 3 not judged: lock (cannot tell)",
            ),
        ] {
            let tally = tally(rows);
            assert_eq!(tally.ending(Undecided::Fail), strict, "{line}");
            assert_eq!(tally.ending(Undecided::Pass), lax, "{line}");
            assert_eq!(tally.line(), line);
        }
        let nothing = tally(&[row("lock/a", Verdict::NotComparable, [1.0, 1.0])]);
        for none_judged in [nothing, tally(&[])] {
            assert_eq!(none_judged.ending(Undecided::Pass), Ending::NotMeasured);
        }
        let undecided = row("lock/a", Verdict::CannotTell, [0.9, 1.3]);
        assert_eq!(tally(&[undecided]).ending(Undecided::Pass), Ending::Done);
        let held_back = Compared { worse_at_most: None, ..small };
        assert_eq!(tally(&[held_back]).ending(Undecided::Fail), Ending::NotMeasured);
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (0..9).map(|n| format!("a{n}")).collect();
        assert_eq!(counted(&names), "a0, a1, a2, a3, a4, a5, 3 more");
    }
}
