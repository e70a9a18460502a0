//! Plots of text: figures over a parameter as bars, and distributions of samples as histograms.

use analysis::Samples;

use crate::html::{ReportRun, ScaledPoint, SweepPlot, sweep_plots};
use crate::page::{Ink, Page};
use crate::picture::bar;
use crate::quantity::figure;
use crate::text;

/// The width of a plot.
const WIDTH: usize = 80;

/// The width of the longest bar.
const BAR: usize = 40;

const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// All sweeps of the run as bars, then the distribution of the samples of each point if its rounds are stored.
pub fn plots(run: &ReportRun, page: &Page) -> String {
    let mut parts: Vec<String> = sweep_plots(run).iter().map(|plot| sweep(plot, page)).collect();
    parts.extend(distributions(run, page));
    match parts.is_empty() {
        true => {
            "nothing to plot: no parameter has three values, and no rounds are stored\n".to_owned()
        }
        false => parts.join("\n"),
    }
}

/// Bars, one per point, grouped by line.
fn sweep(plot: &SweepPlot, page: &Page) -> String {
    let scale = if plot.is_logarithmic { " (logarithmic)" } else { "" };
    let title = text::hanging("", &format!("{}{scale}", plot.title), WIDTH);
    let mut text = page.paint_lines(Ink::Heading, &title);
    let names =
        plot.lines.iter().flat_map(|(_, points)| points).map(|point| text::width(&point.at));
    let names = names.max().unwrap_or(0).min(WIDTH / 4);
    for (name, points) in &plot.lines {
        if !name.is_empty() {
            text.push_str(&text::hanging("  ", name, WIDTH));
        }
        for ScaledPoint { at, share, figure } in points {
            let at: String = text::clean(at).chars().take(names).collect();
            let pad = " ".repeat(names.saturating_sub(text::width(&at)));
            let bar = bar(*share, BAR, page.unicode);
            let room = " ".repeat(BAR.saturating_sub(text::width(&bar)));
            text.push_str(&format!(
                "    {pad}{at} {}{room} {figure}\n",
                page.paint(Ink::Good, &bar)
            ));
        }
    }
    text
}

/// Lines of blocks, one per point.
fn distributions(run: &ReportRun, page: &Page) -> Option<String> {
    let recorded = run.recorded?;
    let times = run.document.results.iter().filter(|result| result.metric == crate::rows::COST);
    let lines: Vec<String> = times
        .filter_map(|result| {
            let samples = recorded.samples(&result.case, &result.params)?;
            let name = text::hanging("", &result.label(), WIDTH);
            Some(name + &histogram(samples, &result.unit, page))
        })
        .collect();
    let title = "distribution of all samples; the last step has all longer ones\n";
    (!lines.is_empty()).then(|| page.paint_lines(Ink::Heading, title) + &lines.concat())
}

/// Histogram of samples, such as `   160 ns ▁▂█▃▁ 240 ns, longest 3.2 us, 2 modes`.
fn histogram(samples: &Samples, unit: &str, page: &Page) -> String {
    let shown = |value: f64| figure(value, value.abs() * 0.01, unit).to_string();
    let most = samples.all_steps.iter().copied().max().unwrap_or(0).max(1);
    let sign = |count: &u32| {
        let share = f64::from(*count) / f64::from(most);
        match (page.unicode, *count) {
            (true, 0) => BLOCKS[0],
            (true, _) => BLOCKS[((share * 8.0).round() as usize).clamp(1, 8)],
            (false, 0) => '.',
            // A digit gives the height in tenths of the highest step, rounded up.
            (false, _) => char::from(b'0' + ((share * 10.0).ceil() as u8).clamp(1, 9)),
        }
    };
    let steps: String = samples.all_steps.iter().map(sign).collect();
    let modes = match samples.modes.len() {
        1 => String::new(),
        n => format!(", {n} modes"),
    };
    let longest = samples.quantiles[4];
    format!(
        "{:>9} {} {}; {}{modes}\n",
        shown(samples.from),
        page.paint(Ink::Good, &steps),
        shown(samples.to),
        shown(longest)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_fit_the_width() {
        let samples = (0..1_000).map(|at| 100.0 + f64::from(at % 50)).chain([9_000.0]);
        let samples = Samples::of(samples.collect(), &[]).unwrap();
        for unicode in [true, false] {
            let page = Page { width: 80, colour: false, unicode, this_run: false };
            let text = histogram(&samples, "ns/op", &page);
            assert!(text::width(text.trim_end()) <= WIDTH, "{text}");
            assert!(text.contains("100.0 ns") || text.contains("100 ns"), "{text}");
            assert!(unicode || text.is_ascii(), "{text}");
        }
    }

    #[test]
    fn bars_are_in_proportion() {
        let point =
            |at: &str, share: f64| ScaledPoint { at: at.into(), share, figure: "5 ns".into() };
        let plot = SweepPlot {
            title: "lock: time by workers".into(),
            is_logarithmic: false,
            lines: vec![("futex".into(), vec![point("1", 0.5), point("16", 1.0)])],
        };
        let text =
            sweep(&plot, &Page { width: 80, colour: false, unicode: false, this_run: false });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["lock: time by workers", "  futex"]);
        assert_eq!(lines[2].matches('#').count() * 2, lines[3].matches('#').count());
        assert!(lines.iter().all(|line| line.len() <= WIDTH));
    }
}
