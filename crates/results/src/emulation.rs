//! The announcement of runs on emulated processors, and of those of other tools, which precedes their figures.

use crate::document::{Document, SLOW_DOWN};

/// The line that announces emulated systems, each with its name and the reason; `None` if there are none. `what` is what the
/// reader sees, such as `ratios`; the systems are named unless all of `count` are emulated.
pub fn announcement(what: &str, emulated: &[(&str, &str)], count: usize) -> Option<String> {
    let (_, reason) = emulated.first()?;
    // QEMU emulates the processor where KVM does not work.
    let reason = if reason.contains("QEMU") { "no KVM" } else { reason };
    let line = format!("EMULATED ({reason}): these {what} count instructions, not time");
    let names: Vec<&str> = emulated.iter().map(|(name, _)| *name).collect();
    Some(match names.len() < count {
        true => format!("{line}: {}", names.join(", ")),
        false => line,
    })
}

/// The announcement for these runs: of emulated ones, of those that other tools measured, and of those that were slowed down on
/// request.
pub fn announcement_of<'a>(
    what: &str,
    runs: impl IntoIterator<Item = &'a Document>,
) -> Option<String> {
    let runs: Vec<&Document> = runs.into_iter().collect();
    let name = |run: &'a Document| run.system().unwrap_or(&run.run.id);
    let emulated = runs.iter().filter_map(|run| Some((name(run), run.emulated()?)));
    let emulated = announcement(what, &emulated.collect::<Vec<_>>(), runs.len());
    let others = of_other_tools(what, &runs).into_iter().chain(slowed_down(what, &runs));
    let announced: Vec<String> = emulated.into_iter().chain(others).collect();
    (!announced.is_empty()).then(|| announced.join(". "))
}

/// The line that announces runs of other tools; `None` if there are none.
fn of_other_tools(what: &str, runs: &[&Document]) -> Option<String> {
    let named: Vec<String> = runs
        .iter()
        .filter_map(|run| Some(format!("{} by {}", run.run.id, run.other_tool()?)))
        .collect();
    let named = named.join(", ");
    (!named.is_empty()).then(|| {
        format!("MEASURED BY ANOTHER TOOL ({named}): these {what} depend on its way of measuring")
    })
}

/// The line that announces runs with a requested slow-down; `None` if there are none.
fn slowed_down(what: &str, runs: &[&Document]) -> Option<String> {
    let named: Vec<String> = runs
        .iter()
        .filter_map(|run| {
            let name = run.system().unwrap_or(&run.run.id);
            Some(format!("{name} by {}", run.run.asked.get(SLOW_DOWN)?))
        })
        .collect();
    let named = named.join(", ");
    (!named.is_empty())
        .then(|| format!("SLOWED DOWN ON REQUEST ({named}): these {what} include that"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::OTHER_TOOL;
    use crate::samples::document;

    #[test]
    fn runs_of_other_tools_are_announced_with_the_tool() {
        let ours = document();
        let mut theirs = document();
        theirs.run.id = "go-1".to_owned();
        theirs.machine.insert(OTHER_TOOL.to_owned(), "go".into());
        assert_eq!(announcement_of("ratios", [&ours]), None);
        assert_eq!(
            announcement_of("ratios", [&ours, &theirs]).as_deref(),
            Some(
                "MEASURED BY ANOTHER TOOL (go-1 by go): these ratios depend on its way of measuring"
            )
        );
    }

    #[test]
    fn a_requested_slow_down_is_announced_with_its_size() {
        let mut slowed = document();
        slowed.run.id = "new-1".to_owned();
        slowed.run.asked.insert(SLOW_DOWN.to_owned(), "10%".to_owned());
        assert_eq!(
            announcement_of("ratios", [&document(), &slowed]).as_deref(),
            Some("SLOWED DOWN ON REQUEST (new-1 by 10%): these ratios include that")
        );
    }

    #[test]
    fn emulated_systems_are_announced_in_capitals() {
        let tcg = "the processor is emulated by QEMU (TCG)";
        let said = |emulated: &[(&str, &str)], count| announcement("ratios", emulated, count);
        assert_eq!(said(&[], 2), None);
        assert_eq!(
            said(&[("base", tcg), ("mine", tcg)], 2).as_deref(),
            Some("EMULATED (no KVM): these ratios count instructions, not time")
        );
        assert_eq!(
            said(&[("mine", tcg)], 2).as_deref(),
            Some("EMULATED (no KVM): these ratios count instructions, not time: mine")
        );
        let rate = "its clock runs at 20.00 times the rate of the coordinator's";
        assert!(said(&[("mine", rate)], 1).is_some_and(|line| line.contains("(its clock runs at")));
    }
}
