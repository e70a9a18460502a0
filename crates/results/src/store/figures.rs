//! The figures of many runs, without rounds and distributions: a history reads those of a thousand runs in the time that a
//! few documents take.
//!
//! The body of a run is a sequence of records, one for each measured result. Numbers are little-endian.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | the identity: the `seq` of a text |
//! | 2 | number of rounds, at most 65,535 |
//! | 2 | flags: which of the optional parts follow, and the [`RunFigure`]'s own |
//! | 8, 4, 4 | the figure (64 bits), the ends of its interval (32 bits); infinite without one |
//! | 4, 4, 4 | the same in core cycles, if known |
//! | 4, 4 | system calls and voluntary switches for each operation, if counted; NaN for one that was not |
//! | 4, 4, 4, 4 | the range of the next run, the deviation between visits and its degrees of freedom, if predicted |

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::engine::{LIST_AT_MOST, PointRow, Row, Value, json, listed, values};
use super::{RunSummary, Store, StoreError};
use crate::document::{CaseResult, Direction, Estimate, Interval, MachineFacts, Outcome};
use crate::point::PointKey;

/// One metric of one point over runs.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSeries {
    /// The point.
    pub point: PointKey,
    /// The metric.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is better.
    pub better: Direction,
    /// The figures.
    pub figures: Figures,
}

/// Figures with the number of their run, ascending. They stay packed, as a history has millions: figures are exact, and what
/// surrounds them has 32 bits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// Records as in the store, with the number of the run in place of the identity.
    records: Vec<u8>,
}

impl Figures {
    /// Adds the figure of a run, whose number is below 2^32.
    pub fn push(&mut self, run: usize, figure: &RunFigure) {
        figure.pack(run_number(run), &mut self.records);
    }

    /// The figures with the number of their run.
    pub fn iter(&self) -> impl Iterator<Item = (usize, RunFigure)> {
        let mut rest = self.records.as_slice();
        std::iter::from_fn(move || {
            let (run, figure, after) = RunFigure::unpack(rest)?;
            rest = after;
            Some((run as usize, figure))
        })
    }

    /// The number of figures, counted at each call.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are no figures.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds a record of the store. `runs` is the number of records to expect.
    fn push_record(&mut self, run: usize, record: &[u8], runs: usize) {
        if self.records.is_empty() {
            self.records.reserve_exact(runs * record.len());
        }
        self.records.extend(run_number(run).to_le_bytes());
        self.records.extend(&record[size_of::<u32>()..]);
    }
}

impl FromIterator<(usize, RunFigure)> for Figures {
    fn from_iter<I: IntoIterator<Item = (usize, RunFigure)>>(figures: I) -> Self {
        let mut all = Self::default();
        figures.into_iter().for_each(|(run, figure)| all.push(run, &figure));
        all
    }
}

fn run_number(run: usize) -> u32 {
    u32::try_from(run).expect("fewer than 2^32 runs")
}

/// The figure of one run, as stored when the run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunFigure {
    /// The figure with the interval of its run, in the unit of the metric; the ends are infinite with too few rounds.
    pub figure: Interval,
    /// The figure in core cycles per operation, if known.
    pub cycles: Option<Interval>,
    /// Number of rounds.
    pub rounds: u16,
    /// System calls for each operation, if counted.
    pub syscalls: Option<f64>,
    /// Voluntary context switches for each operation, if counted.
    pub voluntary_switches: Option<f64>,
    /// Whether the figure was sampled, as opposed to timed as a whole or computed.
    pub is_sampled: bool,
    /// Whether there were reasons to doubt the figure, or too few quiet rounds.
    pub is_doubtful: bool,
    /// What was predicted for the next run.
    pub next: Option<StoredPrediction>,
}

/// A prediction of the next run's figure at the usual level, as stored with a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredPrediction {
    /// Lower end of the range, in the unit of the metric.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
    /// The standard deviation from visit to visit that was known before the run.
    pub deviation: f64,
    /// Its degrees of freedom.
    pub degrees: f64,
}

const SAMPLED: u16 = 1;
const DOUBTFUL: u16 = 2;
const HAS_CYCLES: u16 = 4;
const HAS_COUNTS: u16 = 8;
const HAS_NEXT: u16 = 16;

