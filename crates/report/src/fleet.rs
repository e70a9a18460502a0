//! The text of `oscost fleet show`, `fleet compare` and `fleet check`.

use analysis::fleet::{Effect, Explanation, Fleet, Group, Level, Levels, Standing, Stranger};
use analysis::history::HistoryRun;
use analysis::{Ratio, Role, role_of_option};
use results::JOB_TAG;

use crate::first_seen::grouped;
use crate::grid::{self, Cell, Column};
use crate::history::date;
use crate::page::{Ink, Page};
use crate::text;

/// What is known of a fleet.
#[derive(Debug, Clone, Copy)]
pub struct FleetPage<'a> {
    /// Its nodes and figures.
    pub fleet: &'a Fleet,
    /// All runs, by number.
    pub runs: &'a [HistoryRun],
    /// What can be said of the nodes, by group of figures; all figures first.
    pub standings: &'a [Standing],
    /// The facts that go with a difference.
    pub explanations: &'a [Explanation],
}

/// Number of nodes named at each end: on a page of usual width, and on a narrow one.
const EXTREMES: usize = 3;
const EXTREMES_IF_NARROW: usize = 1;
/// Minimum width of a page for all of them.
const ROOM: usize = 110;
/// Maximum number of facts, values or names in a list.
const LISTED: usize = 4;
/// Widest value of a fact.
const WIDEST_VALUE: usize = 36;

/// Which nodes do not belong, the extremes of each group of figures, and the facts that go with differences. With `all`, a row for
/// each node too.
pub fn fleet_text(of: &FleetPage, all: bool, page: &Page) -> String {
    let mut parts = vec![heading(of, page), strangers_text(of, page)];
    if of.fleet.nodes.len() > 1 {
        parts.push(extremes_table(of, page));
    }
    if let Some(facts) = explanations_text(of, page) {
        parts.push(facts);
    }
    if all {
        parts.push(nodes_table(of, page));
    }
    parts.join("\n")
}

fn heading(of: &FleetPage, page: &Page) -> String {
    let first = page.paint_lines(Ink::Heading, &page.hanging("", &summary(of)));
    let other =
        other_options(of).map(|line| page.paint_lines(Ink::Doubt, &page.hanging("", &line)));
    first + &other.unwrap_or_default()
}

/// The nodes whose newest runs were measured with other options than those of most; `None` if there are none.
pub(crate) fn other_options(of: &FleetPage) -> Option<String> {
    let options = |node: &analysis::fleet::Node| {
        let run = node.visits.last().and_then(|visit| visit.last()).map(|&run| &of.runs[run])?;
        let asked = run.summary.asked.iter();
        let asked = asked.filter(|(option, _)| role_of_option(option) == Role::Nuisance);
        Some(
            asked.map(|(option, value)| format!("{option} {value}")).collect::<Vec<_>>().join(", "),
        )
    };
    let all: Vec<(String, &str)> = of
        .fleet
        .nodes
        .iter()
        .filter_map(|node| Some((options(node)?, node.name.as_str())))
        .collect();
    let by_options = grouped(all.iter().map(|(options, node)| (options.as_str(), *node)));
    let most = by_options.iter().max_by_key(|(_, nodes)| nodes.len())?.0;
    let others = by_options.iter().filter(|(options, _)| *options != most);
    let words: Vec<String> = others
        .map(|(options, nodes)| {
            let options = if options.is_empty() { "none" } else { options };
            let nodes = nodes.iter().map(|node| text::clean(node)).collect();
            format!("{} ({options})", text::listed(nodes, LISTED))
        })
        .collect();
    (!words.is_empty())
        .then(|| format!("Measured with other options than most: {}.", words.join("; ")))
}

