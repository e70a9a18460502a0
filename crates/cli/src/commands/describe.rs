//! `oscost list` and `oscost env`: the cases, and the machine.

use std::time::Duration;

use cases::{Case, Extent};
use measure::cycles::{Latency, Timebase};
use platform::machine::{Group, describe, line};
use report::{Card, CardParam, cards, cards_short, env_page};
use results::{Direction, Interval};
use runner::machine::{add_cycle_counting, cycle_counting, description, tsc_measured_khz};
use serde::Serialize;

use super::measure::best_clock;
use crate::args::{Env, List};
use crate::ending::Ending;
use crate::output::{page, print};

/// Lists the cases.
pub fn list(args: &List) -> anyhow::Result<Ending> {
    let chosen: Vec<Card> = runner::choose(&args.filters)?.into_iter().map(card).collect();
    if args.json {
        let all: Vec<_> = chosen.iter().map(card_json).collect();
        print(&serde_json::to_string_pretty(&all)?)?;
    } else if args.long {
        print(&cards(&chosen, &page()))?;
    } else {
        print(&cards_short(&chosen, &page()))?;
    }
    Ok(Ending::Done)
}

/// Said of the cases that a run of everything leaves out.
const EXTENDED: &str = "Measured only with --full, or if a filter names it or its area.";

fn card(case: &Case) -> Card {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let param = |param: &cases::Param| CardParam {
        name: param.name.to_owned(),
        meaning: meaning(param),
        default: owned(param.default),
        full: owned(param.full),
    };
    Card {
        label: case.label(),
        operation: case.operation.to_owned(),
        unit: "ns/op".to_owned(),
        better: Direction::Lower,
        comparable_to: match cases::is_beyond(case, Extent::Ordinary) {
            true => format!("{} {EXTENDED}", case.comparable_to),
            false => case.comparable_to.to_owned(),
        },
        params: case.params.iter().map(param).collect(),
        needs: owned(&cases::needs_of(case)),
        metrics: case.metrics.iter().map(|m| (m.name.to_owned(), m.meaning.to_owned())).collect(),
        unsupported: case.missing_here().map(str::to_owned),
    }
}

/// The meaning of a parameter, with the values that are measured only on request.
fn meaning(param: &cases::Param) -> String {
    let cases::Takes::Words(further) = param.takes else { return param.meaning.to_owned() };
    let known = [param.default, param.full].concat();
    let further: Vec<&str> = further.iter().copied().filter(|word| !known.contains(word)).collect();
    match further[..] {
        [] => param.meaning.to_owned(),
        _ => format!("{} (--param takes {} too)", param.meaning, further.join(", ")),
    }
}

/// A case in the list of cases.
#[derive(Serialize)]
struct CardJson<'a> {
    case: &'a str,
    operation: &'a str,
    unit: &'a str,
    better: Direction,
    comparable_to: &'a str,
    params: Vec<ParamJson<'a>>,
    needs: &'a [String],
    metrics: Vec<MetricJson<'a>>,
    unsupported: Option<&'a str>,
}

#[derive(Serialize)]
struct ParamJson<'a> {
    name: &'a str,
    meaning: &'a str,
    default: &'a [String],
    full: &'a [String],
}

#[derive(Serialize)]
struct MetricJson<'a> {
    name: &'a str,
    meaning: &'a str,
}

fn card_json(card: &Card) -> CardJson<'_> {
    let params = card.params.iter().map(|param| ParamJson {
        name: &param.name,
        meaning: &param.meaning,
        default: &param.default,
        full: &param.full,
    });
    let metrics = card.metrics.iter().map(|(name, meaning)| MetricJson { name, meaning });
    CardJson {
        case: &card.label,
        operation: &card.operation,
        unit: &card.unit,
        better: card.better,
        comparable_to: &card.comparable_to,
        params: params.collect(),
        needs: &card.needs,
        metrics: metrics.collect(),
        unsupported: card.unsupported.as_deref(),
    }
}

/// Describes the machine.
pub fn env(args: &Env) -> anyhow::Result<Ending> {
    let facts = describe();
    if args.line {
        print(&line(&facts))?;
        return Ok(Ending::Done);
    }
    let clock = best_clock()?;
    let cpu = platform::cpu::allowed().last().copied();
    let timebase = runner::timebase_on(cpu, &clock, None);
    let frequency = frequency_of(cpu, &timebase);
    if args.json {
        let mut machine = description(&facts, &clock);
        add_cycle_counting(&mut machine, &timebase.latency);
        machine.insert("core_clock_ghz".into(), serde_json::to_value(frequency)?);
        print(&serde_json::to_string_pretty(&machine)?)?;
        return Ok(Ending::Done);
    }
    let timed_by = format!("{}, {:.1} ns per reading", clock.name, clock.cost.get());
    let groups: Vec<(String, Vec<(String, String)>)> = Group::ALL
        .iter()
        .map(|&group| {
            let of_group = facts.iter().filter(|fact| fact.group == group);
            let mut rows: Vec<(String, String)> =
                of_group.map(|fact| (fact.label.to_owned(), fact.shown())).collect();
            if group == Group::Clock {
                let tsc = tsc_measured_khz(&clock)
                    .map_or("unknown".to_owned(), |khz| format!("{:.2} MHz", khz as f64 / 1000.0));
                rows.push(("TSC, as calibrated".to_owned(), tsc));
                rows.push(("measured by".to_owned(), timed_by.clone()));
                rows.push(("core clock".to_owned(), in_words(frequency, &timebase.latency)));
            }
            (group.label().to_owned(), rows)
        })
        .collect();
    print(&env_page(&groups, &page()))?;
    Ok(Ending::Done)
}

/// The frequency of the CPU that measures, over one second.
fn frequency_of(cpu: Option<usize>, timebase: &Timebase) -> Option<Interval> {
    const SECOND: Duration = Duration::from_secs(1);
    // If threads cannot be placed, it is the frequency of the CPU where this one runs.
    let _ = cpu.map(platform::cpu::pin_thread);
    let range = timebase.watch_frequency(SECOND);
    range.map(|[low, median, high]| Interval { low, median, high })
}

fn in_words(frequency: Option<Interval>, latency: &Latency) -> String {
    let counted = cycle_counting(latency);
    match frequency {
        Some(Interval { low, median, high }) => {
            format!(
                "{median:.2} GHz, {low:.2} to {high:.2} over one second; cycles counted {counted}"
            )
        }
        None => format!("unknown; cycles {counted}"),
    }
}
