//! Correct claim files, and files with mistakes.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use testing::rows;

use super::super::*;

const GOOD: &str = r#"
title = "Locks"

[[claim]]
name = "sysv-slower"
sentence = "System V semaphores cost at least 10 % more than process-shared POSIX ones."
source = "an experiment"
a = { case = "lock/sysv-sem", params = { workers = [1, 2], work = "none" }, metric = "time", system = "native" }
b = { case = "lock/posix-sem-shared" }
relation = "ratio >= 1.10"
scope = "for all"

[[claim]]
name = "two-calls"
sentence = "A free System V semaphore takes two system calls."
a = { case = "lock/sysv-sem", params = { workers = 1, as = "threads", work = "none" }, metric = "syscalls" }
relation = "= 2"

[[claim]]
name = "event-loop"
sentence = "From about a thousand connections on the event loop is faster."
a = { case = "net/answer", params = { arch = "threads" }, metric = "rate" }
b = { params = { arch = "epoll" } }
relation = "crosses between 100 and 1000"
over = "connections"

[[claim]]
name = "grows"
sentence = "Contention costs more with each worker."
relation = "increases with workers"
scope = "for some"

[claim.a]
case = "lock/futex"

[[claim]]
name = "clock"
sentence = "A reading takes less than 2 us."
a.case = "clock/gettimeofday"
relation = "< 2us"

[[claim]]
name = "elsewhere"
sentence = "The other system is slower."
missing = "Windows 95"
"#;

fn check(text: &str) -> Result<ClaimFile, FileError> {
    simulated::areas::install();
    let file = ClaimFile::parse(text)?;
    check_names(&file.claims, &[])?;
    Ok(file)
}

#[test]
fn a_good_file_is_read() {
    let file = check(GOOD).unwrap();
    assert_eq!(file.title.as_deref(), Some("Locks"));
    let names: Vec<&str> = file.claims.iter().map(|claim| claim.name.as_str()).collect();
    assert_eq!(names, ["sysv-slower", "two-calls", "event-loop", "grows", "clock", "elsewhere"]);
    assert_eq!(file.claims[0].at, Location { line: 4, column: 1 });
    let Content::Statement(first) = &file.claims[0].content else { panic!("it compares") };
    assert_eq!(first.a.params["workers"].value, ["1", "2"]);
    let b = first.b.as_ref().unwrap();
    assert_eq!(b.metric.value, "time");
    assert_eq!(b.system.as_ref().unwrap().value, "native");
    assert!(b.params.is_empty());
    assert_eq!((first.scope, &first.relation.value.quantity), (Scope::ForAll, &Quantity::Ratio));
    assert_eq!(first.relation.at.line, 10);
    assert_eq!(file.claims[5].content, Content::Missing("Windows 95".to_owned()));
}

/// A claim with this relation and these further lines.
fn with(relation: &str, more: &str) -> String {
    format!(
        "[[claim]]\nname = \"x\"\nsentence = \"A sentence.\"\nrelation = \"{relation}\"\n{more}"
    )
}

const ONE: &str = "a.case = \"lock/futex\"\n";
const TWO: &str = "a.case = \"lock/futex\"\nb.case = \"lock/std-mutex\"\n";

