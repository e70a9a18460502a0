use std::path::Path;
use std::time::Duration;

use measure::trial::TrialContext;
use measure::{CaseError, Params};

use super::dependent::shortest_first;
use super::executor::{DEGREE_AT_MOST, Executor};
use super::foreground;
use super::job_file::read;
use super::job_list::JobList;
use super::list::{JOBS_AT_MOST, described, parse_bound, parse_lengths, parse_share};
use super::metrics;
use super::options::{FOREGROUND, INSTRUCTIONS, work_of};
use super::trial::measure;
use catalog::{Case, Param, Takes, Trials, count_of, value_of};

/// The parameter `list`: a file of jobs, with its checksum after a `#`. It replaces `jobs`, `length` and `bound`.
pub const LIST: &str = "list";
/// The parameter `locked`: the share of each described job during which it holds the lock that all jobs share. Without it there
/// is no lock.
pub const LOCKED: &str = "locked";

pub const CASE: Case = Case {
    operation: "The user's list of jobs carried out, from the start until the last job is \
                complete.",
    comparable_to: "As concurrency/jobs, for jobs described by options or listed in a file; \
                `oscost concurrency` measures every candidate and reports the best one.",
    trials: Some(Trials { only_by: Some("oscost concurrency"), ..Trials::new(takes) }),
    params: &[
        Param::new("executor", &["serial", "threads", "pool", "tokio"])
            .meaning("what carries out the jobs (see concurrency/jobs)"),
        Param::new("degree", &["1"])
            .meaning("the maximum number of jobs in progress at once")
            .takes(Takes::Count(DEGREE_AT_MOST as u64)),
        Param::new("order", &["given"])
            .meaning(
                "whether jobs start in the given order, or the shortest job first of those that \
                 have arrived",
            )
            .takes(Takes::Words(&["shortest"])),
        Param::new("jobs", &["40"])
            .meaning("the number of jobs")
            .takes(Takes::Count(JOBS_AT_MOST as u64)),
        Param::new("length", &["5ms..80ms"])
            .meaning("the lengths of the jobs, evenly spaced over the range"),
        Param::new("bound", &["mixed:30"])
            .meaning("whether the jobs need a CPU, wait, or do both with this CPU share"),
        INSTRUCTIONS,
        FOREGROUND,
    ],
    metrics: metrics::LIST,
    run: |params, round| {
        let cpus = round.order().cpus.clone();
        let mut context = TrialContext::new(round, &cpus)?;
        let list = list_of(params)?;
        let (name, degree) = (value_of(params, "executor")?, count_of(params, "degree")?);
        let executor = Executor::new(name, degree, cpus.len())?;
        let (work, clock) = (work_of(params, round, &mut context)?, context.clock());
        let in_order = value_of(params, "order")? == "given";
        let takes = takes_once(params, cpus.len());
        measure(params, round, &context, &list, takes, || match in_order {
            true => executor.carry_out_list(&list, &work, clock),
            false => Ok(shortest_first(&list, &work, clock)),
        })
    },
    ..Case::new("concurrency", "answer")
};

/// Jobs that the parameters describe, or those in the file that they name, ordered by arrival.
///
/// # Errors
/// `Failed` if the file has changed since the run was planned.
pub fn list_of(params: &Params) -> Result<JobList, CaseError> {
    let Some(file) = params.get(LIST) else {
        let lengths = parse_lengths(value_of(params, "length")?).map_err(CaseError::Failed)?;
        let share = parse_bound(value_of(params, "bound")?).map_err(CaseError::Failed)?;
        let locked = params.get(LOCKED).map_or(Ok(0.0), |text| parse_share(text));
        let locked = locked.map_err(CaseError::Failed)?;
        let mut jobs = described(count_of(params, "jobs")?, lengths, share);
        jobs.iter_mut().for_each(|job| job.locked = locked);
        return Ok(JobList::independent(jobs));
    };
    let (path, planned) = file.rsplit_once('#').unwrap_or((file, ""));
    match read(Path::new(path)) {
        Err(e) => Err(CaseError::Failed(format!("{path}: {e}"))),
        Ok((_, checksum)) if checksum != planned => {
            Err(CaseError::Failed(format!("{path} was changed while it was measured")))
        }
        Ok((list, _)) => Ok(list.by_arrival()),
    }
}