/// Numbers of nodes, runs and figures, the job, and the dates.
pub(crate) fn summary(of: &FleetPage) -> String {
    let numbers = of.fleet.nodes.iter().flat_map(|node| node.visits.iter().flatten());
    let runs: Vec<usize> = numbers.copied().collect();
    let [from, to] = [runs.iter().min(), runs.iter().max()]
        .map(|run| run.map_or("", |&run| date(&of.runs[run])));
    let period = if from == to { from.to_owned() } else { format!("{from} to {to}") };
    let points: std::collections::BTreeSet<_> =
        of.fleet.figures.iter().map(|figure| &figure.point).collect();
    let parts = [
        text::number_of(of.fleet.nodes.len(), "node"),
        text::number_of(runs.len(), "run"),
        format!(
            "{} of {}",
            text::number_of(of.fleet.figures.len(), "figure"),
            text::number_of(points.len(), "point")
        ),
        period,
    ];
    let jobs: std::collections::BTreeSet<&String> =
        runs.iter().filter_map(|&run| of.runs[run].summary.tags.get(JOB_TAG)).collect();
    let jobs = jobs.into_iter().map(|job| format!("job {}", text::clean(job)));
    parts.into_iter().chain(jobs).collect::<Vec<_>>().join(", ")
}

/// The nodes that do not belong, the worst first, each with what it is worse in.
fn strangers_text(of: &FleetPage, page: &Page) -> String {
    let strangers = stranger_lines(of);
    let widest = strangers.iter().map(|(name, _)| text::width(name)).max().unwrap_or(0);
    let mut lines = String::new();
    for (name, words) in &strangers {
        let first = format!("DOES NOT BELONG  {name:<widest$}  ");
        lines.push_str(&page.paint_lines(Ink::Bad, &page.hanging(&first, words)));
    }
    let nodes: Vec<usize> = strangers_by_node(of.standings).iter().map(|(node, _)| *node).collect();
    let common = if nodes.len() > 1 { of.fleet.only_on(&nodes) } else { Vec::new() };
    if !common.is_empty() {
        let words = format!("These nodes alone have {}.", facts_words(&common));
        lines.push_str(&page.prose(Ink::Plain, &words));
    }
    lines.push_str(&page.prose(Ink::Plain, &verdict(of, strangers.len())));
    lines
}

/// The name of each node that does not belong, the worst first, and what it is worse in.
pub(crate) fn stranger_lines(of: &FleetPage) -> Vec<(String, String)> {
    let line = |(node, of_node): &(usize, Vec<&Stranger>)| {
        let mut words: Vec<String> = of_node.iter().map(|one| stranger_words(of, one)).collect();
        let only = of.fleet.only_on(&[*node]);
        if !only.is_empty() {
            words.push(format!("only there: {}", facts_words(&only)));
        }
        let node = &of.fleet.nodes[*node];
        words.push(text::number_of(node.visits.len(), "visit"));
        (text::clean(&node.name), words.join("; "))
    };
    strangers_by_node(of.standings).iter().map(line).collect()
}

/// A fact as people read it.
fn fact_words(fact: &str) -> String {
    match fact.strip_prefix("tag.") {
        Some(key) => format!("tag {key}"),
        None => fact.replace('_', " "),
    }
}

fn facts_words(facts: &[(&str, &str)]) -> String {
    let words = facts.iter().map(|(fact, value)| {
        format!("{} {}", fact_words(fact), text::shortened(&text::clean(value), WIDEST_VALUE))
    });
    text::listed(words.collect(), LISTED)
}

/// How many nodes are named, and by what rule.
pub(crate) fn verdict(of: &FleetPage, strangers: usize) -> String {
    let nodes = of.fleet.nodes.len();
    let Some(all) = of.standings.first() else { return "Nothing was measured.".to_owned() };
    let Some(named_from) = all.named_from else {
        return format!(
            "{} cannot be told from each other: it takes three with figures in common.",
            text::number_of(nodes, "node")
        );
    };
    let who = match strangers {
        0 => "No node is named",
        _ => "No other node is named",
    };
    format!(
        "{who}. Of {nodes} alike, one or more would be in 5 % of fleets; in all figures a node is named from {} on.",
        share(named_from)
    )
}

/// The strangers by node, the worst first; in all figures first, then with causes in which a node is farther away.
fn strangers_by_node(standings: &[Standing]) -> Vec<(usize, Vec<&Stranger>)> {
    let mut by_node: Vec<(usize, Vec<&Stranger>)> = Vec::new();
    for stranger in standings.iter().flat_map(|standing| &standing.strangers) {
        match by_node.iter_mut().find(|(node, _)| *node == stranger.node) {
            None => by_node.push((stranger.node, vec![stranger])),
            Some((_, of_node)) => {
                let first = of_node[0];
                let (low, high) = (first.factor.low, first.factor.high);
                let is_more = !(low..=high).contains(&stranger.factor.mid);
                if first.group != Group::All || is_more {
                    of_node.push(stranger);
                }
            }
        }
    }
    let size = |of: &[&Stranger]| of.iter().map(|one| one.factor.mid.ln()).fold(0.0, f64::max);
    by_node.sort_by(|one, other| size(&other.1).total_cmp(&size(&one.1)));
    by_node
}

