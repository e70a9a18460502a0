//! `oscost run --dry-run`: the measurements that a run would make.

use command::output::{print, print_json};
use results::announcement;
use runner::Plan;
use serde_json::json;

/// Maximum time in ms that a system takes to start.
const START_MS: u64 = 10_000;

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Lines that say whether virtual machines are emulated; empty without them.
fn on_machines(machines: &[(&str, Option<String>)], systems: usize) -> String {
    let emulated = machines.iter().filter_map(|(name, why)| Some((*name, why.as_deref()?)));
    let emulated: Vec<(&str, &str)> = emulated.collect();
    match (announcement("figures", &emulated, systems), machines) {
        (Some(line), _) => {
            let reasons = emulated.iter().map(|(name, why)| format!("{name}: {why}\n"));
            format!("{line}\n{}\n", reasons.collect::<String>())
        }
        (None, []) => String::new(),
        (None, machines) => {
            let names: Vec<&str> = machines.iter().map(|(name, _)| *name).collect();
            format!("KVM works: {} run on this processor\n\n", names.join(", "))
        }
    }
}

/// Prints the points of a plan, on each of these systems if there are any, and the duration. `steady_ms` is the time for rounds that
/// repeat an operation until it is steady, on all systems. `machines` are the virtual machines
/// among the systems, each with the reason why it is emulated.
pub fn show(
    plan: &Plan,
    systems: &[&str],
    steady_ms: u64,
    machines: &[(&str, Option<String>)],
    json: bool,
) -> anyhow::Result<()> {
    let on = systems.len().max(1);
    let cells = plan.points.len() * on;
    // The user's budget is for all systems together.
    let measuring_ms = plan.budget_ms * on as u64 + steady_ms;
    let starts = plan.boots.unwrap_or(1) as u64 * systems.len() as u64;
    let longest_ms = measuring_ms + starts * START_MS;
    if json {
        let points = plan.points.iter().map(|point| {
            let missing = catalog::find(&point.case).and_then(|case| case.missing_here());
            json!({"case": point.case, "params": point.params, "unsupported_here": missing})
        });
        let document = json!({
            "points": points.collect::<Vec<_>>(),
            "systems": systems,
            "emulated": machines.iter().filter(|(_, why)| why.is_some()).map(|(name, _)| name).collect::<Vec<_>>(),
            "cells": cells,
            "longest_s": longest_ms as f64 / 1e3,
        });
        return print_json(&document);
    }
    let mut text = on_machines(machines, systems.len());
    for point in &plan.points {
        let missing = catalog::find(&point.case).and_then(|case| case.missing_here());
        let missing = missing.map(|reason| format!("   unsupported here: {reason}"));
        text.push_str(&format!("{}{}\n", point.label(), missing.unwrap_or_default()));
    }
    let longest = std::time::Duration::from_millis(longest_ms);
    let longest = report::quantity::format_duration(longest);
    let points = counted(plan.points.len(), "point");
    text.push_str(&match systems {
        [] => format!("\n{points}; takes up to {longest}\n"),
        _ => format!(
            "\n{points} on {} ({}): {}; takes up to {longest}. Systems with fewer CPUs have fewer points.\n",
            counted(on, "system"),
            systems.join(", "),
            counted(cells, "cell")
        ),
    });
    print(&text)
}
