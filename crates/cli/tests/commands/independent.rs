//! The statistics and the explanations of the bench `independent`, which has no test harness of its own.

#[path = "../../benches/independent/linux/explanations.rs"]
mod explanations;
#[path = "../../benches/independent/linux/modes.rs"]
mod modes;
#[path = "../../benches/independent/linux/ratio.rs"]
mod ratio;

use modes::{Modes, Reading};
use ratio::{MARGIN, MARGIN_INSIDE, Ratio, geometric_mean};

fn is_near(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 1e-4
}

#[test]
fn the_interval_is_that_of_students_t_on_the_logarithms() {
    // The mean is 0.05 and the standard deviation 0.0447214, computed by hand; the tabulated quantile for four degrees is 2.7764.
    let five = [0.10f64, -0.02, 0.06, 0.04, 0.07].map(|log| (200.0 * log.exp(), 200.0));
    // The 97.5 % quantile of Student's t with one degree is tan(0.475 pi) = 12.7062; the logarithms are -0.01 and 0.01.
    let (two, end) = ([-0.01f64, 0.01].map(|log| (log.exp(), 1.0)), 0.127062f64.exp());
    // What both times of a turn share cancels.
    let shared = [(100.0, 50.0), (130.0, 65.0), (10.0, 5.0)];
    for (turns, expected, [is_wide, touches_one]) in [
        (&five[..], [0.994486, 1.051271, 1.111298], [false, true]),
        (&two, [1.0 / end, 1.0, end], [true, true]),
        (&shared, [2.0; 3], [false, false]),
    ] {
        let ratio = Ratio::of(turns);
        let found = [ratio.low, ratio.mean, ratio.high];
        assert!(found.iter().zip(expected).all(|(found, it)| is_near(*found, it)), "{ratio:?}");
        assert_eq!([ratio.is_wide(), ratio.touches(MARGIN)], [is_wide, touches_one], "{ratio:?}");
    }
}

#[test]
fn the_interval_of_two_groups_is_that_of_students_t_for_two_samples() {
    // Logarithms 0.1, 0.2, 0.3 and 0.05, 0.15: means 0.2 and 0.1; the sums of squares are 0.02 and 0.005, the variance 0.025 / 3,
    // the deviation of the difference 0.0833333; the tabulated quantile for three degrees is 3.1824.
    let exp = |logs: &[f64]| -> Vec<f64> { logs.iter().map(|log| log.exp()).collect() };
    let ratio = Ratio::of_groups(&exp(&[0.1, 0.2, 0.3]), &exp(&[0.05, 0.15]));
    let expected = [0.1 - 0.265204, 0.1, 0.1 + 0.265204f64].map(f64::exp);
    for (found, expected) in [ratio.low, ratio.mean, ratio.high].into_iter().zip(expected) {
        assert!(is_near(found, expected), "{ratio:?}");
    }
}

#[test]
fn an_interval_touches_one_from_either_side() {
    let touches = |low, high| Ratio { mean: (low + high) / 2.0, low, high }.touches(MARGIN);
    assert!(touches(1.04, 1.3) && touches(0.5, 0.96) && touches(0.5, 2.0));
    assert!(!touches(1.06, 1.3) && !touches(0.5, 0.94));
    let at = |mean: f64| Ratio { mean, low: mean - 0.01, high: mean + 0.01 };
    // One plain loop included some of the load that the mean of all samples includes; the others are faster or slower than both.
    assert!(
        at(0.8).encloses_one_with(&at(1.2), MARGIN) && at(0.9).encloses_one_with(&at(0.95), MARGIN)
    );
    assert!(
        !at(0.8).encloses_one_with(&at(0.9), MARGIN)
            && !at(1.1).encloses_one_with(&at(1.3), MARGIN)
    );
    let ratio = Ratio { mean: 1.05, low: 1.04, high: 1.06 };
    assert!(ratio.touches(0.05) && !ratio.touches(0.03));
    let ratio = Ratio { mean: 1.18, low: 1.14, high: 1.22 };
    assert!(ratio.touches(MARGIN_INSIDE) && !ratio.touches(MARGIN));
}

