//! Files have a limited length.

use crate::source::SourceFile;

/// A file has at most this many lines before its tests; a file that is all test has as many in all.
pub const LIMIT: usize = 600;

/// The violation, if the file is too long.
pub fn too_long(file: &SourceFile) -> Option<String> {
    let lines = lines_before_tests(&file.text);
    (lines > LIMIT)
        .then(|| format!("{}: {lines} lines before its tests, at most {LIMIT}", file.path))
}

/// Lines before the module with `#[cfg(test)]`; all lines of a file without one.
fn lines_before_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_test_module =
        |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].split(' ').any(|word| word == "mod");
    lines.windows(2).position(is_test_module).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: String) -> SourceFile {
        SourceFile { path: "a.rs".into(), text }
    }

    #[test]
    fn a_long_file_is_found_and_tests_do_not_count() {
        let tests = "#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(too_long(&file("//\n".repeat(LIMIT) + tests)), None);
        assert_eq!(too_long(&file("//\n".repeat(LIMIT))), None);
        let found = too_long(&file("//\n".repeat(LIMIT + 1) + tests)).expect("a violation");
        assert_eq!(found, "a.rs: 601 lines before its tests, at most 600");
    }

    #[test]
    fn a_helper_for_tests_is_not_the_tests() {
        let helper = "#[cfg(test)]\nfn helper() {}\n";
        assert!(too_long(&file(helper.to_owned() + &"//\n".repeat(LIMIT))).is_some());
    }
}
