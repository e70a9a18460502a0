//! A fleet as a page: which nodes do not belong, where nodes lie, and how far each is from the others in each figure.

use analysis::fleet::{FleetFigure, Standing};
use maud::{Markup, html};

use super::shell;
use super::text::Text;
use crate::fleet::{
    FleetPage, explanation_words, other_options, signed, stranger_lines, summary, verdict,
};
use crate::labels::Label;
use crate::text::number_of;

/// Maximum number of nodes and of figures in the map: half of the nodes are the worst, half the best.
const NODES: usize = 120;
const FIGURES: usize = 120;
/// Side of a cell of the map, in px.
const CELL: usize = 9;
/// Width of the names beside the map, in px.
const NAMES: usize = 120;
/// Height of a line of the heads of the map, and number of these lines: names of neighbouring causes do not cover each other.
const LINE: usize = 14;
const LINES: usize = 3;
const HEAD: usize = LINE * LINES;
/// Width of the name of a cause, in px.
const CAUSE: usize = 180;
/// Height of a row of dots, in px.
const ROW: usize = 18;

/// The page.
pub fn fleet_html(of: &FleetPage, title: Option<&str>) -> String {
    let title = title.map_or_else(|| "oscost: fleet".to_owned(), str::to_owned);
    let sections = [
        ("nodes", "Nodes"),
        ("spread", "Where nodes lie"),
        ("map", "Nodes by figures"),
        ("method", "Method"),
    ];
    let content = html! {
        (shell::section("nodes", "Nodes", nodes(of)))
        (shell::section("spread", "Where nodes lie", spread(of)))
        (shell::section("map", "Nodes by figures", map(of)))
        (shell::section("method", "Method", html! { p {
            "A node's figure is the mean over its visits. Its deviation in a group of figures is the mean of the logarithms of its \
             figures divided by the median of all nodes, where figures that differ little between nodes weigh more. A node is named if \
             its deviation is beyond what chance allows for all nodes and groups together: in 5 % of fleets without a difference one \
             or more are."
        } }))
    };
    shell::page(&title, &sections, None, &content)
}

fn nodes(of: &FleetPage) -> Markup {
    let lines = stranger_lines(of);
    html! {
        p { (Text(&summary(of))) "." }
        @if let Some(line) = other_options(of) { p { (Text(&line)) } }
        @if !lines.is_empty() { ul.findings {
            @for (name, words) in &lines { li { strong.bad { (Text(name)) " does not belong" } ": " (Text(words)) "." } }
        } }
        p { (Text(&verdict(of, lines.len()))) }
        @if !of.explanations.is_empty() {
            h3 { "Goes with differences" }
            ul.findings { @for one in of.explanations { li { (Text(&explanation_words(of.fleet, one))) "." } } }
        }
    }
}

/// A row of dots for each group of figures: a dot for each node.
fn spread(of: &FleetPage) -> Markup {
    html! {
        @for standing in of.standings {
            @let reach = reach(standing);
            figure {
                figcaption {
                    (Text(&format!("{}: {}", standing.deviations.group, number_of(standing.deviations.count, "figure"))))
                    (Text(&ends(of, standing)))
                }
                svg.strip role="img" height=(2 * ROW) aria-label={ "Deviations of nodes in " (Text(&standing.deviations.group.to_string())) } {
                    line.grid x1="50%" x2="50%" y1="0" y2=(ROW) {}
                    @for (node, place) in standing.deviations.of_nodes.iter().enumerate() {
                        @if let Some((by, _)) = place {
                            @let x = 50.0 + 49.0 * (by / reach).clamp(-1.0, 1.0);
                            circle class=(if is_named(standing, node) { "node far" } else { "node" }) cx={ (format!("{x:.2}")) "%" } cy=(ROW / 2) r="4" {
                                title { (Text(&format!("{} {}", of.fleet.nodes[node].name, signed(*by)))) }
                            }
                        }
                    }
                    text.axis x="0" y=(2 * ROW - 4) { (signed(-reach)) " (better)" }
                    text.axis x="50%" y=(2 * ROW - 4) text-anchor="middle" { "middle" }
                    text.axis x="100%" y=(2 * ROW - 4) text-anchor="end" { (signed(reach)) " (worse)" }
                }
            }
        }
        p.note { "Nodes farther out than the ends are drawn at the ends." }
    }
}

