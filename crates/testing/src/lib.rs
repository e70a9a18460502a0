//! Support for the tests of all crates. A test that needs root, tracefs, a program or another resource that a machine may
//! lack reports that it is skipped. In CI, where `scripts/install-test-needs` has installed all resources, it fails
//! instead, so that no test passes by being skipped. A test of something that an operating system does not support is
//! [`not_applicable`], also in CI.

mod harness;
#[cfg(unix)]
pub mod postgres;
#[cfg(target_os = "linux")]
pub mod power_cut;
mod wait;

use std::io::Write;

pub use harness::{Completion, Ended, Trial, alone, test, together};
pub use wait::{PATIENCE, until, until_some};

/// Whether this is CI: the environment variable `CI` is set, and neither empty nor `false`.
pub fn is_ci() -> bool {
    says_ci(std::env::var("CI").ok().as_deref())
}

fn says_ci(variable: Option<&str>) -> bool {
    !matches!(variable, None | Some("" | "false" | "0"))
}

/// Reports on stderr that the running test is skipped, and why.
///
/// # Panics
/// In CI.
#[track_caller]
pub fn skip(why: &str) {
    skip_where(is_ci(), why);
}

/// The rows of a table, one a line, with `N` cells between bars.
///
/// # Panics
/// If a row has another number of cells.
pub fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| {
        let cells: Vec<&str> = line.split(" | ").map(str::trim).collect();
        cells.try_into().unwrap_or_else(|_| panic!("not {N} cells: {line}"))
    })
}

/// [`skip`]s the running test unless `condition` holds; `true` if the test must return:
///
/// ```
/// # fn test() {
/// if testing::skip_unless(std::path::Path::new("/").exists(), "this system has no /") {
///     return;
/// }
/// # }
/// # test();
/// ```
///
/// # Panics
/// In CI, if `condition` does not hold.
#[must_use = "a test that is skipped returns"]
#[track_caller]
pub fn skip_unless(condition: bool, why: &str) -> bool {
    if !condition {
        skip(why);
    }
    !condition
}

/// [`skip`]s the running test unless this process is root, which `why` must explain; `true` if the test must return.
///
/// # Panics
/// In CI, if this process is not root.
#[cfg(unix)]
#[must_use = "a test that is skipped returns"]
#[track_caller]
pub fn skip_unless_root(why: &str) -> bool {
    skip_unless(is_root(), &format!("root: {why}"))
}

/// Reports on stderr that the running test, or a part of it, does not apply to this operating system, and why. It never
/// fails, since no installation could change that. Use [`skip`] for resources that another machine with the same system may
/// have.
pub fn not_applicable(why: &str) {
    report("not applicable", why);
}

/// Whether this process is root.
#[cfg(unix)]
pub fn is_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

#[track_caller]
fn skip_where(is_ci: bool, why: &str) {
    assert!(
        !is_ci,
        "this test cannot be skipped in CI: {why} (scripts/install-test-needs installs what tests need; run CI as root)"
    );
    report("skipped", why);
}

fn report(what: &str, why: &str) {
    // The message does not go through eprintln!, whose output the test harness hides.
    let _ = writeln!(std::io::stderr(), "{what}: {why}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_identify_ci() {
        assert!(says_ci(Some("true")) && says_ci(Some("1")));
        assert!(!says_ci(None) && !says_ci(Some("")) && !says_ci(Some("false")));
    }

    #[test]
    fn a_test_whose_needs_are_there_goes_on() {
        assert!(!skip_unless(true, "never said"));
    }

    #[test]
    fn unsupported_tests_never_fail() {
        not_applicable("only a test of what does not apply");
    }

    #[test]
    fn an_event_is_awaited() {
        let mut looks = 0;
        until(|| {
            looks += 1;
            looks == 3
        });
        let mut numbers = [None, None, Some(7)].into_iter();
        assert_eq!((looks, until_some(|| numbers.next().flatten())), (3, 7));
    }

    #[test]
    fn tests_are_named_after_their_functions() {
        mod deep {
            pub fn ignored() -> crate::Completion {
                crate::Completion::ignored()
            }
        }
        fn passes() {}
        let all = crate::tests![
            passes,
            #[cfg(any())]
            missing,
            deep::ignored
        ];
        let names: Vec<&str> = all.iter().map(Trial::name).collect();
        assert_eq!(names, ["passes", "deep::ignored"]);
    }

    #[test]
    #[should_panic(expected = "cannot be skipped in CI: no tracefs")]
    fn no_test_is_skipped_in_ci() {
        skip_where(true, "no tracefs");
    }
}
