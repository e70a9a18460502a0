//! `oscost list` and `oscost env`: the cases, and the machine.

use std::time::Duration;

use catalog::{Case, Extent};
use command::ending::Ending;
use command::measure::best_clock;
use command::output::{page, print, print_json};
use measure::Metric;
use measure::cycles::{Latency, Timebase};
use platform::machine::{Group, describe, line};
use report::{Card, CardMetric, CardParam, cards, cards_short, env_page};
use results::{Direction, Interval};
use runner::machine::{add_cycle_counting, cycle_counting, description, tsc_measured_khz};
use strum::VariantArray;

use crate::args::{Env, List};

/// Lists the cases.
pub fn list(args: &List) -> anyhow::Result<Ending> {
    let chosen: Vec<Card> = listed(&args.filters)?.into_iter().map(card).collect();
    if args.json {
        print_json(&chosen)?;
    } else if args.long {
        print(&cards(&chosen, &page()))?;
    } else {
        print(&cards_short(&chosen, &page()))?;
    }
    Ok(Ending::Done)
}

/// Note on cases that a run of everything leaves out.
const EXTENDED: &str = "Measured only with --full, or if a filter names it or its area.";

fn card(case: &Case) -> Card {
    let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
    let param = |param: &catalog::Param| CardParam {
        name: param.name.to_owned(),
        meaning: meaning(param),
        default: owned(param.default),
        full: owned(param.full),
    };
    let metric = |metric: &Metric| CardMetric {
        name: metric.name.to_owned(),
        meaning: metric.meaning.to_owned(),
    };
    Card {
        case: case.label(),
        operation: case.operation.to_owned(),
        unit: "ns/op".to_owned(),
        better: Direction::Lower,
        comparable_to: match catalog::is_beyond(case, Extent::Ordinary) {
            true => format!("{} {EXTENDED}", case.comparable_to),
            false => case.comparable_to.to_owned(),
        },
        params: case.params.iter().map(param).collect(),
        needs: owned(&catalog::needs_of(case)),
        metrics: case.metrics.iter().map(metric).collect(),
        unsupported: case.missing_here().map(str::to_owned),
    }
}

/// Meaning of a parameter, with the values that are measured only on request.
fn meaning(param: &catalog::Param) -> String {
    let catalog::Takes::Words(further) = param.takes else { return param.meaning.to_owned() };
    let known = [param.default, param.full].concat();
    let further: Vec<&str> = further.iter().copied().filter(|word| !known.contains(word)).collect();
    match further[..] {
        [] => param.meaning.to_owned(),
        _ => format!("{} (--param takes {} too)", param.meaning, further.join(", ")),
    }
}

/// The cases that the filters name, or whose names contain a filter that names none; all without filters.
fn listed(filters: &[String]) -> Result<Vec<&'static Case>, runner::PlanError> {
    let all = catalog::all();
    let mut wanted: Vec<String> = Vec::new();
    for filter in filters {
        let has_text = |case: &&&Case| case.label().contains(&filter.to_lowercase());
        let labels = match runner::choose(std::slice::from_ref(filter)) {
            Ok(named) => named.iter().map(|case| case.label()).collect(),
            Err(error) => {
                let found: Vec<String> =
                    all.iter().filter(has_text).map(|case| case.label()).collect();
                if found.is_empty() {
                    return Err(error);
                }
                found
            }
        };
        wanted.extend(labels);
    }
    let is_wanted = |case: &&Case| filters.is_empty() || wanted.contains(&case.label());
    Ok(all.into_iter().filter(is_wanted).collect())
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
        machine.insert("kvm".into(), kvm_in_words().into());
        print_json(&machine)?;
        return Ok(Ending::Done);
    }
    let timed_by = format!("{}, {:.1} ns per reading", clock.name, clock.cost.get());
    let groups: Vec<(String, Vec<(String, String)>)> = Group::VARIANTS
        .iter()
        .map(|&group| {
            let of_group = facts.iter().filter(|fact| fact.group == group);
            let mut rows: Vec<(String, String)> =
                of_group.map(|fact| (fact.label.to_owned(), fact.shown())).collect();
            if group == Group::System {
                rows.insert(0, ("oscost".to_owned(), runner::machine::build_in_words()));
                rows.push(("KVM".to_owned(), kvm_in_words()));
            }
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

/// Whether virtual machines would run on this processor.
fn kvm_in_words() -> String {
    match systems::kvm() {
        Ok(()) => "executes a probe; `oscost run --on qemu:KERNEL --dry-run` says whether it boots a kernel"
            .to_owned(),
        Err(why) => format!("does not work ({why}): kernels under QEMU are emulated"),
    }
}

/// The frequency of the CPU that measures, over one second.
fn frequency_of(cpu: Option<usize>, timebase: &Timebase) -> Option<Interval> {
    const SECOND: Duration = Duration::from_secs(1);
    // The error is ignored: if threads cannot be placed, the frequency is that of the CPU on which this one runs.
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