impl RunFigure {
    /// The figure of a result; `None` if it was not measured.
    pub fn of(result: &CaseResult) -> Option<Self> {
        let estimate = result.estimate.filter(|_| result.outcome == Outcome::Measured)?;
        let Estimate { median, low, high, .. } = estimate;
        let per_op = result.per_op.as_ref();
        let figure = Self {
            figure: Interval { median, low, high },
            cycles: result.cycles,
            rounds: u16::try_from(result.rounds).unwrap_or(u16::MAX),
            syscalls: per_op.and_then(|per_op| per_op.syscalls),
            voluntary_switches: per_op.and_then(|per_op| per_op.voluntary_switches),
            is_sampled: result.seen.is_some(),
            is_doubtful: result.disturbed || !result.doubts.is_empty(),
            next: result.next_run.map(|next| StoredPrediction {
                low: next.low,
                high: next.high,
                deviation: next.deviation,
                degrees: next.degrees,
            }),
        };
        Some(figure)
    }

    pub(super) fn pack(&self, identity: u32, body: &mut Vec<u8>) {
        let flags = [
            (self.is_sampled, SAMPLED),
            (self.is_doubtful, DOUBTFUL),
            (self.cycles.is_some(), HAS_CYCLES),
            (self.syscalls.is_some() || self.voluntary_switches.is_some(), HAS_COUNTS),
            (self.next.is_some(), HAS_NEXT),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
        body.extend(identity.to_le_bytes());
        body.extend(self.rounds.to_le_bytes());
        body.extend(u16::to_le_bytes(flags));
        body.extend(self.figure.median.to_le_bytes());
        let mut short = |numbers: &[f64]| {
            body.extend(numbers.iter().flat_map(|&number| (number as f32).to_le_bytes()));
        };
        short(&[self.figure.low, self.figure.high]);
        if let Some(cycles) = self.cycles {
            short(&[cycles.median, cycles.low, cycles.high]);
        }
        if flags & HAS_COUNTS != 0 {
            let counts = [self.syscalls, self.voluntary_switches];
            short(&counts.map(|count| count.unwrap_or(f64::NAN)));
        }
        if let Some(next) = self.next {
            short(&[next.low, next.high, next.deviation, next.degrees]);
        }
    }

    /// The identity of the first record of `body`, the record, and what follows it; `None` if it is cut short.
    pub(super) fn split(body: &[u8]) -> Option<(u32, &[u8], &[u8])> {
        let mut rest = body;
        let identity = u32::from_le_bytes(taken(&mut rest)?);
        let [_, _, flags @ ..] = taken::<4>(&mut rest)?;
        let flags = u16::from_le_bytes(flags);
        let parts = [(HAS_CYCLES, 12), (HAS_COUNTS, 8), (HAS_NEXT, 16)];
        let optional = parts.iter().filter(|(flag, _)| flags & flag != 0).map(|(_, bytes)| bytes);
        let (record, after) = body.split_at_checked(24 + optional.sum::<usize>())?;
        Some((identity, record, after))
    }

    /// The identity of the first record of `body`, its figure, and what follows it; `None` if it is cut short.
    pub(super) fn unpack(body: &[u8]) -> Option<(u32, Self, &[u8])> {
        let mut rest = body;
        let identity = u32::from_le_bytes(taken(&mut rest)?);
        let rounds = u16::from_le_bytes(taken(&mut rest)?);
        let flags = u16::from_le_bytes(taken(&mut rest)?);
        let has = |flag: u16| flags & flag != 0;
        let median = f64::from_le_bytes(taken(&mut rest)?);
        let [low, high] = shorts(&mut rest)?;
        let cycles = match has(HAS_CYCLES) {
            true => {
                let [median, low, high] = shorts(&mut rest)?;
                Some(Interval { median, low, high })
            }
            false => None,
        };
        let [syscalls, voluntary_switches] = match has(HAS_COUNTS) {
            true => {
                shorts(&mut rest)?.map(|count: f64| Some(count).filter(|count| !count.is_nan()))
            }
            false => [None; 2],
        };
        let next = match has(HAS_NEXT) {
            true => {
                let [low, high, deviation, degrees] = shorts(&mut rest)?;
                Some(StoredPrediction { low, high, deviation, degrees })
            }
            false => None,
        };
        let figure = Self {
            figure: Interval { median, low, high },
            cycles,
            rounds,
            syscalls,
            voluntary_switches,
            is_sampled: has(SAMPLED),
            is_doubtful: has(DOUBTFUL),
            next,
        };
        Some((identity, figure, rest))
    }
}

fn taken<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*first)
}

