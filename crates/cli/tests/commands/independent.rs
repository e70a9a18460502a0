//! The statistics and the explanations of the bench `independent`, which has no test harness of its own.

#[path = "../../benches/independent/linux/explanations.rs"]
mod explanations;
#[path = "../../benches/independent/linux/ratio.rs"]
mod ratio;

use ratio::{Ratio, geometric_mean};

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
        assert_eq!([ratio.is_wide(), ratio.touches_one()], [is_wide, touches_one], "{ratio:?}");
    }
}

#[test]
fn an_interval_touches_one_from_either_side() {
    let touches = |low, high| Ratio { mean: (low + high) / 2.0, low, high }.touches_one();
    assert!(touches(1.04, 1.3) && touches(0.5, 0.96) && touches(0.5, 2.0));
    assert!(!touches(1.06, 1.3) && !touches(0.5, 0.94));
    let at = |mean: f64| Ratio { mean, low: mean - 0.01, high: mean + 0.01 };
    // One plain loop included some of the load that the mean of all samples includes; the others are faster or slower than both.
    assert!(at(0.8).encloses_one_with(&at(1.2)) && at(0.9).encloses_one_with(&at(0.95)));
    assert!(!at(0.8).encloses_one_with(&at(0.9)) && !at(1.1).encloses_one_with(&at(1.3)));
    let ratio = Ratio { mean: 1.05, low: 1.04, high: 1.06 };
    assert!(ratio.touches(0.05) && !ratio.touches(0.03));
}

#[test]
fn a_geometric_mean_is_that_of_the_logarithms() {
    assert!(is_near(geometric_mean([1.0, 100.0].into_iter()), 10.0));
    assert!(is_near(geometric_mean([7.0].into_iter()), 7.0));
}

#[test]
fn the_file_has_a_cause_and_an_experiment_for_each_operation_once() {
    let all = explanations::all().expect("explanations.toml");
    for (at, one) in all.iter().enumerate() {
        assert!(one.why.len() > 20 && one.experiment.len() > 20, "{one:?}");
        let key = |one: &explanations::Explanation| {
            (one.case.clone(), one.params.clone(), one.metric.clone())
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
}

#[test]
fn an_explanation_without_an_experiment_is_refused() {
    let without = "[[explanation]]\ncase = \"a/b\"\nwhy = \"it is so\"";
    assert!(
        explanations::parse(without).is_err_and(|error| error.to_string().contains("experiment"))
    );
}