/// The nodes at both ends, so that dots have names without a pointer.
fn ends(of: &FleetPage, standing: &Standing) -> String {
    let places = standing.deviations.of_nodes.iter().enumerate();
    let places = places.filter_map(|(node, place)| Some((node, place.as_ref()?.0)));
    let mut places: Vec<(usize, f64)> = places.collect();
    places.sort_by(|one, other| one.1.total_cmp(&other.1));
    let [best, .., worst] = &places[..] else { return String::new() };
    let name =
        |(node, by): &(usize, f64)| format!("{} {}", of.fleet.nodes[*node].name, signed(*by));
    format!("; worst {}, best {}", name(worst), name(best))
}

/// The deviation at the ends of the axis: most nodes are well within, and those that are named are seen.
fn reach(standing: &Standing) -> f64 {
    let far = standing.deviations.of_nodes.iter().flatten().map(|(by, _)| by.abs());
    let usual = standing.named_from.map_or(0.0, |from| 3.0 * from.ln());
    far.fold(1e-3, f64::max).min(usual.max(1e-3))
}

fn is_named(standing: &Standing, node: usize) -> bool {
    standing.strangers.iter().any(|stranger| stranger.node == node)
}

/// A cell for each node and figure, by how far the node is from the others.
fn map(of: &FleetPage) -> Markup {
    let Some(all) = of.standings.first() else { return html! {} };
    let mut nodes: Vec<usize> = (0..of.fleet.nodes.len()).collect();
    let place = |node: usize| all.deviations.of_nodes[node].map_or(f64::NEG_INFINITY, |(by, _)| by);
    nodes.sort_by(|one, other| place(*other).total_cmp(&place(*one)));
    let left_out = nodes.len().saturating_sub(NODES);
    if left_out > 0 {
        nodes.drain(NODES / 2..NODES / 2 + left_out);
    }
    let mut figures: Vec<&FleetFigure> = of.fleet.figures.iter().collect();
    figures.sort_by(|one, other| (&one.cause, &one.point).cmp(&(&other.cause, &other.point)));
    let figures_left = figures.len().saturating_sub(FIGURES);
    figures.truncate(FIGURES);
    // The first column of each cause.
    let causes: Vec<usize> = (0..figures.len())
        .filter(|&at| at == 0 || figures[at].cause != figures[at - 1].cause)
        .collect();
    // The name of the last cause may be wider than its columns.
    let of_names = causes.last().map_or(0, |at| CELL * at + CAUSE);
    let width = NAMES + of_names.max(CELL * figures.len());
    let height = HEAD + CELL * nodes.len();
    html! {
        p {
            "A row for each node, the worst first; a column for each figure, by cause. Colours tell how far the node is from the middle of \
             all, in units of their spread: "
            span.w1 { "1 to 2" } ", " span.w2 { "2 to 4" } ", " span.w3 { "more, worse" } "; "
            span.b1 { "1 to 2" } ", " span.b2 { "2 to 4" } ", " span.b3 { "more, better" } "."
        }
        @if left_out > 0 { p.note { "Left out between them: " (number_of(left_out, "node")) "." } }
        @if figures_left > 0 { p.note { "Left out: " (number_of(figures_left, "figure")) ". Name areas or cases." } }
        div.scroll tabindex="0" role="group" aria-label="Map of nodes by figures" {
            svg.heat width=(width) height=(height) role="img" aria-label="Nodes by figures" {
                @for (nth, &at) in causes.iter().enumerate() {
                    text.axis x=(NAMES + CELL * at) y=(LINE * (nth % LINES) + LINE - 4) { "↓ " (Text(&figures[at].cause.to_string())) }
                }
                @for (row, &node) in nodes.iter().enumerate() {
                    text.axis x=(NAMES - 6) y=(HEAD + CELL * row + CELL - 1) text-anchor="end" { (Text(&crate::text::shortened(&of.fleet.nodes[node].name, 18))) }
                    @for (column, figure) in figures.iter().enumerate() {
                        @if let Some(by) = figure.deviation(node) {
                            rect class=(shade(by / figure.spread())) x=(NAMES + CELL * column) y=(HEAD + CELL * row) width=(CELL - 1) height=(CELL - 1) {
                                title { (Text(&cell(&of.fleet.nodes[node].name, figure, by))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cell(node: &str, figure: &FleetFigure, by: f64) -> String {
    format!("{node}, {} {}: {}", Label::of(&figure.point).with_area(), figure.metric, signed(by))
}

/// The class of a cell whose node is so many spreads worse than the middle.
fn shade(spreads: f64) -> &'static str {
    match spreads {
        s if s >= 4.0 => "w3",
        s if s >= 2.0 => "w2",
        s if s >= 1.0 => "w1",
        s if s <= -4.0 => "b3",
        s if s <= -2.0 => "b2",
        s if s <= -1.0 => "b1",
        _ => "w0",
    }
}
