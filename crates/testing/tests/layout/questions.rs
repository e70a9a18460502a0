//! The questions at the end of ARCHITECTURE.md: the files that answer them exist and have the names that are given.

/// The heading of the table.
const HEADING: &str = "## Ten questions";
const QUESTIONS: usize = 10;

/// What is wrong with the answers in `text`; `read` returns a file's text (empty for a folder) by its path below `crates`.
pub fn wrong_answers(text: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let table = text.lines().skip_while(|line| !line.starts_with(HEADING));
    let rows: Vec<&str> = table.filter(|line| line.starts_with("| ")).skip(1).collect();
    let mut wrong = Vec::new();
    if rows.len() != QUESTIONS {
        wrong.push(format!("there are {} questions, not {QUESTIONS}", rows.len()));
    }
    for row in rows {
        let answer = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let (paths, names): (Vec<&str>, Vec<&str>) =
            answer.split('`').skip(1).step_by(2).partition(|span| span.contains('/'));
        let mut texts = Vec::new();
        for path in &paths {
            match read(path) {
                Some(text) => texts.push(text),
                None => wrong.push(format!("there is no crates/{path}")),
            }
        }
        if paths.is_empty() {
            wrong.push(format!("no file in: {row}"));
        }
        for name in names.iter().filter(|name| !name.starts_with('-')) {
            let last = name.rsplit("::").next().unwrap_or(name);
            if !texts.iter().any(|text| text.contains(last)) {
                wrong.push(format!("`{name}` is in none of {}", paths.join(", ")));
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(answer: &str) -> String {
        let row = format!("| Where is `x`? | {answer} |\n");
        let text =
            format!("{HEADING}\n\n| question | file |\n|---|---|\n{}", row.repeat(QUESTIONS));
        let file = |path: &str| (path == "a/src/b.rs").then(|| "fn answer() {}".to_owned());
        let mut wrong = wrong_answers(&text, file);
        wrong.dedup();
        wrong.join("\n")
    }

    #[test]
    fn an_answer_with_its_file_and_name_is_right() {
        assert_eq!(wrong("`a/src/b.rs` (`B::answer`), or `--option`"), "");
    }

    #[test]
    fn a_file_or_a_name_that_is_missing_is_found() {
        assert_eq!(wrong("`a/src/c.rs`"), "there is no crates/a/src/c.rs");
        assert_eq!(wrong("`a/src/b.rs` (`other`)"), "`other` is in none of a/src/b.rs");
        assert!(wrong("somewhere").starts_with("no file in: "));
    }

    #[test]
    fn there_are_ten() {
        assert_eq!(wrong_answers("# nothing", |_| None), ["there are 0 questions, not 10"]);
    }
}
