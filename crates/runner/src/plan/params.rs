//! Values of parameters: those listed with a case are resolved for this machine, those given explicitly are checked.

use std::path::PathBuf;
use std::time::Duration;

use catalog::{Case, Param, Takes};
use measure::count::{format_duration, parse_count, parse_duration, parse_size};
use measure::worker_group::WORKERS_AT_MOST;

use super::error::PlanError;
use super::options::Options;

/// Limits of the length of a job: starting a shorter job costs more than the job itself.
const SHORTEST: Duration = Duration::from_nanos(100);
const LONGEST: Duration = Duration::from_secs(3_600);
/// Limits of the length of work between operations.
const SHORTEST_WORK: Duration = Duration::from_nanos(10);
const LONGEST_WORK: Duration = Duration::from_millis(10);

/// The parameters of these cases, for a hint.
pub(super) fn params_of(cases: &[&'static Case]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for param in cases.iter().flat_map(|case| case.params) {
        if !names.contains(&param.name) {
            names.push(param.name);
        }
    }
    match &names[..] {
        [] => "they have none".to_owned(),
        names => format!("they have {}", names.join(", ")),
    }
}

/// The values of a parameter: those given explicitly, else those listed, without duplicates.
pub(super) fn values_of(
    param: &Param,
    options: &Options,
    cpus: &[usize],
) -> Result<Vec<String>, PlanError> {
    let mut values: Vec<String> = match options.params.get(param.name) {
        Some(given) => {
            given.iter().map(|value| checked(param, value, cpus.len())).collect::<Result<_, _>>()?
        }
        None => {
            let listed = if options.full { param.full } else { param.default };
            listed.iter().flat_map(|value| on_this_machine(value, cpus)).collect()
        }
    };
    if let (Takes::Length, Some(scale)) = (param.takes, options.scale) {
        for value in &mut values {
            *value = scaled(param, value, scale)?;
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    values.retain(|value| seen.insert(identity(param, value)));
    Ok(values)
}

/// What a value of the parameter means: one directory has several names (a symbolic link, `temp`).
fn identity(param: &Param, value: &str) -> PathBuf {
    match param.takes {
        Takes::Directory => {
            let path = catalog::directory_of(value);
            path.canonicalize().unwrap_or(path)
        }
        _ => value.into(),
    }
}

/// Every other one of several numbers or lengths of trials for a quick run; else all values.
pub(super) fn thinned(
    param: &Param,
    case: &Case,
    options: &Options,
    values: Vec<String>,
) -> Vec<String> {
    let by_hand = options.params.contains_key(param.name);
    let many = values.len() > 2 && !matches!(param.takes, Takes::Words(_) | Takes::Work(_));
    let of_trials = case.trials.is_some();
    let every = if options.quick && many && of_trials && !by_hand { 2 } else { 1 };
    values.into_iter().step_by(every).collect()
}

/// Resolves a listed value for these CPUs: `1xcpus` and `2xcpus` become a number, `1..1xcpus`, `1..4xcpus` and
/// `few..4xcpus` several numbers, `each-pair` all pairs of CPUs; with one CPU, `spread` becomes `same`.
fn on_this_machine(value: &str, all_cpus: &[usize]) -> Vec<String> {
    let cpus = all_cpus.len();
    match value {
        "each-pair" if cpus > 1 => pairs_of(all_cpus),
        "each-pair" => vec!["first-last".to_owned()],
        "1xcpus" => vec![cpus.to_string()],
        "2xcpus" => vec![(2 * cpus).min(WORKERS_AT_MOST).to_string()],
        "few..4xcpus" => few_up_to(4 * cpus).iter().map(usize::to_string).collect(),
        "1..1xcpus" => sweep(cpus).iter().map(usize::to_string).collect(),
        "1..4xcpus" => sweep(4 * cpus).iter().map(usize::to_string).collect(),
        "spread" if cpus == 1 => vec!["same".to_owned()],
        _ => vec![value.to_owned()],
    }
}

/// All pairs of CPUs, such as `0-1`.
fn pairs_of(cpus: &[usize]) -> Vec<String> {
    let with_later = |(at, one): (usize, &usize)| {
        let pairs = cpus[at + 1..].iter().map(|other| format!("{one}-{other}"));
        pairs.collect::<Vec<_>>()
    };
    cpus.iter().enumerate().flat_map(with_later).collect()
}

/// Numbers from 1 to `last`: all up to 16, else in steps of a quarter.
fn sweep(last: usize) -> Vec<usize> {
    let mut all = vec![1];
    while let Some(&at) = all.last().filter(|&&at| at < last) {
        let step = if last <= 16 { 1 } else { at.div_ceil(4) };
        all.push((at + step).min(last));
    }
    all
}

/// Numbers from 1 to `last`: 1, 2, 4, then two for each doubling: 6, 8, 12, 16, ...
fn few_up_to(last: usize) -> Vec<usize> {
    let doublings = (2..usize::BITS - 1).flat_map(|power| [1 << power, 3 << (power - 1)]);
    let below = [1, 2].into_iter().chain(doublings).take_while(|&at| at < last);
    below.chain([last]).collect()
}

/// Checks a value given explicitly; returns its stored form: a count in digits, a length in its shortest form, or a word.
fn checked(param: &Param, value: &str, cpus: usize) -> Result<String, PlanError> {
    let bad = |problem: String| bad_value(param, value, problem);
    match param.takes {
        Takes::Words(further) => {
            let mut known: Vec<&str> = param.full.to_vec();
            known.extend([param.default, further].concat());
            let mut seen = std::collections::BTreeSet::new();
            known.retain(|word| seen.insert(*word));
            match value {
                "spread" if cpus == 1 => Err(bad("this process may use only one CPU".into())),
                _ if known.contains(&value) => Ok(value.to_owned()),
                _ => Err(bad(format!("choose among {}", known.join(", ")))),
            }
        }
        Takes::Count(most) => match parse_count(value) {
            Err(error) => Err(bad(format!("it {}", error.problem()))),
            Ok(0) => Err(bad("it must be at least 1".into())),
            Ok(count) if count > most => Err(bad(format!("at most {most}"))),
            Ok(count) => Ok(count.to_string()),
        },
        Takes::Size(most) => match parse_size(value) {
            Err(error) => Err(bad(format!("it {}", error.problem()))),
            Ok(size) if size > most => Err(bad(format!("at most {}", shortest(most)))),
            Ok(size) => Ok(shortest(size)),
        },
        Takes::Footprint(most) => match (value, parse_size(value)) {
            ("4xllc", _) => Ok(value.to_owned()),
            (_, Err(error)) => Err(bad(format!("it {}", error.problem()))),
            (_, Ok(0)) => Err(bad("it must be at least 1".into())),
            (_, Ok(size)) if size > most => Err(bad(format!("at most {}", shortest(most)))),
            (_, Ok(size)) => Ok(shortest(size)),
        },
        Takes::CpuPair => match value.split_once('-').map(|(a, b)| [a, b].map(str::parse::<usize>))
        {
            _ if value == "first-last" => Ok(value.to_owned()),
            Some([Ok(one), Ok(other)]) if one != other => Ok(format!("{one}-{other}")),
            _ => Err(bad("two CPUs, such as 0-1, or first-last".into())),
        },
        Takes::Directory => match catalog::directory_of(value) {
            path if !path.is_absolute() => Err(bad("it is not a full path".into())),
            path => match path.metadata() {
                Err(error) => Err(bad(error.to_string())),
                Ok(facts) if !facts.is_dir() => Err(bad("it is not a directory".into())),
                Ok(_) if value == catalog::TEMP => Ok(value.to_owned()),
                // Without slashes at its end, and without `.`.
                Ok(_) => Ok(path.components().collect::<PathBuf>().to_string_lossy().into_owned()),
            },
        },
        Takes::ServerWork => match value.parse::<measure::server_work::Work>() {
            Err(error) => Err(bad(error.to_string())),
            Ok(work) => Ok(work.to_string()),
        },
        Takes::Work(further) => match parse_duration(value) {
            _ if value == "none" || further.contains(&value) => Ok(value.to_owned()),
            Err(error) => Err(bad(format!("it {}, and not none", error.problem()))),
            Ok(length) if length < SHORTEST_WORK || length > LONGEST_WORK => Err(bad(format!(
                "between {} and {}",
                format_duration(SHORTEST_WORK),
                format_duration(LONGEST_WORK)
            ))),
            Ok(length) => Ok(format_duration(length)),
        },
        Takes::Length => match parse_duration(value) {
            Err(error) => Err(bad(format!("it {}", error.problem()))),
            Ok(length) => checked_length(param, value, length),
        },
    }
}

/// A number of bytes in its shortest form: `1g`, `32m`, `4k`, `100`.
fn shortest(bytes: u64) -> String {
    let in_unit = |(unit, shift): (&str, u32)| {
        let whole = bytes > 0 && bytes.is_multiple_of(1 << shift);
        whole.then(|| format!("{}{unit}", bytes >> shift))
    };
    let units = [("g", 30), ("m", 20), ("k", 10)];
    units.into_iter().find_map(in_unit).unwrap_or_else(|| bytes.to_string())
}

/// A length multiplied by `scale`, in its stored form.
fn scaled(param: &Param, value: &str, scale: f64) -> Result<String, PlanError> {
    let length = parse_duration(value).map_err(|e| bad_value(param, value, e.to_string()))?;
    checked_length(param, value, length.mul_f64(scale))
}

fn checked_length(param: &Param, value: &str, length: Duration) -> Result<String, PlanError> {
    match length {
        _ if length < SHORTEST => Err(bad_value(param, value, "at least 100ns".into())),
        _ if length > LONGEST => Err(bad_value(param, value, "at most 1h".into())),
        _ => Ok(format_duration(length)),
    }
}

fn bad_value(param: &Param, value: &str, problem: String) -> PlanError {
    PlanError::BadValue { name: param.name.to_owned(), value: value.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_of_cpus_has_each_pair_once() {
        assert_eq!(on_this_machine("each-pair", &[0, 2, 5]), ["0-2", "0-5", "2-5"]);
        assert_eq!(on_this_machine("each-pair", &[3]), ["first-last"]);
    }

    #[test]
    fn sizes_are_kept_in_one_form() {
        for (bytes, text) in [
            (0, "0"),
            (100, "100"),
            (4096, "4k"),
            (1 << 20, "1m"),
            (3 << 19, "1536k"),
            (16 << 30, "16g"),
        ] {
            assert_eq!(shortest(bytes), text);
            assert_eq!(parse_size(text), Ok(bytes));
        }
    }

    #[test]
    fn a_sweep_ends_where_it_should() {
        assert_eq!(sweep(4), [1, 2, 3, 4]);
        let many = sweep(256);
        assert_eq!((many[0], many.last()), (1, Some(&256)));
        assert_eq!(few_up_to(4), [1, 2, 4]);
        assert_eq!(few_up_to(8), [1, 2, 4, 6, 8]);
        assert_eq!(few_up_to(20), [1, 2, 4, 6, 8, 12, 16, 20]);
        assert!(many.len() < 25 && many.windows(2).all(|pair| pair[0] < pair[1]), "{many:?}");
    }
}
