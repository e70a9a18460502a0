//! Systems that would make more claims measurable, beside those of a run.

use analysis::claim::{Claim, LackingSystems, NATIVE, SystemName, lacking_systems};
use systems::{System, SystemsFile};

use crate::args::OnSystems;

/// Launchers that need no argument, which a second system may be of; the first that can start is suggested.
const SECOND: [&str; 2] = ["gvisor", "bwrap"];
/// Launcher whose systems are of an operating system of its own.
const WINDOWS_LAUNCHER: &str = "wine";

/// A line on the claims that need a further system; `None` if the systems suffice. `roles` are names that claims use for an
/// operating system, `present` those of systems that need not be measured.
pub fn line(
    claims: &[Claim],
    systems: &[System],
    roles: &[(String, String)],
    on: &OnSystems,
    present: &[&str],
) -> Option<String> {
    let os_of = |launcher: &str| match launcher {
        WINDOWS_LAUNCHER => Some("windows"),
        NATIVE => Some(std::env::consts::OS),
        "ssh" | "command" => None,
        _ => Some("linux"),
    };
    let this = SystemName { name: None, os: Some(std::env::consts::OS) };
    let named = systems
        .iter()
        .map(|system| SystemName { name: Some(system.name()), os: os_of(system.launcher()) });
    let mut measured: Vec<SystemName> =
        if systems.is_empty() { vec![this] } else { named.collect() };
    measured.extend(present.iter().map(|name| SystemName { name: Some(name), os: None }));
    let mut lacking = lacking_systems(claims, &measured);
    // A study's own name for an operating system means the first system on it.
    for (role, os) in roles {
        let has_os =
            |system: &SystemName| system.os.is_some_and(|own| own.eq_ignore_ascii_case(os));
        if measured.iter().any(has_os) {
            lacking.claims -= lacking.named.remove(role).unwrap_or(0).min(lacking.claims);
        }
    }
    let given: Vec<&str> = match on.on.is_empty() {
        true => vec![NATIVE],
        false => on.on.iter().map(String::as_str).collect(),
    };
    in_words(&lacking, claims.len(), &given, second(&given, on).as_deref())
}

/// The first system that could be a second one, as `--on` takes it.
fn second(given: &[&str], on: &OnSystems) -> Option<String> {
    let file = SystemsFile::find(on.systems.as_deref()).ok()?;
    let mut candidates = file.names().chain(SECOND).filter(|name| !given.contains(name));
    let can_start =
        |name: &&str| System::parse(name, &file).is_ok_and(|system| system.check().is_ok());
    candidates.find(can_start).map(str::to_owned)
}

/// The line: `6 of 20 claims need another system: 4 any second one (--on native --on gvisor), 2 one named windows`.
fn in_words(
    lacking: &LackingSystems,
    claims: usize,
    given: &[&str],
    second: Option<&str>,
) -> Option<String> {
    if lacking.claims == 0 {
        return None;
    }
    let options = |further: &str| {
        let all = given.iter().copied().chain([further]).map(|name| format!("--on {name}"));
        all.collect::<Vec<_>>().join(" ")
    };
    let mut parts = Vec::new();
    if lacking.second > 0 {
        let example = options(second.unwrap_or("SYSTEM"));
        parts.push(format!("{} any second one (`{example}`)", lacking.second));
    }
    for (name, count) in &lacking.named {
        let example = match name.as_str() {
            "windows" => format!(" (`{}`)", options("wine=oscost.exe")),
            _ => String::new(),
        };
        parts.push(format!("{count} one named {name}{example}"));
    }
    let need = if lacking.claims == 1 { "needs" } else { "need" };
    Some(format!(
        "{} of {claims} claims {need} another system: {}",
        lacking.claims,
        parts.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_options_that_help() {
        let lacking =
            LackingSystems { claims: 6, second: 4, named: [("windows".to_owned(), 2)].into() };
        assert_eq!(
            in_words(&lacking, 20, &["native"], Some("gvisor")).unwrap(),
            "6 of 20 claims need another system: 4 any second one (`--on native --on gvisor`), 2 one named windows (`--on \
             native --on wine=oscost.exe`)"
        );
        let named = LackingSystems { claims: 1, second: 0, named: [("smp".to_owned(), 1)].into() };
        assert_eq!(
            in_words(&named, 9, &["native"], None).unwrap(),
            "1 of 9 claims needs another system: 1 one named smp"
        );
        assert_eq!(in_words(&LackingSystems::default(), 9, &["native"], None), None);
    }
}
