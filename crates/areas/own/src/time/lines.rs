//! Command lines: whether they need a shell, and the words that are executed for them.

use command::ending::Usage;
use platform::process::command::in_path;

/// What runs command lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Shell {
    /// The system's shell, for lines that are more than a program with arguments.
    #[default]
    IfNeeded,
    /// None: lines are split into words.
    None,
    /// This program with these arguments, which the line follows.
    Of(Vec<String>),
}

/// The value of the parameter `shell` for a command without a shell.
pub const NO_SHELL: &str = "none";
/// The value of the parameter `shell` for the system's shell.
pub const SYSTEM_SHELL: &str = "sh";

/// A command line, and what is executed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The line as the user typed it.
    pub text: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    /// What runs it: the value of the parameter `shell`.
    pub shell: String,
}

impl std::str::FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            NO_SHELL => Ok(Self::None),
            "default" => Ok(Self::Of(system_shell())),
            _ => match shlex::split(text).filter(|words| !words.is_empty()) {
                Some(mut words) => {
                    words.push(if platform::IS_WINDOWS { "/C" } else { "-c" }.to_owned());
                    Ok(Self::Of(words))
                }
                None => Err("a quote is not closed, or it is empty".to_owned()),
            },
        }
    }
}

fn system_shell() -> Vec<String> {
    platform::process::command::shell().map(str::to_owned).into()
}

impl CommandLine {
    /// A line that `shell` runs.
    ///
    /// # Errors
    /// If it is empty, or cannot be split into words without a shell.
    pub fn of(line: &str, shell: &Shell) -> Result<Self, Usage> {
        let text = line.trim().to_owned();
        if text.is_empty() {
            return Err(Usage("a command line is empty".to_owned()));
        }
        let by = |shell: Vec<String>, name: &str| Self {
            words: shell.into_iter().chain([line.to_owned()]).collect(),
            shell: name.to_owned(),
            text: text.clone(),
        };
        let direct = |words| Self { words, shell: NO_SHELL.to_owned(), text: text.clone() };
        match shell {
            Shell::IfNeeded => Ok(match plain_words(line) {
                Some(words) => direct(words),
                None => by(system_shell(), SYSTEM_SHELL),
            }),
            Shell::None => match shlex::split(line).filter(|words| !words.is_empty()) {
                Some(words) => Ok(direct(words)),
                None => Err(Usage(format!(
                    "{line:?} cannot be split into words: a quote is not closed"
                ))),
            },
            Shell::Of(words) if *words == system_shell() => Ok(by(words.clone(), SYSTEM_SHELL)),
            Shell::Of(words) => Ok(by(words.clone(), &words[..words.len() - 1].join(" "))),
        }
    }

    /// A program with its arguments.
    pub fn of_words(words: &[String]) -> Self {
        let quoted = shlex::try_join(words.iter().map(String::as_str));
        Self {
            // A word with a NUL can be neither quoted nor executed.
            text: quoted.unwrap_or_else(|_| words.join(" ")),
            words: words.to_vec(),
            shell: NO_SHELL.to_owned(),
        }
    }
}

/// The words of a line that means the same without a shell: a program in a directory of PATH, and plain arguments. As in
/// make(1), such a line is executed directly.
fn plain_words(line: &str) -> Option<Vec<String>> {
    let is_plain = |c: char| c.is_alphanumeric() || " \t-_./:=,+@%^".contains(c);
    if platform::IS_WINDOWS || !line.chars().all(is_plain) {
        return None;
    }
    let words: Vec<String> = line.split_ascii_whitespace().map(str::to_owned).collect();
    let program = words.first()?;
    let is_assignment = program.contains('=');
    let is_file = match program.contains('/') {
        true => true,
        false => !is_special(program) && in_path(program).is_some(),
    };
    (is_file && !is_assignment).then_some(words)
}

/// Whether the shell itself carries out the command although there may be a program of that name (POSIX, special built-in
/// utilities, reserved words, and those that change the shell).
fn is_special(word: &str) -> bool {
    const WORDS: &[&str] = &[
        ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "done",
        "elif", "else", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for",
        "getopts", "hash", "if", "jobs", "local", "read", "readonly", "return", "set", "shift",
        "source", "then", "time", "times", "trap", "type", "ulimit", "umask", "unalias", "unset",
        "until", "wait", "while",
    ];
    WORDS.contains(&word)
}

/// The texts with `{name}` replaced by each combination of the parameters' values, with that combination.
pub fn expanded(texts: &[String], parameters: &[(String, Vec<String>)]) -> Vec<Expanded> {
    let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (name, values) in parameters {
        let with = |before: &Vec<(String, String)>| {
            let one = |value: &String| [&before[..], &[(name.clone(), value.clone())]].concat();
            values.iter().map(one).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let of_values = |values: Vec<(String, String)>| Expanded {
        texts: texts.iter().map(|text| filled(text, &values)).collect(),
        values,
    };
    all.into_iter().map(of_values).collect()
}

/// The text with each `{name}` replaced by the parameter's value. What a value contains is not replaced again.
pub fn filled(text: &str, values: &[(String, String)]) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        all.push_str(before);
        let named = values.iter().find_map(|(name, value)| {
            let after = from.strip_prefix('{')?.strip_prefix(name.as_str())?.strip_prefix('}')?;
            Some((value, after))
        });
        let (text, after) = named.map_or(("{", &from[1..]), |(value, after)| (value, after));
        all.push_str(text);
        rest = after;
    }
    all + rest
}

