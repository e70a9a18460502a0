//! Finds facts in which descriptions of one machine differ, between the beginning and the resumption of a run, or between runs.

use analysis::{Difference, also_differs, is_of_file_system, role_of_fact};
use platform::machine::Role;
use results::Document;
use serde_json::Value;

use crate::machine::{BUILD, COMMIT, Description, TARGET, UNKNOWN};

/// The facts of a run's description that have changed since the run began; `now` is the current description. File systems
/// are not compared: they are examined only when a run begins.
pub(crate) fn changed_since(begun: &Document, now: &Document) -> Vec<Difference> {
    let mut changed = also_differs(&[begun, now]);
    changed.retain(|one| ![BUILD, COMMIT, TARGET].contains(&one.key.as_str()));
    changed
}

/// Whether a run on the machine `earlier` had the same build, machine and state as one on `now`: `earlier` has every
/// compared fact of `now` with the same value.
pub(crate) fn is_same_state(earlier: &Description, now: &Description) -> bool {
    let matters = |key: &str| role_of_fact(key) != Role::State || is_of_file_system(key);
    let is_known_build = now.get(BUILD).is_some_and(|build| build.as_str() != Some(UNKNOWN));
    let same = |(key, value): (&String, &Value)| earlier.get(key) == Some(value);
    is_known_build && now.iter().filter(|(key, _)| matters(key)).all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(machine: &[(&str, &str)]) -> Document {
        let machine = machine.iter().map(|(key, value)| ((*key).to_owned(), (*value).into()));
        Document { machine: machine.collect(), ..simulated::document("a", Vec::new()) }
    }

    #[test]
    fn a_state_is_the_same_if_every_fact_that_is_compared_is_known_to_have_been_equal() {
        let known = [("oscost_build", "ab12"), ("release", "6.1"), ("load", "0.1")];
        let now = [&known[..], &[("filesystem./srv.type", "ext4")]].concat();
        let is_same = |changed: &str, value: Option<&'static str>| {
            let earlier = now.iter().filter_map(|&(key, known)| match key == changed {
                true => Some((key, value?)),
                false => Some((key, known)),
            });
            let earlier = run(&earlier.collect::<Vec<_>>()).machine;
            is_same_state(&earlier, &run(&now).machine)
        };
        assert!(is_same("none", None));
        assert!(is_same("load", Some("9.0")), "the load is not compared");
        for key in ["oscost_build", "release", "filesystem./srv.type"] {
            assert!(!is_same(key, Some("other")) && !is_same(key, None), "{key}");
        }
        let unknown = run(&[("oscost_build", UNKNOWN)]).machine;
        assert!(!is_same_state(&unknown, &unknown));
    }

    #[test]
    fn a_run_continues_if_no_recorded_fact_has_changed() {
        let changed = |begun: &[(&str, &str)], now: &[(&str, &str)]| {
            changed_since(&run(begun), &run(now)).into_iter().next().map(|first| first.key)
        };
        let now = [("release", "6.1"), ("lsm", "none"), ("kernel_command_line", "quiet")];
        let begun =
            [("release", "6.1"), ("filesystem./srv.type", "ext4"), ("core_type", "efficiency")];
        assert_eq!(changed(&begun, &now), None);
        let slower = [("release", "6.1"), ("kernel_command_line", "mitigations=auto")];
        assert_eq!(changed(&slower, &now).unwrap(), "kernel_command_line");
    }
}