#[test]
fn relations_are_read() {
    let region = |relation: &str, more: &str| {
        let file = ClaimFile::parse(&with(relation, more)).unwrap();
        let Content::Statement(statement) = file.claims[0].content.clone() else { panic!() };
        let Region { low, high } = statement.relation.value.region;
        let number = |limit: Option<Limit>| limit.map(|limit| (limit.number, limit.included));
        (number(low), number(high))
    };
    let over = format!("{TWO}over = \"workers\"\n");
    for (relation, more, low, high) in [
        ("ratio <= 0.9", TWO, None, Some((0.9, true))),
        (">= 12", TWO, Some((12.0, true)), None),
        ("> 1e3", TWO, Some((1e3, false)), None),
        ("< 2 us", ONE, None, Some((2.0, false))),
        ("value<2us", ONE, None, Some((2.0, false))),
        ("between 1 us and 2 us", ONE, Some((1.0, true)), Some((2.0, true))),
        ("within 25 %", TWO, Some((0.8, true)), Some((1.25, true))),
        ("within 25% of 2", TWO, Some((1.6, true)), Some((2.5, true))),
        ("crosses <= 4", &over, None, Some((4.0, true))),
        ("crosses 1.1 <= 4", &over, None, Some((4.0, true))),
        ("slope > -0.1", &over, Some((-0.1, false)), None),
        ("increases with workers", TWO, Some((1.0, false)), None),
        ("decreases with workers", ONE, Some((1.0, false)), None),
    ] {
        assert_eq!(region(relation, more), (low, high), "{relation}");
    }
    assert_eq!(region("crosses at 10", &over).1, Some((11.0, true)));
}

/// The error message for a file.
fn mistake(text: &str) -> String {
    check(text).unwrap_err().to_string()
}

#[test]
fn mistakes_in_relations_have_a_column() {
    for [relation, sides, message] in rows(
        r#"
         | 2 | line 4, column 12: the text is empty in `claim.relation`
        ratio | 2 | line 4, column 18: a condition is missing
        ratio ~ 3 | 2 | line 4, column 19: "~" begins no condition: write one such as
        ratio <= | 2 | line 4, column 21: a number is missing
        ratio <= x | 2 | line 4, column 22: a number is missing
        ratio <= 1.2.3 | 2 | line 4, column 22: "1.2.3" is not a number
        ratio <= 1e999 | 2 | line 4, column 22: "1e999" is not a number
        ratio <= 2 us | 2 | line 4, column 24: a ratio or a slope has no unit
        ratio <= 2 ratio | 2 | a ratio or a slope has no unit
        ratio <= 2 3 | 2 | line 4, column 24: nothing may follow here
        ratio >= 2 | 1 | line 4, column 13: a ratio needs a side b
        crosses -2 at 3 | 2 over | line 4, column 21: the sides cross at a ratio
        crosses at 3 | 1 | line 4, column 13: a crossing needs a side b
        crosses at 3 | 2 | line 4, column 13: it needs a parameter: over
        value < 2 us | 2 | line 4, column 13: a value is of one side
        slope at 3 | 1 over | line 4, column 19: `at` is for `crosses`
        ratio < 2 | 2 over | line 7, column 8: over is for `crosses`
        between 1 us | 1 | line 4, column 25: "and" is missing
        between 3 us and 2 us | 1 | line 4, column 21: the lower end comes first
        between 1 ms and 2 us | 1 | line 4, column 12: its lower end is above its upper end
        within 5 | 2 | line 4, column 21: "%" is missing
        within % 5 | 2 | line 4, column 20: a percentage above 0 is missing
        within 0 % | 2 | a percentage above 0 is missing
        within 5 % | 1 | line 4, column 23: the center is missing
        within 5 % of 0 us | 1 | line 4, column 27: it must be above 0
        increases workers | 1 | line 4, column 23: "with" is missing
        increases with | 1 | line 4, column 27: the name of a parameter is missing
        increases with colour | 1 | lock/futex has no parameter "colour"
        < 2 | 1 | line 4, column 12: the metric is a time: the limit needs a unit
        < 2 MB | 1 | line 4, column 12: "MB" is no unit of time
        crosses at 3 x | 2 over | line 4, column 12: "x" is no unit of workers
        "#,
    ) {
        let over = if sides.ends_with("over") { "over = \"workers\"\n" } else { "" };
        let sides = if sides.starts_with('1') { ONE } else { TWO };
        let found = mistake(&with(relation, &format!("{sides}{over}")));
        assert!(found.starts_with("line "), "{relation}: {found}");
        assert!(found.contains(message), "{relation}: {found}, not {message}");
    }
}

fn assert_mistake(text: &str, message: &str) {
    let found = mistake(text);
    assert!(found.starts_with("line ") && found.contains(", column "), "{found}");
    assert!(found.contains(message), "{text}\n{found}\nnot {message}");
}