#[test]
fn a_geometric_mean_is_that_of_the_logarithms() {
    assert!(is_near(geometric_mean([1.0, 100.0].into_iter()), 10.0));
    assert!(is_near(geometric_mean([7.0].into_iter()), 7.0));
}

/// Readings around a time, evenly spread by a share of it, of as many operations each.
fn around(ns: f64, spread: f64, count: usize) -> Vec<Reading> {
    let at = |number: usize| number as f64 / count as f64 * 2.0 - 1.0;
    (0..count).map(|number| (ns * (1.0 + spread * at(number)), 1000.0)).collect()
}

/// The modes of turns that are alike but for the last digits.
fn modes_of(oscost: &[Reading], plain: &[Reading]) -> Option<Modes> {
    let scaled = |readings: &[Reading], by: f64| -> Vec<Reading> {
        readings.iter().map(|(ns, count)| (ns * by, *count)).collect()
    };
    let turns: Vec<[Vec<Reading>; 2]> = [0.99, 1.0, 1.01]
        .into_iter()
        .map(|by| [scaled(oscost, by), scaled(plain, 2.0 - by)])
        .collect();
    let turns: Vec<[&[Reading]; 2]> =
        turns.iter().map(|[oscost, plain]| [&oscost[..], &plain[..]]).collect();
    Modes::of(&turns)
}

#[test]
fn two_modes_are_compared_each_with_its_share() {
    let fast_and_slow = |fast: f64, slow: f64, of_100: usize| {
        [around(fast, 0.1, of_100), around(slow, 0.2, 100 - of_100)].concat()
    };
    let loops = fast_and_slow(3000.0, 17_000.0, 70);
    // The changes between the modes fall into readings, whose times lie in between; one reading in 100 was disturbed.
    let between = around(8000.0, 0.5, 4);
    let oscost = [fast_and_slow(3100.0, 19_000.0, 65), between, vec![(900_000.0, 1000.0)]].concat();
    let modes = modes_of(&oscost, &loops).expect("two modes");
    let [fast, slow] = &modes.both;
    let near = |value: f64, expected: f64, by: f64| (value / expected - 1.0).abs() < by;
    assert!(near(fast.ratio.unwrap().mean, 3100.0 / 3000.0, 0.02), "{fast:?}");
    assert!(near(slow.ratio.unwrap().mean, 19_000.0 / 17_000.0, 0.05), "{slow:?}");
    assert!(near(fast.shares[0], 0.64, 0.06) && near(fast.shares[1], 0.7, 1e-9), "{fast:?}");
    assert!(!modes.agree(MARGIN_INSIDE), "shares of 64 and 70 % in all turns do not overlap");
    let alike = modes_of(&fast_and_slow(3100.0, 19_000.0, 70), &loops).expect("two modes");
    assert!(alike.agree(MARGIN_INSIDE) && !alike.agree(0.01) && !alike.are_wide(), "{alike:?}");
    let slower = modes_of(&fast_and_slow(3100.0, 25_000.0, 70), &loops).expect("two modes");
    assert!(slower.shares_overlap && !slower.agree(MARGIN_INSIDE), "{slower:?}");
}

#[test]
fn a_mode_of_one_side_only_shows_in_the_shares() {
    let loops = [around(3000.0, 0.1, 70), around(17_000.0, 0.1, 30)].concat();
    let modes = modes_of(&around(17_500.0, 0.1, 100), &loops).expect("two modes");
    assert_eq!(modes.both[0].ratio, None);
    assert!(modes.both[0].shares[0] == 0.0 && !modes.shares_overlap && !modes.agree(0.15));
}

