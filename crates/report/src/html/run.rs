//! The sections about a run as a whole: its disturbances, doubtful figures, the machine and the method.

use std::cmp::Reverse;

use analysis::Moment;
use maud::{Markup, html};
use results::Outcome;
use serde_json::Value;

use crate::first_seen::grouped;
use crate::html::chart::grid;
use crate::html::chart::{Chart, Drawing, Line, LinePoint, Lines, XAxis};
use crate::html::figures::scrolled;
use crate::html::text::{Ids, Text};
use crate::html::view::View;
use crate::rows::reasons;

/// Facts about a machine that explain its figures, with their names here.
const FACTS: [(&str, &str); 14] = [
    ("system", "system"),
    ("cpu", "CPU"),
    ("cpus", "CPUs"),
    ("smt", "SMT"),
    ("hypervisor", "hypervisor"),
    ("container", "container"),
    ("compat", "compatibility layer"),
    ("distribution", "distribution"),
    ("release", "kernel"),
    ("clock_source", "clock source"),
    ("governor", "CPU governor"),
    ("mitigations", "mitigations"),
    ("seccomp", "seccomp"),
    ("filesystem.temp.type", "file system"),
];

/// The state of the machine in the course of the run; empty if it was not recorded.
pub(super) fn disturbance(view: &View, ids: &mut Ids) -> Markup {
    let moments = view.recorded.map_or(&[][..], |recorded| &recorded.moments);
    type Part = (&'static str, &'static str, fn(&Moment) -> Option<f64>);
    const PARTS: [Part; 4] = [
        ("core frequency", "GHz", |moment| moment.ghz),
        ("quiet share of the measuring time", "share", |moment| moment.quiet),
        ("CPU time stolen by the hypervisor", "share", |moment| moment.steal),
        ("time throttled by the CPU quota", "share", |moment| moment.throttled),
    ];
    let mut chart = |(what, unit, of): &Part| {
        let points = moments.iter().filter_map(|moment| {
            let value = of(moment)?;
            let x = moment.seconds;
            Some(LinePoint { x, y: value, low: value, high: value, ..LinePoint::default() })
        });
        let points: Vec<LinePoint> = points.collect();
        let lines = Lines {
            x: XAxis {
                title: "time since the run began".to_owned(),
                unit: "s".to_owned(),
                ..XAxis::default()
            },
            metric: (*what).to_owned(),
            unit: (*unit).to_owned(),
            floats: *unit == "GHz",
            lines: vec![Line { name: (*what).to_owned(), look: 0, points }],
            ..Lines::default()
        };
        Chart::new(ids.chart(), format!("{what} during the run"), Drawing::Lines(lines))
    };
    let charts: Vec<Chart> = PARTS.iter().map(&mut chart).collect();
    html! {
        details { summary { "The course of the run" (view.about) }
            @if moments.is_empty() { p { "The rounds of this run are not stored here: nothing is known of its course." } }
            (grid(&charts))
        }
    }
}

/// All doubtful figures and failures by reason.
pub(super) fn doubts(view: &View) -> Markup {
    let all = view.areas.iter().flat_map(|area| area.points.iter().map(move |point| (area, point)));
    let all = all.flat_map(|(area, point)| {
        let results = point.results.iter().filter(|r| r.outcome != Outcome::Unsupported);
        let link = (&point.id, format!("{} {}", area.name, point.short));
        results.flat_map(|result| reasons(result)).map(move |reason| (reason, link.clone()))
    });
    let mut by_reason = grouped(all);
    by_reason.iter_mut().for_each(|(_, points)| points.dedup());
    by_reason.sort_by_cached_key(|(reason, points)| (Reverse(points.len()), reason.to_string()));
    let list = html! {
        @if by_reason.is_empty() { p { "No figure is doubtful, and nothing failed." } }
        @for (reason, points) in &by_reason {
            details { summary { (points.len()) ": " (Text(&reason.to_string())) }
                ul.points { @for (id, name) in points { li { a href={ "#" (id) } { (Text(name)) } } } }
            }
        }
    };
    folded(view, by_reason.iter().map(|(_, points)| points.len()).sum(), list)
}

/// What is said of one of several runs, folded.
fn folded(view: &View, count: usize, content: Markup) -> Markup {
    match view.about.is_empty() {
        true => content,
        false => {
            html! { details { summary { (Text(&view.name)) ": " (count) } div.inside { (content) } } }
        }
    }
}

/// Facts about the machine and the options of the run: those that explain figures, and all, folded.
pub(super) fn machine(view: &View) -> Markup {
    let run = &view.document.run;
    let fact = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let about = [
        ("run", run.id.clone()),
        ("started", run.started.clone()),
        ("finished", run.finished.clone().unwrap_or_else(|| "not finished".to_owned())),
        ("oscost", run.oscost.clone()),
        ("seed", run.seed.to_string()),
    ];
    let row = |key: &str, value: &str| html! { tr { th scope="row" { (Text(key)) } td.text { (Text(value)) } } };
    let known =
        FACTS.iter().filter_map(|(key, name)| Some((name, fact(view.document.machine.get(*key)?))));
    let known = known.filter(|(_, fact)| !["", "unknown", "none", "null"].contains(&fact.as_str()));
    let head = html! { thead { tr { th scope="col" { "fact" } th scope="col" { "value" } } } };
    let all = view.document.machine.len() + about.len() + run.tags.len() + run.asked.len();
    let facts = html! {
        dl.facts { @for (name, fact) in known { div { dt { (name) } dd { (Text(&fact)) } } } }
        details { summary { "All facts about the run and its machine: " (all) }
        (scrolled(&format!("The run{}", view.about), html! { (head) tbody {
            @for (key, value) in &about { (row(key, value)) }
            @for (key, value) in &run.tags { (row(&format!("tag {key}"), value)) }
            @for (key, value) in &run.asked { (row(&format!("asked {key}"), value)) }
        } }))
        (scrolled(&format!("Its machine{}", view.about), html! { (head) tbody {
            @for (key, value) in &view.document.machine { (row(key, &fact(value))) }
        } }))
        }
    };
    folded(view, all, facts)
}

/// A paragraph on how figures are measured.
pub(super) fn method() -> Markup {
    html! { p {
        "Each point is measured in many rounds, each in a fresh process, interleaved over all points in a shuffled order. \
         Reference computations beside each batch of operations show when a neighbour or the hypervisor disturbs the \
         core; samples taken then are kept, but do not enter the estimate. An estimate is the median over rounds of the \
         quiet samples' medians; its interval comes from the spread between rounds. What the core's frequency bounds is \
         estimated in core cycles and given in ns at the median frequency of the run. Distributions show all samples, as \
         an application would have seen them. System calls, switches and faults are counted in a separate, untimed pass."
    } }
}
