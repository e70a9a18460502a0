//! Reading the files of /proc and /sys.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The files under a root: `/`, or a test's copy of some machine's files.
pub(crate) struct Tree<'a> {
    root: &'a Path,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(root: &'a Path) -> Tree<'a> {
        Tree { root }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// A file's bytes, cut off beyond the length that any kernel writes.
    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        const LONGEST_BYTES: u64 = 8 << 20;
        let mut bytes = Vec::new();
        let file = File::open(self.path(path)).ok()?;
        file.take(LONGEST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// A file's text without surrounding white space; `None` if that is empty.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let blank = |character: char| character.is_whitespace() || character == '\0';
        let text = text.trim_matches(blank);
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// The names in a folder, sorted; `None` if there is no such folder.
    pub(crate) fn names(&self, path: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(self.path(path)).ok()?;
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        Some(names)
    }
}

/// The value of the first line `name : value` with this name.
pub(crate) fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

/// `text` with single spaces between its words.
pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The CPUs in a list such as `0-3,8`; `None` if it is not such a list.
pub(crate) fn cpus_in(list: &str) -> Option<Vec<usize>> {
    // The limit keeps a typing error in a range from exhausting the memory.
    const MOST_CPUS: usize = 1 << 20;
    let mut cpus = Vec::new();
    for span in list.split(',') {
        let (first, last) = span.split_once('-').unwrap_or((span, span));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// The value of the last `name=value` on a kernel's command line, without the arguments after `--`, which are passed to
/// init.
pub(crate) fn option<'a>(command_line: &'a str, name: &str) -> Option<&'a str> {
    let options = command_line.split_whitespace().take_while(|word| *word != "--");
    options.filter_map(|word| word.strip_prefix(name)?.strip_prefix('=')).last()
}

/// Decodes blanks, tabs, newlines and backslashes, which are written as a backslash and three octal digits.
pub(crate) fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| first == b'\\');
        let byte = octal.and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Folders with the files of some machine, for tests.
#[cfg(test)]
pub(crate) mod fixture {
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Tree;

    /// What `read` finds among these files.
    pub(crate) fn in_tree<T>(files: &[(&str, &str)], read: impl FnOnce(&Tree) -> T) -> T {
        let fixture = Fixture::new(files);
        read(&Tree::new(fixture.root()))
    }

    pub(crate) struct Fixture(PathBuf);

    impl Fixture {
        pub(crate) fn new(files: &[(&str, &str)]) -> Fixture {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!("oscost-machine-{}-{number}", std::process::id());
            let root = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&root).unwrap();
            for (file, content) in files {
                let path = root.join(file);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            Fixture(root)
        }

        pub(crate) fn root(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            // A folder that cannot be removed from the temporary directory is no reason to fail a test.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_read() {
        assert_eq!(cpus_in("0-1").unwrap(), [0, 1]);
        assert_eq!(cpus_in("0,2-3").unwrap(), [0, 2, 3]);
        assert_eq!(cpus_in("3-1"), None);
        assert_eq!(cpus_in("0-99999999999"), None);
        assert_eq!(cpus_in("all"), None);
    }

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "model\t\t: 167\nmodel name\t: AMD EPYC: Milan\nempty:\n";
        assert_eq!(field(text, "model name"), Some("AMD EPYC: Milan"));
        assert_eq!(field(text, "model"), Some("167"));
        assert_eq!(field(text, "empty"), None);
        assert_eq!(field(text, "name"), None);
    }

    #[test]
    fn files_that_say_nothing_are_none() {
        let fixture = fixture::Fixture::new(&[("blank", " \n\0"), ("number", "42\n")]);
        let tree = Tree::new(fixture.root());
        assert_eq!(tree.text("blank"), None);
        assert_eq!(tree.text("missing"), None);
        assert_eq!(tree.number("/number"), Some(42));
        assert_eq!(tree.names("").unwrap(), ["blank", "number"]);
        assert_eq!(tree.names("missing"), None);
    }
}