fn shorts<const N: usize>(rest: &mut &[u8]) -> Option<[f64; N]> {
    let mut numbers = [0.0; N];
    for number in &mut numbers {
        *number = f64::from(f32::from_le_bytes(taken(rest)?));
    }
    Some(numbers)
}

/// What identifies a metric of a point, as a text of the store.
#[derive(Debug, Serialize, Deserialize)]
struct Identity {
    case: String,
    #[serde(default)]
    params: BTreeMap<String, String>,
    metric: String,
    unit: String,
    better: Direction,
}

impl Identity {
    fn of(result: &CaseResult) -> Self {
        Self {
            case: result.case.clone(),
            params: result.params.clone(),
            metric: result.metric.clone(),
            unit: result.unit.clone(),
            better: result.better,
        }
    }
}

/// Series by identity, in the order in which they appear.
#[derive(Default)]
struct Gathered {
    /// Number of runs.
    runs: usize,
    series: Vec<MetricSeries>,
    /// Number of the series of a text by its `seq`; `None` if it is not wanted.
    of_seq: HashMap<u32, Option<usize>>,
    /// The texts of the run before, with their series: most runs have the same in the same order.
    of_last: Vec<(u32, Option<usize>)>,
    /// Texts that were read and are not in `of_seq` yet.
    identities: HashMap<u32, Identity>,
    of_text: HashMap<String, usize>,
}

impl Gathered {
    fn number(&mut self, identity: Identity) -> usize {
        let next = self.series.len();
        let number = *self.of_text.entry(json(&identity)).or_insert(next);
        if number == next {
            let Identity { case, params, metric, unit, better } = identity;
            let point = PointKey { case, params };
            let figures = Figures::default();
            self.series.push(MetricSeries { point, metric, unit, better, figures });
        }
        number
    }
}

