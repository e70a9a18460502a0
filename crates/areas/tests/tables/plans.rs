//! The points of the areas, and the time that a run of them takes on two CPUs.

use std::collections::BTreeSet;
use std::time::Duration;

use catalog::Extent;
use runner::{Options, Plan, Point, choose};

const QUICK: Extent = Extent::Quick;
const ORDINARY: Extent = Extent::Ordinary;
const FULL: Extent = Extent::Full;

/// A plan of what the filter chooses, of everything without one, with these values of parameters.
fn planned(filter: &str, extent: Extent, params: &[(&str, &[&str])]) -> Plan {
    areas::install();
    let owned = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    let options = Options {
        filters: Some(filter.to_owned()).filter(|filter| !filter.is_empty()).into_iter().collect(),
        params: params.iter().map(|(name, values)| ((*name).to_owned(), owned(values))).collect(),
        quick: extent == QUICK,
        full: extent == FULL,
        ..Options::default()
    };
    runner::plan(&options, &[0, 1], 7).unwrap()
}

fn count(points: &[Point], of: impl Fn(&Point) -> bool) -> usize {
    points.iter().filter(|point| of(point)).count()
}

#[test]
fn runs_and_their_areas_end_in_time() {
    areas::install();
    // Cases of another system take no time.
    let missing = catalog::area("memory").unwrap().cases.iter();
    let missing_ms = missing.filter(|case| case.missing_here().is_some()).count() as u64 * 500;
    // A run of everything leaves out overload and slow clients. The minimum is 12 s, of a quick run 5 s.
    for (filter, ordinary, quick) in [
        ("", 240_000, 60_000),
        ("net", 120_000, 18_000),
        ("net/answer", 64_999, 9_999),
        ("memory", 36_000 + missing_ms, 8_000),
        ("atomic", 14_000, 7_000),
        ("mail", 40_000, 10_000),
        ("file", 59_999, 17_999),
        ("concurrency", 41_999, 14_999),
    ] {
        let ms = [ORDINARY, QUICK].map(|extent| planned(filter, extent, &[]).budget_ms);
        assert!(ms[0] <= ordinary && ms[1] <= quick, "{filter}: {ms:?}");
    }
    for (filter, extent, sampled_at_most, ms_at_most) in [
        ("process", ORDINARY, 8, 14_000),
        ("process", QUICK, 7, 4_000),
        // The points of Windows are planned too, and end at once.
        ("thread", ORDINARY, 9, 8_000),
        ("thread", QUICK, 5, 3_000),
    ] {
        let plan = planned(filter, extent, &[]);
        let takes = plan.points.iter().map(|point| {
            // A worker starts, and the sentinel runs.
            let around = Duration::from_millis(25);
            point.trial_takes().map(|takes| (takes + around) * plan.trials_of(point) as u32)
        });
        let (trials, sampled): (Vec<_>, Vec<_>) = takes.partition(Option::is_some);
        let ms = trials.into_iter().flatten().sum::<Duration>().as_millis();
        assert!(sampled.len() <= sampled_at_most && ms <= ms_at_most, "{filter}: {ms} ms");
    }
}

/// Each value that a case lists is accepted as one given by hand, in the same form.
#[test]
fn default_values_are_accepted_as_explicit_values() {
    areas::install();
    for case in choose(&[]).unwrap().into_iter().filter(|case| catalog::only_by(case).is_none()) {
        let listed = [ORDINARY, FULL].map(|extent| planned(&case.label(), extent, &[]).points);
        let listed = listed.concat();
        for param in case.params {
            let values = |points: &[Point]| -> BTreeSet<String> {
                points.iter().map(|point| point.params[param.name].clone()).collect()
            };
            let given = values(&listed);
            let by_hand: Vec<&str> = given.iter().map(String::as_str).collect();
            let by_hand = planned(&case.label(), ORDINARY, &[(param.name, &by_hand)]).points;
            assert_eq!(values(&by_hand), given, "{} of {}", param.name, case.label());
        }
    }
}

#[test]
fn a_default_run_has_points_of_every_case() {
    areas::install();
    for case in ["lock", "concurrency", "file"].map(|area| catalog::area(area).unwrap().cases) {
        for case in case.iter().filter(|case| catalog::only_by(case).is_none()) {
            for extent in [ORDINARY, QUICK] {
                let points = planned(&case.label(), extent, &[]).points;
                assert!(!points.is_empty(), "{}, {extent:?}", case.label());
            }
        }
    }
}

