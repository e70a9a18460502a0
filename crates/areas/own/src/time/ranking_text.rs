//! The comparison of commands in words.

use analysis::{Ratio, Verdict};
use report::page::Page;

use super::lines::shortened;
use super::ranking::{Ranked, Ranking};

/// Sentences that say how much faster or slower one command is than each of the others.
pub fn ranking_text(ranking: &Ranking, page: &Page) -> String {
    let base = shortened(&ranking.base);
    if let [other] = &ranking.others[..] {
        return page.signs(&page.hanging("", &sentence(&base, other)));
    }
    let mut text = page.hanging("", &format!("{base} ran"));
    for other in &ranking.others {
        text.push_str(&page.hanging("  ", &clause(other)));
    }
    page.signs(&text)
}

/// The sentence about two commands.
fn sentence(base: &str, ranked: &Ranked) -> String {
    match ranked.compared.verdict {
        Verdict::Slower | Verdict::Faster => format!("{base} ran {}", clause(ranked)),
        _ => format!("{base} ran {}.", clause(ranked)),
    }
}

/// What follows `A ran`.
fn clause(Ranked { command, compared }: &Ranked) -> String {
    let command = shortened(command);
    let ratio = compared.ratio;
    let took = || ratio.map_or(String::new(), |ratio| format!(", which took {}", as_long(ratio)));
    let note = match compared.note.as_str() {
        "" => String::new(),
        note => format!("; {note}"),
    };
    match (compared.verdict, ratio) {
        (Verdict::Slower, Some(ratio)) => format!("{} faster than {command}", times(ratio)),
        (Verdict::Faster, Some(Ratio { mid, low, high })) => {
            let inverse = Ratio { mid: 1.0 / mid, low: 1.0 / high, high: 1.0 / low };
            format!("{} slower than {command}", times(inverse))
        }
        (Verdict::Same, _) => format!("as fast as {command}{}", took()),
        (Verdict::CannotTell, _) => {
            let is_shorter = ratio.is_none_or(|ratio| ratio.mid >= 1.0);
            let word = if is_shorter { "faster" } else { "slower" };
            format!("perhaps {word} than {command}{}{note}", took())
        }
        (verdict, _) => format!("beside {command}{}: {}{note}", took(), verdict.word()),
    }
}

/// A ratio with its interval.
fn times(Ratio { mid, low, high }: Ratio) -> String {
    let places = match high - low {
        width if width > 2.0 => 0,
        width if width > 0.2 => 1,
        width if width > 0.004 => 2,
        _ => 3,
    };
    format!("{mid:.places$} times ({low:.places$} to {high:.places$})")
}

/// A ratio of times in words that say which is which.
fn as_long(Ratio { mid, low, high }: Ratio) -> String {
    let places = if high - low < 0.02 { 3 } else { 2 };
    format!("{mid:.places$} times as long ({low:.places$} to {high:.places$})")
}

#[cfg(test)]
mod tests {
    use analysis::Compared;

    use super::*;

    const PAGE: Page = Page { width: 100, colour: false, unicode: true, this_run: false };

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
            has_failed: false,
        };
        Ranked { command: command.to_owned(), compared }
    }

    #[test]
    fn two_commands_are_compared_in_one_sentence() {
        let text = |other: Ranked| {
            ranking_text(&Ranking { base: "A".to_owned(), others: vec![other] }, &PAGE)
        };
        let slower = ranked("B", Verdict::Slower, [1.7, 1.8, 1.85], "");
        assert_eq!(text(slower), "A ran 1.80 times (1.70 to 1.85) faster than B\n");
        let faster = ranked("B", Verdict::Faster, [0.4, 0.5, 0.5], "");
        assert_eq!(text(faster), "A ran 2.0 times (2.0 to 2.5) slower than B\n");
        let unclear = ranked("B", Verdict::CannotTell, [0.99, 1.01, 1.03], "more runs decide it");
        assert_eq!(
            text(unclear),
            "A ran perhaps faster than B, which took 1.01 times as long (0.99 to 1.03); more runs decide it.\n"
        );
    }

    #[test]
    fn several_commands_have_a_line_each() {
        let others = vec![
            ranked("B", Verdict::Same, [0.99, 1.0, 1.01], ""),
            ranked("C", Verdict::Slower, [1.7, 1.8, 1.85], ""),
        ];
        assert_eq!(
            ranking_text(&Ranking { base: "A".to_owned(), others }, &PAGE),
            "A ran\n  as fast as B, which took 1.00 times as long (0.99 to 1.01)\n  1.80 times (1.70 to 1.85) faster than C\n"
        );
    }
}
