//! Commands compared with the fastest of them, in words.

use analysis::{Ranked, Ranking, Ratio, Verdict};

use crate::page::Page;
use crate::text;

/// Ratios below this are given as percentages.
const FEW_PERCENT: f64 = 1.2;

/// Which command is the fastest, and how much longer each of the others takes.
pub fn ranking_text(ranking: &Ranking, page: &Page) -> String {
    let is_slower = |ranked: &Ranked| ranked.compared.verdict == Verdict::Slower;
    let first = match ranking.others.iter().all(is_slower) {
        true => format!("{} is the fastest.", ranking.fastest),
        false => format!(
            "{} has the shortest time, but not by a significant difference.",
            ranking.fastest
        ),
    };
    let mut text = text::hanging("", &first, page.prose_width());
    for ranked in &ranking.others {
        let line = format!("{}: {}", ranked.command, in_words(ranked));
        text.push_str(&text::hanging("  ", &line, page.prose_width()));
    }
    text.push('\n');
    page.signs(&text)
}

fn in_words(Ranked { compared, .. }: &Ranked) -> String {
    let ratio = compared.ratio.map(times);
    match (compared.verdict, ratio) {
        (Verdict::Slower, Some(ratio)) => format!("slower, {ratio}"),
        (Verdict::CannotTell, Some(ratio)) => format!("cannot tell, {ratio}; {}", compared.note),
        (Verdict::CannotTell, None) => format!("cannot tell; {}", compared.note),
        (verdict, Some(ratio)) => format!("{}, {ratio}", verdict.word()),
        (verdict, None) => verdict.word().to_owned(),
    }
}

/// `1.98 times as long (1.97 to 1.99)`, or `1.2 % longer (0.3 to 2.1 %)`.
fn times(Ratio { mid, low, high }: Ratio) -> String {
    let percent = |ratio: f64| (ratio - 1.0) * 100.0;
    if mid < FEW_PERCENT {
        let [mid, low, high] = [mid, low, high].map(percent);
        return format!("{mid:.1} % longer ({low:.1} to {high:.1} %)");
    }
    let places = match high - low {
        width if width > 2.0 => 0,
        width if width > 0.2 => 1,
        _ => 2,
    };
    format!("{mid:.places$} times as long ({low:.places$} to {high:.places$})")
}

#[cfg(test)]
mod tests {
    use analysis::Compared;

    use super::*;

    fn ranked(command: &str, verdict: Verdict, [low, mid, high]: [f64; 3], note: &str) -> Ranked {
        let compared = Compared {
            point: crate::labels::point("time/command", &[]),
            metric: "time".to_owned(),
            unit: "ns/op".to_owned(),
            base: None,
            new: None,
            ratio: Some(Ratio { mid, low, high }),
            floor: 0.01,
            verdict,
            note: note.to_owned(),
        };
        Ranked { command: command.to_owned(), compared }
    }

    #[test]
    fn the_answer_comes_first() {
        let page = Page { width: 100, colour: false, unicode: true };
        let slower = ranked("make -j1", Verdict::Slower, [1.7, 1.8, 1.85], "");
        let ranking = Ranking { fastest: "make -j2".to_owned(), others: vec![slower.clone()] };
        assert_eq!(
            ranking_text(&ranking, &page),
            "make -j2 is the fastest.\n  make -j1: slower, 1.80 times as long (1.70 to 1.85)\n\n"
        );
        let note = "about 4 times as many rounds would settle it";
        let unclear = ranked("make -j3", Verdict::CannotTell, [0.99, 1.01, 1.03], note);
        let ranking = Ranking { others: vec![unclear, slower], ..ranking };
        let text = ranking_text(&ranking, &page);
        assert!(
            text.starts_with("make -j2 has the shortest time, but not by a significant"),
            "{text}"
        );
        assert!(
            text.contains("make -j3: cannot tell, 1.0 % longer (-1.0 to 3.0 %); about"),
            "{text}"
        );
    }
}