/// The candidates for these jobs on `cpus` CPUs, each with an executor, a degree and an order.
pub fn candidates(list: &JobList, cpus: usize) -> Vec<Params> {
    let jobs = &list.jobs;
    let all_at_once = jobs.len().min(DEGREE_AT_MOST);
    let mut degrees: Vec<usize> = [cpus, 2 * cpus, 4 * cpus, all_at_once]
        .into_iter()
        .filter(|&degree| degree > 1 && degree <= all_at_once)
        .collect();
    degrees.dedup();
    let mut ways = vec![("serial", 1, "given")];
    if !jobs.is_sorted_by_key(|job| job.length) {
        ways.push(("serial", 1, "shortest"));
    }
    ways.extend(degrees.iter().map(|&degree| ("threads", degree, "given")));
    ways.extend(degrees.iter().map(|&degree| ("pool", degree, "given")));
    if all_at_once > 1 {
        ways.push(("tokio", all_at_once, "given"));
    }
    let ways = ways.into_iter().map(|(executor, degree, order)| {
        let degree = degree.to_string();
        [("executor", executor), ("degree", degree.as_str()), ("order", order)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into()
    });
    ways.collect()
}

/// Estimated time of a trial on two CPUs.
pub fn takes(params: &Params) -> Duration {
    foreground::takes(params, takes_once(params, 2))
}

/// Estimated time of one execution of the list: the sum of all jobs for serial execution, otherwise about the ideal time on
/// `cpus` CPUs.
fn takes_once(params: &Params, cpus: usize) -> Duration {
    let list = list_of(params).unwrap_or_else(|_| JobList::independent(Vec::new()));
    let sum: Duration = list.jobs.iter().map(|job| job.length).sum();
    let degree = count_of(params, "degree").unwrap_or(1).max(1) as u32;
    (sum / degree).max(list.limits(cpus).at_least)
}

#[cfg(test)]
mod tests {
    use super::super::job::Job;
    use super::*;

    fn names(jobs: &[Job], cpus: usize) -> Vec<String> {
        let list = JobList::independent(jobs.to_vec());
        let candidates = candidates(&list, cpus).into_iter();
        candidates.map(|p| format!("{} {} {}", p["executor"], p["degree"], p["order"])).collect()
    }

    #[test]
    fn candidates_are_only_those_that_differ() {
        let ms = Duration::from_millis;
        let jobs = described(40, [ms(5), ms(80)], 0.3);
        assert_eq!(
            names(&jobs, 2),
            [
                "serial 1 given",
                "serial 1 shortest",
                "threads 2 given",
                "threads 4 given",
                "threads 8 given",
                "threads 40 given",
                "pool 2 given",
                "pool 4 given",
                "pool 8 given",
                "pool 40 given",
                "tokio 40 given"
            ]
        );
        // Three equal jobs on one CPU.
        let jobs = described(3, [ms(5), ms(5)], 1.0);
        assert_eq!(
            names(&jobs, 1),
            [
                "serial 1 given",
                "threads 2 given",
                "threads 3 given",
                "pool 2 given",
                "pool 3 given",
                "tokio 3 given"
            ]
        );
        assert_eq!(names(&jobs[..1], 8), ["serial 1 given"]);
    }

    #[test]
    fn a_file_that_was_changed_is_not_measured() {
        let path = std::env::temp_dir().join(format!("oscost-jobs-{}.txt", std::process::id()));
        std::fs::write(&path, "5ms 100 7ms\n3ms 0\n").unwrap();
        let (_, checksum) = read(&path).unwrap();
        let params = |sum: &str| Params::from([(LIST.into(), format!("{}#{sum}", path.display()))]);
        let jobs = list_of(&params(&checksum)).unwrap().jobs;
        assert_eq!(jobs[0].arrival, Duration::ZERO, "first what arrives first");
        let error = list_of(&params("00000000")).unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("was changed"), "{error}");
    }
}