/// Texts with the values that parameters have in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    /// The texts.
    pub texts: Vec<String>,
    /// The parameters.
    pub values: Vec<(String, String)>,
}

/// The numbers from `from` to `to` in steps of `step`, as texts with the decimals that were given.
///
/// # Errors
/// If one is no number, or there are none, or too many.
pub fn scan(from: &str, to: &str, step: &str) -> Result<Vec<String>, Usage> {
    const AT_MOST: f64 = 10_000.0;
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| Usage(format!("{text:?} is not a number")))
    };
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (low, high, by) = (number(from)?, number(to)?, number(step)?);
    let steps = (high - low) / by;
    if by == 0.0 || !(0.0..=AT_MOST).contains(&steps) {
        return Err(Usage(format!("{from} to {to} in steps of {step}: there are no such values")));
    }
    let decimals = decimals(from).max(decimals(step));
    // A step such as 0.1 is not exact, and the last value is to be included.
    let count = (steps + 1e-9).floor() as usize;
    Ok((0..=count).map(|n| format!("{:.decimals$}", low + by * n as f64)).collect())
}

/// A command line in one line, shortened.
pub fn shortened(line: &str) -> String {
    const WIDEST: usize = 60;
    report::text::shortened(&report::text::clean(line), WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    fn shell_of(line: &str) -> String {
        CommandLine::of(line, &Shell::IfNeeded).unwrap().shell
    }

    #[test]
    #[cfg(unix)]
    fn only_lines_that_need_a_shell_get_one() {
        for line in ["sleep 0.1", "ls -l /", "./a.out x=y", "/bin/echo a,b:c"] {
            assert_eq!(shell_of(line), NO_SHELL, "{line}");
        }
        for line in [
            "a=b sleep 1",
            "sleep 1; true",
            "ls | cat",
            "ls *.c",
            "echo $HOME",
            "exit 3",
            "cd /",
            "echo 'a b'",
            "nosuchprogram 1",
            "sleep 1 &",
            "ls ~",
            "time ls",
            "a\nb",
        ] {
            assert_eq!(shell_of(line), SYSTEM_SHELL, "{line}");
        }
    }

    #[test]
    fn the_shell_can_be_chosen() {
        let words = |line: &str, shell: &str| {
            CommandLine::of(line, &shell.parse().unwrap())
                .map(|line| (line.words, line.shell))
                .unwrap()
        };
        let last = if platform::IS_WINDOWS { "/C" } else { "-c" };
        let of = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            words("a b", "bash --norc"),
            (of(&["bash", "--norc", last, "a b"]), "bash --norc".into())
        );
        assert_eq!(words("a 'b c'", "none"), (of(&["a", "b c"]), NO_SHELL.into()));
        assert_eq!(words("a", "default").1, SYSTEM_SHELL);
        assert!(
            CommandLine::of("a 'b", &Shell::None).unwrap_err().to_string().contains("not closed")
        );
        assert!(CommandLine::of(" ", &Shell::IfNeeded).unwrap_err().to_string().contains("empty"));
        assert!("a 'b".parse::<Shell>().is_err() && "".parse::<Shell>().is_err());
    }

    #[test]
    fn parameters_are_combined() {
        let lists = [
            ("a".to_owned(), vec!["1".to_owned(), "2".into()]),
            ("b".to_owned(), vec!["x".to_owned(), "y".into()]),
        ];
        let all = expanded(&["{a}{b} {c}".to_owned(), "{b}".to_owned()], &lists);
        let texts: Vec<&str> = all.iter().map(|one| one.texts[0].as_str()).collect();
        assert_eq!(texts, ["1x {c}", "1y {c}", "2x {c}", "2y {c}"]);
        assert_eq!((all[1].texts[1].as_str(), all[1].values[1].1.as_str()), ("y", "y"));
    }

    #[test]
    fn a_scan_includes_both_ends() {
        let of = |from, to, step| scan(from, to, step).unwrap();
        assert_eq!(of("1", "3", "1"), ["1", "2", "3"]);
        assert_eq!(of("0.1", "0.3", "0.1"), ["0.1", "0.2", "0.3"]);
        assert_eq!(of("0", "7", "3"), ["0", "3", "6"]);
        assert_eq!(of("3", "1", "-1"), ["3", "2", "1"]);
        for (from, to, step) in [
            ("1", "x", "1"),
            ("1", "2", "0"),
            ("2", "1", "1"),
            ("0", "inf", "1"),
            ("0", "1e9", "1"),
        ] {
            assert!(scan(from, to, step).is_err(), "{from} {to} {step}");
        }
    }
}