fn stranger_words(of: &FleetPage, stranger: &Stranger) -> String {
    let others: Vec<usize> =
        (0..of.fleet.nodes.len()).filter(|&node| node != stranger.node).collect();
    let cycles = match &stranger.group {
        Group::Cause(analysis::Cause::Entry) => {
            of.fleet.cycles_per_entry(&[stranger.node], &others)
        }
        _ => None,
    };
    let cycles = cycles.map_or(String::new(), |cycles| format!(", {cycles:+.0} cycles per entry"));
    format!("{} in {}{cycles}", factor_words(stranger.factor), stranger.group)
}

/// A factor by which something is worse, such as `31 % worse (22 to 41)`.
fn factor_words(factor: Ratio) -> String {
    let Ratio { mid, low, high } = factor;
    if !(low > 0.0 && high.is_finite()) {
        return format!("{} (too few nodes for an interval)", signed(mid.ln()));
    }
    match mid {
        mid if mid >= 2.0 => format!("{mid:.1} times worse ({low:.1} to {high:.1})"),
        mid if mid <= 0.5 => {
            format!("{:.1} times better ({:.1} to {:.1})", 1.0 / mid, 1.0 / high, 1.0 / low)
        }
        mid if mid >= 1.0 => {
            let percent = |end: f64| (end - 1.0) * 100.0;
            format!("{:.1} % worse ({:.1} to {:.1})", percent(mid), percent(low), percent(high))
        }
        mid => {
            let percent = |end: f64| (1.0 - end) * 100.0;
            format!("{:.1} % better ({:.1} to {:.1})", percent(mid), percent(high), percent(low))
        }
    }
}

/// A factor above 1 as a share, such as `1.9 %`.
fn share(factor: f64) -> String {
    match factor {
        factor if factor >= 2.0 => format!("a factor of {factor:.1}"),
        factor => format!("{:.1} %", (factor - 1.0) * 100.0),
    }
}

/// A row for each group of figures: what is usual, and the nodes at both ends.
fn extremes_table(of: &FleetPage, page: &Page) -> String {
    let most = if page.table_width() < ROOM { EXTREMES_IF_NARROW } else { EXTREMES };
    let extremes = |standing: &Standing, is_worst: bool| {
        let places = standing.deviations.of_nodes.iter().enumerate();
        let mut places: Vec<(usize, f64)> =
            places.filter_map(|(node, place)| Some((node, place.as_ref()?.0))).collect();
        places.sort_by(|one, other| match is_worst {
            true => other.1.total_cmp(&one.1),
            false => one.1.total_cmp(&other.1),
        });
        let names = places.iter().take(most.min(places.len() / 2)).map(|(node, by)| {
            format!("{} {}", text::clean(&of.fleet.nodes[*node].name), signed(*by))
        });
        names.collect::<Vec<_>>().join(", ")
    };
    let standings = of.standings;
    let half = standings.iter().map(|one| Cell::text(share(one.half_within)));
    let from = standings.iter().map(|one| match one.named_from {
        Some(from) => Cell::text(share(from)),
        None => Cell::unknown(),
    });
    let columns = vec![
        Column::words("figures", standings.iter().map(|one| one.deviations.group.to_string())),
        Column::figures(
            "number",
            standings.iter().map(|one| Cell::text(one.deviations.count.to_string())),
        ),
        Column::figures("half within", half),
        Column::figures("named from", from),
        Column::words("worst", standings.iter().map(|one| extremes(one, true))).wrapping(),
        Column::words("best", standings.iter().map(|one| extremes(one, false))).wrapping(),
    ];
    let mut table = grid::table(columns, page);
    let mixed: Vec<String> = standings
        .iter()
        .filter(|standing| !standing.is_one_crowd)
        .map(|standing| standing.deviations.group.to_string())
        .collect();
    if !mixed.is_empty() {
        let words = format!(
            "In {} the nodes are of several kinds, so that only one far from all of them is named.",
            text::joined(&mixed, "and")
        );
        table.push_str(&page.prose(Ink::Faint, &words));
    }
    table
}

