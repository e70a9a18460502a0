//! Columns of intervals beside a column of figures, and a line that explains the intervals.

use results::{CaseResult, Estimate, Source};

use crate::grid::{Cell, Column};
use crate::noise::visits_in_words;
use crate::page::Page;
use crate::quantity::interval_figure;
use crate::rows::measured;

/// A figure with the number of rounds behind it.
#[derive(Debug, Clone, Copy)]
pub struct Uncertain {
    /// The estimate, with the interval of the next run if it is known.
    pub estimate: Estimate,
    /// The estimate with the interval of the run itself; `None` for a value that is no figure of a point.
    pub this_run: Option<Estimate>,
    /// Number of rounds.
    pub rounds: u32,
}

impl Uncertain {
    /// The figure of a result; `None` if the result has none.
    pub fn of(result: &CaseResult) -> Option<Self> {
        let estimate = measured(result)?;
        Some(Self { estimate, this_run: result.estimate, rounds: result.rounds })
    }

    /// The interval as text, or the number of rounds if they are too few for an interval.
    pub fn words(self) -> Option<String> {
        self.words_of(self.estimate)
    }

    fn words_of(self, estimate: Estimate) -> Option<String> {
        let Estimate { median, low, high, .. } = estimate;
        match (estimate.has_interval(), self.rounds) {
            (true, _) => interval_figure(median, low, high).map(|figure| figure.to_string()),
            (false, 1) => Some("1 round".to_owned()),
            (false, rounds) => Some(format!("{rounds} rounds")),
        }
    }
}

/// Columns of intervals, such as `±0.2 %`, or `1 round` for a figure without one; beside them the intervals of this run if the
/// page has them. Columns that are empty in all rows are left out.
pub fn interval_columns(
    figures: impl Iterator<Item = Option<Uncertain>>,
    page: &Page,
) -> Vec<Column> {
    let figures: Vec<Option<Uncertain>> = figures.collect();
    let column = |heading: &str, words: &dyn Fn(Uncertain) -> Option<String>| {
        let cells = figures.iter().map(|figure| {
            let words = figure.and_then(words);
            words.map(|words| Cell::text(page.signs(&words))).unwrap_or_default()
        });
        Column::figures(&page.signs(heading), cells).close()
    };
    let mut columns = vec![column("±", &Uncertain::words)];
    if page.this_run {
        let own = |figure: Uncertain| figure.words_of(figure.this_run?);
        columns.push(column("this run", &own));
    }
    columns.retain(|column| !column.is_blank());
    columns
}

/// A line that says what the intervals cover, and from what they are known; `None` if no figure has one.
pub fn interval_line<'r>(results: impl IntoIterator<Item = &'r CaseResult>) -> Option<String> {
    let results: Vec<&CaseResult> = results.into_iter().collect();
    let known = results.iter().filter_map(|result| result.next_run);
    let Some(known) = known.max_by_key(|next| next.visits) else {
        let estimates = results.iter().filter_map(|result| result.estimate);
        let level = estimates.filter(Estimate::has_interval).map(|e| e.level * 100.0).next()?;
        return Some(format!("±: the {level:.0} % interval of this run."));
    };
    let from = match known.source {
        Source::Visits => format!("by {}", visits_in_words(&known)),
        Source::Processor => format!("as other machines with such a processor differ; {NARROWS}"),
        Source::AnyProcessor => format!("as the widest known machine differs; {NARROWS}"),
    };
    let level = known.level * 100.0;
    Some(format!("±: where the figure of the next run here lies, with {level:.0} %, {from}."))
}

/// Advice that narrows the intervals of the next run.
const NARROWS: &str = "this is the first visit, and `oscost noise --quick` narrows it";
