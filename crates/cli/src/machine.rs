//! The machine's description, as a run keeps it and as `env` shows it.

use measure::survey::ClockFacts;
use platform::machine::{Fact, Value};
use serde_json::{Map, Value as Json};

/// The facts as JSON, with the clock that measurements are timed by.
pub fn as_json(facts: &[Fact], clock: &ClockFacts) -> Map<String, Json> {
    let mut machine: Map<String, Json> =
        facts.iter().map(|fact| (fact.key.to_owned(), value(&fact.value))).collect();
    machine.insert("clock".into(), clock.name.clone().into());
    machine.insert("clock_cost_ns".into(), rounded(clock.cost.get()).into());
    machine.insert("clock_step_ns".into(), rounded(clock.step.get()).into());
    machine
}

fn value(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.clone().into(),
        Value::Number(number) => (*number).into(),
        Value::Unknown => "unknown".into(),
    }
}

fn rounded(ns: f64) -> f64 {
    (ns * 100.0).round() / 100.0
}

/// The names of the facts in which two comparable runs must agree.
pub fn compared_keys(facts: &[Fact]) -> Vec<&'static str> {
    let compared = facts.iter().filter(|fact| fact.compared).map(|fact| fact.key);
    compared.chain(["clock"]).collect()
}