/// A logarithm as a signed share, such as `+1.2 %`.
pub(crate) fn signed(by: f64) -> String {
    let factor = by.exp();
    let percent = (factor - 1.0) * 100.0;
    match factor {
        _ if percent.abs() < 0.05 => "0.0 %".to_owned(),
        factor if factor >= 2.0 => format!("x{factor:.1}"),
        _ => format!("{percent:+.1} %"),
    }
}

/// The facts that go with differences, one sentence each; `None` if there are none.
fn explanations_text(of: &FleetPage, page: &Page) -> Option<String> {
    if of.explanations.is_empty() {
        return None;
    }
    let lines = of.explanations.iter().map(|one| {
        let sentence = explanation_words(of.fleet, one);
        page.hanging("", &sentence)
    });
    Some(format!("{}{}", page.heading("Goes with differences"), lines.collect::<String>()))
}

/// Such as `microcode 0x2b (31 nodes) against 0x2a (29 nodes): +12 cycles per entry, 2.6 % worse (2.1 to 3.1) in entries into the
/// kernel; no difference is shown in other figures`.
pub(crate) fn explanation_words(fleet: &Fleet, one: &Explanation) -> String {
    let (first, base) = (fact_words(&one.facts[0]), &one.values[0]);
    let nodes = |nodes: &Vec<usize>| text::number_of(nodes.len(), "node");
    let value = |value: &str| text::shortened(&text::clean(value), WIDEST_VALUE);
    let mut sentences = Vec::new();
    for (nth, (of_value, with)) in one.values.iter().enumerate().skip(1) {
        let effects: Vec<String> =
            one.effects.iter().map(|effect| effect_words(effect, nth - 1)).collect();
        sentences.push(format!(
            "{first} {} ({}) against {} ({}): {}",
            value(of_value),
            nodes(with),
            value(&base.0),
            nodes(&base.1),
            effects.join("; "),
        ));
    }
    let shown: Vec<&Group> = one.effects.iter().map(|effect| &effect.group).collect();
    let others = fleet.groups().len() - shown.len();
    if others > 0 && !shown.contains(&&Group::All) {
        sentences.push("in other figures no difference is shown".to_owned());
    }
    if one.facts.len() > 1 {
        let also: Vec<String> = one.facts[1..].iter().map(|fact| fact_words(fact)).collect();
        let verb = if also.len() == 1 { "has its values" } else { "have their values" };
        sentences.push(format!("{} {verb} on the same nodes", text::listed(also, LISTED)));
    }
    sentences.join("; ")
}

fn effect_words(effect: &Effect, nth: usize) -> String {
    let factor = format!("{} in {}", factor_words(effect.factors[nth]), effect.group);
    match effect.cycles_per_entry.get(nth).copied().flatten() {
        Some(cycles) => format!("{cycles:+.0} cycles per entry, {factor}"),
        None => factor,
    }
}

/// A row for each node, the worst first: its deviation in each group of figures.
fn nodes_table(of: &FleetPage, page: &Page) -> String {
    let mut nodes: Vec<usize> = (0..of.fleet.nodes.len()).collect();
    let place =
        |standing: &Standing, node: usize| standing.deviations.of_nodes[node].map(|(by, _)| by);
    let all = |node: &usize| of.standings.first().and_then(|one| place(one, *node));
    nodes.sort_by(|one, other| {
        let [one, other] = [one, other].map(|node| all(node).unwrap_or(f64::NEG_INFINITY));
        other.total_cmp(&one)
    });
    let names = nodes.iter().map(|&node| text::clean(&of.fleet.nodes[node].name));
    let mut columns = vec![Column::words("node", names)];
    for standing in of.standings {
        let is_stranger =
            |node: usize| standing.strangers.iter().any(|stranger| stranger.node == node);
        let cells = nodes.iter().map(|&node| match place(standing, node) {
            None => Cell::unknown(),
            Some(by) if is_stranger(node) => Cell::inked(signed(by), Ink::Bad),
            Some(by) => Cell::text(signed(by)),
        });
        columns.push(Column::figures(&standing.deviations.group.to_string(), cells));
    }
    grid::table(columns, page)
}

