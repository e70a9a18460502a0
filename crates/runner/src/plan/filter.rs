//! Chooses cases by the user's filters.

use catalog::{Case, matches_filter};

use super::error::PlanError;

/// The cases that the filters name, in the order of the list; all if there are no filters.
pub fn choose(filters: &[String]) -> Result<Vec<&'static Case>, PlanError> {
    let all = catalog::all();
    let is_meant = |filter: &str, case: &Case| {
        let bare_name = filter == case.name && repeats(case);
        let of_another = |other: &&Case| other.name == case.name && !repeats(other);
        matches_filter(filter, &case.label())
            && !(bare_name && all.iter().copied().any(|c| of_another(&c)))
    };
    for filter in filters {
        if !all.iter().any(|case| is_meant(filter, case)) {
            let hint = nearest(filter, &all).map(|name| format!(" (did you mean {name}?)"));
            return Err(PlanError::UnknownCase {
                filter: filter.clone(),
                hint: hint.unwrap_or_default(),
            });
        }
    }
    let wanted = |case: &Case| filters.is_empty() || filters.iter().any(|f| is_meant(f, case));
    Ok(all.iter().copied().filter(|case| wanted(case)).collect())
}

/// Whether the case's area repeats operations of other areas.
fn repeats(case: &Case) -> bool {
    catalog::area(case.area).is_some_and(|area| area.repeats)
}

/// A case whose name contains the filter, or else the case or area with the most similar spelling.
fn nearest(filter: &str, all: &[&'static Case]) -> Option<String> {
    /// Minimum similarity of a suggested name.
    const SIMILAR: f64 = 0.8;
    // If cases have the same name, the one that does not repeat the other comes first, and is suggested.
    let (repeated, first): (Vec<&Case>, Vec<&Case>) = all.iter().partition(|case| repeats(case));
    let labels: Vec<String> = first.into_iter().chain(repeated).map(Case::label).collect();
    let name = filter.rsplit('/').next().unwrap_or(filter);
    if let Some(label) = labels.iter().find(|label| name.len() >= 2 && label.contains(name)) {
        return Some(label.clone());
    }
    // The last of several equally similar names is chosen.
    let spelt = labels.iter().rev().flat_map(|label| {
        let (area, name) = label.split_once('/').unwrap_or(("", label));
        [(label.as_str(), label.as_str()), (name, label.as_str()), (area, area)]
    });
    let ranked = spelt.map(|(text, meant)| (strsim::jaro_winkler(filter, text), meant));
    let best = ranked.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness >= SIMILAR).map(|(_, meant)| meant.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(filters: &[&str]) -> Vec<String> {
        simulated::areas::install();
        let filters: Vec<String> = filters.iter().map(|f| (*f).to_owned()).collect();
        choose(&filters).unwrap().iter().map(|case| case.label()).collect()
    }

    #[test]
    fn filters_name_areas_cases_and_patterns() {
        assert_eq!(labels(&["syscall/getppid"]), ["syscall/getppid"]);
        // The area of the original operation precedes one that repeats it.
        assert_eq!(labels(&["getppid"]), ["syscall/getppid"]);
        assert_eq!(labels(&["scale/getppid"]), ["scale/getppid"]);
        assert_eq!(labels(&["futex-wake"]), ["scale/futex-wake"]);
        assert_eq!(labels(&["*/getppid"]), ["syscall/getppid", "scale/getppid"]);
        assert_eq!(labels(&["lock/sysv*"]), ["lock/sysv-sem", "lock/sysv-sem-no-undo"]);
        assert!(labels(&["lock"]).iter().all(|label| label.starts_with("lock/")));
        assert_eq!(labels(&[]).len(), catalog::all().len());
    }

    #[test]
    fn an_unknown_case_is_named_with_a_hint() {
        simulated::areas::install();
        let error = choose(&["lock/sysv".into()]).err().unwrap().to_string();
        assert!(error.contains("lock/sysv") && error.contains("did you mean lock/sysv-sem?"));
        for (typed, meant) in [
            ("lock/futx", Some("lock/futex")),
            ("getpid", Some("syscall/getppid")),
            ("sycall", Some("syscall")),
            ("%%", None),
            ("é", None),
        ] {
            let error = choose(&[typed.into()]).err().unwrap().to_string();
            let hint = meant.map(|name| format!("(did you mean {name}?)")).unwrap_or_default();
            assert!(error.contains(&hint), "{error}");
            assert_eq!(error.contains("did you mean"), meant.is_some(), "{error}");
        }
    }
}
