//! `oscost run --dry-run`: the measurements that a run would make.

use command::output::{print, print_json};
use runner::Plan;
use serde_json::json;

/// Maximum time in ms that a system takes to start.
const START_MS: u64 = 10_000;

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Prints the points of a plan, on each of these systems if there are any, and the duration.
pub fn show(plan: &Plan, systems: &[&str], json: bool) -> anyhow::Result<()> {
    let on = systems.len().max(1);
    let cells = plan.points.len() * on;
    // The user's budget is for all systems together.
    let measuring_ms = plan.budget_ms * on as u64;
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
            "cells": cells,
            "longest_s": longest_ms as f64 / 1e3,
        });
        return print_json(&document);
    }
    let mut text = String::new();
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