/// How nodes differ by a fact: a row for each value and group of figures, and at which level figures vary.
pub fn fleet_comparison_text(
    of: &FleetPage,
    by: &Explanation,
    levels: &[Levels],
    page: &Page,
) -> String {
    let mut rows: Vec<(String, String, String, String)> = Vec::new();
    let base = &by.values[0];
    for (nth, (value, nodes)) in by.values.iter().enumerate().skip(1) {
        for effect in &by.effects {
            let cycles = effect.cycles_per_entry.get(nth - 1).copied().flatten();
            rows.push((
                format!("{} ({})", text::shortened(&text::clean(value), WIDEST_VALUE), nodes.len()),
                effect.group.to_string(),
                factor_words(effect.factors[nth - 1]),
                cycles.map_or(String::new(), |cycles| format!("{cycles:+.0}")),
            ));
        }
    }
    let columns = vec![
        Column::words(&fact_words(&by.facts[0]), rows.iter().map(|row| row.0.clone())),
        Column::words("figures", rows.iter().map(|row| row.1.clone())),
        Column::words("difference", rows.iter().map(|row| row.2.clone())),
        Column::figures("cycles per entry", rows.iter().map(|row| row.3.clone())),
    ];
    let columns = columns.into_iter().filter_map(Column::unless_blank).collect();
    let against = format!(
        "Against {} {} ({}). Intervals are for one row each.",
        fact_words(&by.facts[0]),
        text::shortened(&text::clean(&base.0), WIDEST_VALUE),
        text::number_of(base.1.len(), "node"),
    );
    let mut parts = vec![
        heading(of, page),
        format!("{}{}", grid::table(columns, page), page.prose(Ink::Faint, &against)),
    ];
    parts.push(levels_table(levels, page));
    parts.join("\n")
}

/// At which level figures vary.
fn levels_table(levels: &[Levels], page: &Page) -> String {
    let mut columns =
        vec![Column::words("figures", levels.iter().map(|one| one.group.to_string()))];
    let headings = ["rounds", "visits", "boots", "nodes", "groups"];
    for (nth, heading) in headings.iter().enumerate().take(Level::ALL.len()) {
        let cells = levels.iter().map(|one| match one.deviations[nth] {
            Some(deviation) => Cell::text(format!("{:.2} %", deviation * 100.0)),
            None => Cell::unknown(),
        });
        columns.push(Column::figures(heading, cells));
    }
    let words = "Standard deviations: of a run by its rounds, of visits in a boot, boots of a node, nodes of a group, and groups. Where \
                 nothing was measured twice (-) a level is part of the next.";
    format!("{}{}", grid::table(columns, page), page.prose(Ink::Faint, words))
}

/// Whether anything can be said of a node: in some group it could be named.
pub fn is_judged(of: &FleetPage, node: usize) -> bool {
    let could_be_named =
        |one: &Standing| one.named_from.is_some() && one.deviations.of_nodes[node].is_some();
    of.standings.iter().any(could_be_named)
}

/// One line about one node: whether it belongs, and why not.
pub fn fleet_check_line(of: &FleetPage, node: usize) -> String {
    let name = text::clean(&of.fleet.nodes[node].name);
    let others = of.fleet.nodes.len() - 1;
    let strangers = strangers_by_node(of.standings);
    let count = of.fleet.figures.iter().filter(|one| one.deviation(node).is_some()).count();
    match strangers.first() {
        Some((_, of_node)) => {
            let words: Vec<String> = of_node.iter().map(|one| stranger_words(of, one)).collect();
            format!("{name} does not belong: {} ({others} others)", words.join("; "))
        }
        None if !is_judged(of, node) => format!(
            "{name} cannot be judged: {} with an interval are too few in common with {others} others",
            text::number_of(count, "figure")
        ),
        None => {
            let from = of.standings.first().and_then(|one| one.named_from);
            let all = of.standings.first().and_then(|one| one.deviations.of_nodes[node]);
            let by =
                all.map_or(String::new(), |(by, _)| format!(", {} from their middle", signed(by)));
            let from =
                from.map_or(String::new(), |from| format!("; named from {} on", share(from)));
            format!(
                "{name} belongs: {} like those of {others} others{by}{from}",
                text::number_of(count, "figure")
            )
        }
    }
}