#[test]
fn points_chosen_by_hand_have_the_usual_work() {
    let chosen = [("arch", &["threads"][..]), ("connections", &["10"])];
    let by_hand = planned("net/answer", ORDINARY, &chosen).points;
    assert_eq!(by_hand.len(), 1);
    let values = ["work", "cpus", "parent"].map(|name| by_hand[0].params[name].as_str());
    assert_eq!(values, ["none", "1", "0"]);
    let works = [&chosen[..], &[("work", &["cpu:1000us"])]].concat();
    let works = planned("net/answer", ORDINARY, &works).points;
    assert_eq!(works.iter().map(|of| of.params["work"].as_str()).collect::<Vec<_>>(), ["cpu:1ms"]);
    let all = planned("net/answer", ORDINARY, &[]).points;
    assert!(all.iter().any(|of| of.params["work"] == "cpu:20us"));
}

#[test]
fn runs_of_servers_and_senders_omit_long_points_unless_requested() {
    let exec = |points: &[Point]| count(points, |point| point.params["arch"] == "exec");
    let of = |extent, params: &[(&str, &[&str])]| planned("net/answer", extent, params).points;
    // The number of points depends on the architectures that this system supports.
    let (ordinary, quick) = (of(ORDINARY, &[]), of(QUICK, &[]));
    assert!(ordinary.len() <= 25 && quick.len() <= 5, "{} {}", ordinary.len(), quick.len());
    assert_eq!([exec(&ordinary), exec(&quick), exec(&of(FULL, &[]))], [1, 0, 8]);
    assert_eq!(exec(&of(ORDINARY, &[("arch", &["exec"])])), 4);
    let senders = |extent| planned("mail", extent, &[]).points.len();
    // The points are all senders, numbers of connections and delays; and a message of two sizes through the sink.
    assert_eq!([ORDINARY, QUICK, FULL].map(senders), [8, 2, 4 * 9 * 2 + 2]);
}

#[test]
fn the_published_experiments_are_what_full_measures() {
    let plan = planned("concurrency/jobs", FULL, &[]);
    // The points are serial and threads, three kinds, six numbers of jobs, six lengths; on one CPU.
    assert_eq!((plan.points.len(), plan.trials), (216, 10));
    assert!(plan.points.iter().all(|point| {
        (point.params["cpus"].as_str(), point.params["degree"].as_str()) == ("one", "25")
    }));
    let quick = planned("concurrency", QUICK, &[]).points;
    let bases: BTreeSet<_> = quick.iter().filter_map(|point| point.params.get("base")).collect();
    assert_eq!(bases.len(), 2, "the shortest and the longest: {bases:?}");
    let sizes = planned("file/small", FULL, &[]).points;
    assert_eq!(count(&sizes, |point| point.params["files"] == "10000"), 8);
}

#[test]
fn a_run_of_everything_leaves_out_operations_that_scale_like_others() {
    let of = |filter, extent| -> Vec<Point> {
        let points = planned(filter, extent, &[]).points.into_iter();
        points.filter(|point| point.case.starts_with("scale/")).collect()
    };
    let has = |points: &[Point], case: &str| points.iter().any(|point| point.case == case);
    let ordinary = of("", ORDINARY);
    assert!(ordinary.len() <= 24 && has(&ordinary, "scale/open-close"), "{}", ordinary.len());
    assert!(!has(&ordinary, "scale/brk"));
    // A worker that shares with no other is measured once, several workers with both kinds of objects.
    let of_open = ordinary.iter().filter(|point| point.case == "scale/open-close");
    let of_open = of_open.map(|at| ["workers", "share"].map(|name| at.params[name].as_str()));
    assert_eq!(of_open.collect::<Vec<_>>(), [["1", "own"], ["2", "own"], ["2", "same"]]);
    let quick = of("", QUICK);
    assert!(quick.len() <= 20 && quick.len() < ordinary.len(), "{}", quick.len());
    assert!(has(&of("", FULL), "scale/brk") && has(&of("scale", ORDINARY), "scale/brk"));
}

#[test]
fn a_quick_run_of_locks_has_no_more_workers_than_two() {
    let (mut ordinary, quick) = (planned("lock", ORDINARY, &[]), planned("lock", QUICK, &[]));
    ordinary.points.retain(|point| point.params["work"] == "none");
    let workers = |plan: &Plan| {
        ["1", "2", "4"].map(|number| count(&plan.points, |at| at.params["workers"] == number))
    };
    let [one, two, _] = workers(&ordinary);
    assert_eq!((workers(&quick), quick.points.len()), ([one, two, 0], one + two));
}

#[test]
fn another_directory_has_the_points_of_an_ordinary_run() {
    let of =
        |params: &[(&str, &[&str])]| planned("file/random-read", ORDINARY, params).points.len();
    let [temp, here] = [std::env::temp_dir(), std::env::current_dir().unwrap()];
    let (temp, here) = (temp.to_str().unwrap(), here.to_str().unwrap());
    let ordinary = of(&[]);
    assert_eq!(of(&[("dir", &[temp])]), ordinary);
    assert_eq!(of(&[("dir", &[temp, here])]), 2 * ordinary);
    // A combination chosen by hand is planned, and reports itself where it is impossible.
    assert_eq!(of(&[("engine", &["pread"]), ("mode", &["cached"])]), 2);
}