#[test]
fn other_mistakes_have_a_line_and_a_column() {
    let good = with("< 2 us", ONE);
    for [text, message] in rows(
        r#"
         | line 1, column 1: the file has no claim
        x = | line 1, column 4:
        [[claim] | line 1, column
        claim = 3 | line 1, column 9: invalid type: integer `3`, expected an array
        claim = [3] | line 1, column 10: invalid type: integer `3`, expected a table: [[claim]]
        [[claim]] | line 1, column 1: missing key `name` in `claim`
        "#,
    ) {
        assert_mistake(text, message);
    }
    // The first mistake in the file is reported, not the first key of the alphabet.
    let order = "line 2, column 1: unknown key `zebra`, expected one of";
    assert_mistake("[[claim]]\nzebra = 1\nant = 1\n", order);
    let before = "line 1, column 1: unknown key `colour`, expected `title` or `claim`";
    assert_mistake(&format!("colour = 1\n{good}"), before);
    assert_mistake(&format!("{good}{good}"), "line 7, column 8: a second claim named \"x\"");
    for [added, message] in rows(
        r#"
        colour = 1 | line 6, column 1: unknown key `colour`, expected one of `name`,
        b = 3 | line 6, column 5: invalid type: integer `3`, expected a table: { case =
        missing = "x" | a claim with `missing` has only
        missing = "" | line 6, column 11: the text is empty in `claim.missing`
        scope = "for each" | line 6, column 9: unknown variant `for each`, expected one of `at`, `for all`,
        a.metric = "x" | line 6, column 12: lock/futex has no metric "x"
        a.colour = "x" | line 6, column 3: unknown key `colour`, expected one of `case`, `params`,
        "#,
    ) {
        assert_mistake(&format!("{good}{added}\n"), message);
    }
    for [old, new, message] in rows(
        r#"
        relation | relaton | line 4, column 1: unknown key `relaton`, expected one of
        relation | relative | line 4, column 1: unknown key `relative`
        "x" | "a b" | line 2, column 8: a name consists of
        "x" | 7 | line 2, column 8: invalid type: integer `7`, expected a string in `claim.name`
        A sentence. |  | line 3, column 12: the text is empty in `claim.sentence`
        relation = "< 2 us" |  | line 1, column 1: missing key `relation` in [[claim]]
        a.case | c.case | line 5, column 1: unknown key `c`
        a.case = "lock/futex" |  | line 1, column 1: missing key `a`, a = { case = "..." },
        lock/futex | lock/futx | (did you mean lock/futex?)
        lock/futex | lock/futx | line 5, column 10: no case is named
        "#,
    ) {
        assert_mistake(&good.replace(old, new), message);
    }
    for [params, message] in rows(
        r#"
        3 | line 5, column 37: invalid type: integer `3`, expected a map in `claim.a.params`
        { colour = 1 } | line 5, column 39: lock/futex has no parameter "colour"
        { workers = [] } | line 5, column 39: workers has no value
        { workers = [[1]] } | line 5, column 49: an array within an array in `claim.a.params.workers`
        { workers = 1.5 } | line 5, column 49: invalid type: floating point `1.5`, expected a text in quotation
        { workers = "" } | line 5, column 49: the value is empty in `claim.a.params.workers`
        { workers = "x" } | workers cannot be "x": it is not a count
        { as = "x" } | as cannot be "x": choose among
        "#,
    ) {
        let side = format!("a = {{ case = \"lock/futex\", params = {params} }}");
        assert_mistake(&with("< 2 us", &side), message);
    }
    for [relation, side, message] in rows(
        r#"
        increases with workers | params = { workers = 2 } | line 5, column 39: the relation is over workers: it needs several values
        increases with as | params = { as = ["threads", "processes"] } | "threads" is no count and no duration
        "#,
    ) {
        let side = format!("a = {{ case = \"lock/futex\", {side} }}");
        assert_mistake(&with(relation, &side), message);
    }
    let units = "a.case = \"net/answer\"\na.metric = \"rate\"\nb.metric = \"time\"\n";
    let message = "line 7, column 12: a is in replies/s and b in ns/op";
    assert_mistake(&with("ratio < 2", units), message);
}

#[test]
fn a_missing_thing_needs_no_sides() {
    let missing = "[[claim]]\nname = \"x\"\nsentence = \"s\"\nmissing = \"Windows 95\"\n";
    check(missing).unwrap();
    let message = "line 5, column 12: a claim with `missing`";
    assert_mistake(&format!("{missing}relation = \"< 2\"\n"), message);
}

#[test]
fn huge_and_deep_files_have_a_message() {
    let claims: String = (0..1_001)
        .map(|n| format!("[[claim]]\nname=\"{n}\"\nsentence=\"s\"\nmissing=\"m\"\n"))
        .collect();
    let nested = |open: &str| format!("x = {}", open.repeat(20_000));
    for (text, message) in [
        (nested("["), ""),
        (nested("{a="), ""),
        ("[a.".to_owned() + &"a.".repeat(50_000), ""),
        (format!("x = \"{}\"", "é".repeat(200_000)), "longer than 256 KiB"),
        (claims, "line 4001, column 1: more than 1000 claims"),
    ] {
        let found = mistake(&text);
        assert!(found.starts_with("line ") && found.contains(message), "{found}");
        assert!(found.len() < 2_000, "{}", found.len());
    }
}

/// Texts from which mistakes are composed.
const PIECES: [&[&str]; 2] = [
    &[
        "\"", "[", "]", "{", "}", "=", "\n", "#", "'", "\\", "\u{0}", "é", "0", "-1", "%",
        "\u{feff}",
    ],
    &["\"\"\"", "name", "<= ", "nan", "true", "1e400", "2 us", "workers", "for all"],
];

/// Longer ones, one a line.
const WORDS: &str = "[[claim]]\nwithin 5 %\n99999999999999999999\nlock/futex\ncrosses at";

/// `text` with a few changes.
fn mutated(text: &str, rng: &mut StdRng) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..chars.len());
        let end = (at + rng.random_range(0..12)).min(chars.len());
        match rng.random_range(0..6) {
            0 => drop(chars.drain(at..end)),
            1 => {
                let other = end.min(chars.len() - 1);
                chars.swap(at, other);
            }
            2 => chars.truncate(at.max(1)),
            3 => {
                let copy: Vec<char> = chars[at..end].to_vec();
                let to = rng.random_range(0..chars.len());
                chars.splice(to..to, copy);
            }
            _ => {
                let pieces: Vec<&str> = PIECES.concat().into_iter().chain(WORDS.lines()).collect();
                let piece = pieces[rng.random_range(0..pieces.len())];
                let replaced = if rng.random() { at..end } else { at..at };
                chars.splice(replaced, piece.chars());
            }
        }
        if chars.is_empty() {
            chars.push(' ');
        }
    }
    chars.into_iter().collect()
}

#[test]
fn changed_files_are_read_or_have_a_message_with_line_and_column() {
    let mut rng = StdRng::seed_from_u64(500);
    let (mut good, mut wrong) = (0, 0);
    for _ in 0..500 {
        let text = mutated(GOOD, &mut rng);
        match check(&text) {
            Ok(file) => {
                good += 1;
                // Every file that is read can be judged.
                assert_eq!(judge(&file.claims, &[]).len(), file.claims.len());
            }
            Err(error) => {
                wrong += 1;
                let lines = text.matches('\n').count() + 1;
                assert!((1..=lines).contains(&error.at.line), "{error}\n{text}");
                let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                assert!((1..=longest + 2).contains(&error.at.column), "{error}\n{text}");
                assert!(!error.problem.is_empty() && !error.problem.contains('\n'), "{error:?}");
            }
        }
    }
    println!("{good} good, {wrong} with mistakes");
    assert!(good > 20 && wrong > 250, "{good} good, {wrong} with mistakes");
}