impl Store {
    /// All runs with results that are finished, in the order in which they were measured, with their machines.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn finished_runs(&self) -> Result<Vec<(RunSummary, MachineFacts)>, StoreError> {
        let sql = "SELECT id, started, finished, oscost, tags, asked, machine_line, rounds, results, machine
                   FROM runs WHERE finished IS NOT NULL AND results > 0 ORDER BY started_us, seq";
        let of_row = |row| {
            let summary = self.summary(row)?;
            let machine = self.json(row, 9, "machine", &summary.id)?;
            Ok((summary, machine))
        };
        self.engine.query(sql, &[])?.iter().map(of_row).collect()
    }

    /// The figures of these runs, for the cases that are wanted.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`]; if the store cannot be read.
    pub fn figures(
        &self,
        ids: &[&str],
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<MetricSeries>, StoreError> {
        let mut gathered = Gathered { runs: ids.len(), ..Gathered::default() };
        let is_packed = self.engine.has_figures()?;
        let at_once = self.engine.runs_at_once();
        for (some, first) in ids.chunks(at_once).zip((0..).step_by(at_once)) {
            let mut bodies = if is_packed { self.bodies(some)? } else { HashMap::new() };
            for (id, number) in some.iter().zip(first..) {
                if let Some(body) = bodies.remove(*id) {
                    self.add_packed(&mut gathered, number, id, &body, &is_wanted)?;
                    continue;
                }
                // A run of an earlier build has its document only.
                for result in &self.document(id)?.results {
                    let figure = RunFigure::of(result).filter(|_| is_wanted(&result.case));
                    if let Some(figure) = figure {
                        let series = gathered.number(Identity::of(result));
                        gathered.series[series].figures.push(number, &figure);
                    }
                }
            }
        }
        Ok(gathered.series)
    }

    /// The packed figures of those runs that have them.
    fn bodies(&self, ids: &[&str]) -> Result<HashMap<String, Vec<u8>>, StoreError> {
        let (list, given) = listed(ids.iter().copied().map(Value::from).collect());
        let sql = format!(
            "SELECT id, body FROM packed_figures JOIN runs ON runs.seq = run WHERE id IN {list}"
        );
        let rows = self.engine.query(&sql, &given)?;
        let of_row = |mut row: Row| {
            let id = self.column(&row, 0)?;
            // A body is large: it is moved, not copied.
            match row.0.pop() {
                Some(Value::Blob(body)) => Ok((id, body)),
                _ => Err(self.damaged(format!("the figures of run {id} are no bytes"))),
            }
        };
        rows.into_iter().map(of_row).collect()
    }

    /// Reads the texts of all figures of a run that are not known yet, with few statements.
    fn read_identities(&self, gathered: &mut Gathered, body: &[u8]) -> Result<(), StoreError> {
        let mut unknown = BTreeSet::new();
        let mut rest = body;
        while let Some((text, _, after)) = RunFigure::split(rest) {
            if !gathered.of_seq.contains_key(&text) {
                unknown.insert(text);
            }
            rest = after;
        }
        let unknown: Vec<u32> = unknown.into_iter().collect();
        for some in unknown.chunks(LIST_AT_MOST) {
            let (list, given) = listed(some.iter().copied().map(Value::from).collect());
            let sql = format!("SELECT seq, text FROM texts WHERE seq IN {list}");
            for row in self.engine.query(&sql, &given)? {
                let (seq, text): (u32, String) = (self.column(&row, 0)?, self.column(&row, 1)?);
                gathered.identities.extend(serde_json::from_str(&text).map(|found| (seq, found)));
            }
        }
        Ok(())
    }

    /// Adds the figures of a run.
    fn add_packed(
        &self,
        gathered: &mut Gathered,
        number: usize,
        id: &str,
        body: &[u8],
        is_wanted: &impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let mut rest = body;
        let mut at = 0;
        while !rest.is_empty() {
            let (text, record, after) = RunFigure::split(rest)
                .ok_or_else(|| self.damaged(format!("the figures of run {id} are cut short")))?;
            rest = after;
            let series = match gathered.of_last.get(at) {
                Some(&(of_last, series)) if of_last == text => series,
                _ => {
                    let series = self.series_of(gathered, id, text, body, is_wanted)?;
                    gathered.of_last.truncate(at);
                    gathered.of_last.push((text, series));
                    series
                }
            };
            at += 1;
            if let Some(series) = series {
                gathered.series[series].figures.push_record(number, record, gathered.runs);
            }
        }
        Ok(())
    }

    /// The number of the series of a text that the figures of run `id` name; `None` if it is not wanted.
    fn series_of(
        &self,
        gathered: &mut Gathered,
        id: &str,
        text: u32,
        body: &[u8],
        is_wanted: &impl Fn(&str) -> bool,
    ) -> Result<Option<usize>, StoreError> {
        if let Some(series) = gathered.of_seq.get(&text) {
            return Ok(*series);
        }
        if !gathered.identities.contains_key(&text) {
            self.read_identities(gathered, body)?;
        }
        let identity = gathered.identities.remove(&text).ok_or_else(|| {
            self.damaged(format!("the figures of run {id} name a text that is not there"))
        })?;
        let series = is_wanted(&identity.case).then(|| gathered.number(identity));
        gathered.of_seq.insert(text, series);
        Ok(series)
    }

    /// Writes the figures of a run's results, within the open transaction.
    pub(super) fn write_figures(
        &self,
        run: i64,
        results: &[&CaseResult],
    ) -> Result<(), StoreError> {
        let texts: Vec<String> = results.iter().map(|result| json(&Identity::of(result))).collect();
        let number_of = self.text_numbers(texts.iter().map(String::as_str).collect())?;
        let (mut body, mut points) = (Vec::new(), Vec::new());
        for (result, text) in results.iter().zip(&texts) {
            let text = number_of[text.as_str()];
            points.push(PointRow::of(text, result));
            let Some(figure) = RunFigure::of(result) else { continue };
            let identity = u32::try_from(text)
                .map_err(|_| self.damaged("it has more texts than it can number"))?;
            figure.pack(identity, &mut body);
        }
        let sql = "INSERT INTO packed_figures (run, body) VALUES (?1, ?2)
                   ON CONFLICT (run) DO UPDATE SET body = excluded.body";
        self.engine.execute(sql, &values![run, body])?;
        self.engine.put_points(run, &points)
    }
}

impl PointRow {
    fn of(identity: i64, result: &CaseResult) -> Self {
        let figure = RunFigure::of(result);
        Self {
            identity,
            outcome: result.outcome.word().to_owned(),
            reason: result.reason.clone(),
            figure: figure.map(|figure| figure.figure),
            cycles: figure.and_then(|figure| figure.cycles),
            rounds: result.rounds.into(),
            is_doubtful: figure.is_some_and(|figure| figure.is_doubtful),
        }
    }
}