#[test]
fn processes_that_stay_in_one_mode_are_compared_with_those_in_the_same() {
    let (fast, slow) = (around(3000.0, 0.1, 100), around(17_000.0, 0.1, 100));
    let (a, b) = (around(3100.0, 0.1, 100), around(17_500.0, 0.1, 100));
    let modes = Modes::of(&[[&a, &slow], [&b, &fast], [&a, &fast], [&b, &slow]]).expect("two");
    assert!(modes.agree(MARGIN_INSIDE) && !modes.are_wide(), "{modes:?}");
    assert!(is_near(modes.both[0].ratio.unwrap().mean, 3100.0 / 3000.0), "{modes:?}");
}

#[test]
fn a_mode_of_one_turn_has_no_interval() {
    let both = [around(3000.0, 0.1, 50), around(17_000.0, 0.1, 50)].concat();
    let fast = around(3000.0, 0.1, 100);
    let modes = Modes::of(&[[&both, &both], [&fast, &fast]]).expect("two modes");
    assert!(modes.agree(MARGIN_INSIDE) && modes.are_wide());
    let [of_fast, of_slow] = modes.both.map(|mode| mode.ratio.expect("both have it"));
    assert!(of_fast.high < 1.01, "{of_fast:?}");
    assert_eq!((of_slow.mean, of_slow.low, of_slow.high), (1.0, 0.0, f64::INFINITY));
}

#[test]
fn what_has_one_mode_is_not_split() {
    let steady = around(200.0, 0.05, 100);
    for (oscost, plain, why) in [
        (steady.clone(), steady.clone(), "one time"),
        (around(300.0, 0.9, 500), around(300.0, 0.9, 500), "spread evenly over a factor of 19"),
        (around(200.0, 0.05, 100), around(250.0, 0.05, 100), "both near each other"),
        (around(600.0, 0.05, 100), steady.clone(), "each has its own time"),
        ([steady.clone(), around(900.0, 0.1, 2)].concat(), steady.clone(), "few are outliers"),
        (vec![(200.0, 1000.0)], vec![(200.0, 1000.0)], "a reading each"),
    ] {
        assert_eq!(modes_of(&oscost, &plain), None, "{why}");
    }
    assert_eq!(Modes::of(&[[&steady, &[]]]), None, "no readings");
}

#[test]
fn the_file_has_a_cause_and_an_experiment_for_each_operation_once() {
    let all = explanations::all().expect("explanations.toml");
    for (at, one) in all.iter().enumerate() {
        assert!(one.why.len() > 20 && one.experiment.len() > 20, "{one:?}");
        let key = |one: &explanations::Explanation| {
            (one.case.clone(), one.params.clone(), one.metric.clone(), one.on.clone())
        };
        let again = all[at + 1..].iter().any(|other| key(other) == key(one));
        assert!(!again, "{} is explained twice", one.case);
    }
}

#[test]
fn an_explanation_is_about_the_operation_with_exactly_its_parameters() {
    let text = "[[explanation]]\ncase = \"a/b\"\nparams = { size = \"4m\" }\nwhy = \"\"\nexperiment = \"\"";
    let one = explanations::parse(text).expect("an explanation").remove(0);
    assert!(one.is_about("a/b", &[("size", "4m")], "time"));
    for (case, params) in [
        ("a/c", &[("size", "4m")][..]),
        ("a/b", &[("size", "256k")]),
        ("a/b", &[]),
        ("a/b", &[("size", "4m"), ("pages", "base")]),
    ] {
        assert!(!one.is_about(case, params, "time"), "{case} {params:?}");
    }
    assert!(!one.is_about("a/b", &[("size", "4m")], "rate"));
    assert_eq!(one.on, None);
    let inside = explanations::parse(&format!("{text}\non = \"gvisor\"")).expect("an explanation");
    assert_eq!(inside[0].on.as_deref(), Some("gvisor"));
}

#[test]
fn an_explanation_without_an_experiment_is_refused() {
    let without = "[[explanation]]\ncase = \"a/b\"\nwhy = \"it is so\"";
    assert!(
        explanations::parse(without).is_err_and(|error| error.to_string().contains("experiment"))
    );
}
