//! Commands compared with the fastest one, in words.

use super::ranking::{Ranked, Ranking};
use analysis::Verdict;

use report::page::Page;
use report::quantity::ratio_words;

/// Sentences that name the fastest command, and how much longer each of the others takes.
pub fn ranking_text(ranking: &Ranking, page: &Page) -> String {
    let is_slower = |ranked: &Ranked| ranked.compared.verdict == Verdict::Slower;
    let first = match ranking.others.iter().all(is_slower) {
        true => format!("{} is the fastest.", ranking.fastest),
        false => format!(
            "{} has the shortest time, but not by a significant difference.",
            ranking.fastest
        ),
    };
    let mut text = page.hanging("", &first);
    for ranked in &ranking.others {
        let line = format!("{}: {}", ranked.command, in_words(ranked));
        text.push_str(&page.hanging("  ", &line));
    }
    text.push('\n');
    page.signs(&text)
}

fn in_words(Ranked { compared, .. }: &Ranked) -> String {
    let ratio = compared.ratio.map(|ratio| ratio_words(ratio, "as long", "longer"));
    match (compared.verdict, ratio) {
        (Verdict::Slower, Some(ratio)) => format!("slower, {ratio}"),
        (Verdict::CannotTell, Some(ratio)) => format!("cannot tell, {ratio}; {}", compared.note),
        (Verdict::CannotTell, None) => format!("cannot tell; {}", compared.note),
        (verdict, Some(ratio)) => format!("{}, {ratio}", verdict.word()),
        (verdict, None) => verdict.word().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use analysis::{Compared, Ratio};

    use super::*;

    fn ranked(command: &str, verdict: Verdict, [low, mid, high]: [f64; 3], note: &str) -> Ranked {
        let compared = Compared {
            point: results::PointKey {
                case: "time/command".to_owned(),
                params: std::collections::BTreeMap::new(),
            },
            metric: "time".to_owned(),
            unit: "ns/op".to_owned(),
            base: None,
            new: None,
            ratio: Some(Ratio { mid, low, high }),
            floor: 0.01,
            verdict,
            note: note.to_owned(),
            worse_at_most: None,
        };
        Ranked { command: command.to_owned(), compared }
    }

    #[test]
    fn the_answer_comes_first() {
        let page = Page { width: 100, colour: false, unicode: true, this_run: false };
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
