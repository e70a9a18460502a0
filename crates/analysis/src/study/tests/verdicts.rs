//! Figures and verdicts of a small study.

use super::*;

#[test]
fn a_table_has_the_geometric_mean_over_systems() {
    let study = SMALL.replace("rows-are = \"r\"", "rows-are = \"r\"\nmean = true");
    let study = parse(&study, Size::Default).unwrap();
    let of = |system, ns| {
        let result = futex(ns);
        document("Linux", Some(system), vec![result])
    };
    let runs = [of("one", 100.0), of("other", 400.0)];
    let table = StudyFindings::of(&study, &runs).tables.remove(0);
    assert_eq!(table.systems, ["one", "other", "mean"]);
    let mean = table.rows[0].cells[0].here[2].value.unwrap();
    assert!((mean.value - 200.0).abs() < 1e-6, "{mean:?}");
    // Each interval is 0.1 % on either side; that of the mean of two is narrower by the root of two.
    assert!((mean.high / mean.low - 1.0 - 2e-3 / 2_f64.sqrt()).abs() < 1e-5, "{mean:?}");
}

#[test]
fn a_row_can_show_the_quantity_of_a_claim() {
    let study = SMALL.replace(
        "point = { case = \"lock/futex\", params = { workers = \"$n\" } }\n[[claim]]",
        "claim = \"c\"\n[[claim]]",
    );
    let study = parse(&study, Size::Default).unwrap();
    let result = futex(100.0);
    let runs = [document("Linux", None, vec![result])];
    let found = StudyFindings::of(&study, &runs);
    let (cell, claim) = (&found.tables[0].rows[0].cells[0], &found.claims[0]);
    assert_eq!(cell.here[0].value.unwrap().value, claim.comparisons[0].interval.unwrap().mid);
    assert!((cell.here[0].ratio.unwrap() - 100.0).abs() < 1e-9);
    let unknown = SMALL.replace(
        "point = { case = \"lock/futex\", params = { workers = \"$n\" } }\n[[claim]]",
        "claim = \"d\"\n[[claim]]",
    );
    let error = parse(&unknown, Size::Default).unwrap_err();
    assert!(error.to_string().contains("\"d\", which is none"), "{error}");
}

#[test]
fn a_name_that_no_run_has_is_given_to_a_run_on_the_operating_system_of_the_study() {
    let study = SMALL.replace(
        "[sizes]",
        "[[system]]\nname = \"old\"\nos = \"Linux\"\n[[system]]\nname = \"new\"\nos = \"Linux\"\n[sizes]",
    );
    // Tables of TOML come after the plain keys.
    let study = parse(&study, Size::Default).unwrap();
    let run = |os| document(os, None, Vec::new());
    let mut runs = [run("Windows"), run("Linux")];
    runs[0].run.id = "other".to_owned();
    let meant = StudyFindings::of(&study, &runs).named;
    let id = &runs[1].run.id;
    assert_eq!(meant, ["old", "new"].map(|name| (name.to_owned(), id.clone())));
}

/// Checks a claim that compares two names which both mean the only system on Linux.
#[test]
fn two_names_of_one_system_are_no_comparison() {
    let study = SMALL
        .replace(
            "[sizes]",
            "[[system]]\nname = \"old\"\nos = \"Linux\"\n[[system]]\nname = \"new\"\nos = \"Linux\"\n[sizes]",
        )
        .replace(
            "a = { case = \"lock/futex\", params = { workers = \"$n\" } }\nrelation = \"value < 1 us\"",
            "a = { case = \"lock/futex\", system = \"old\" }\nb.system = \"new\"\nrelation = \"within 5 %\"",
        );
    let study = parse(&study, Size::Default).unwrap();
    let of = |os, system| {
        let result = futex(100.0);
        document(os, Some(system), vec![result])
    };
    let one = [of("Linux", "native")];
    assert_eq!(verdict(&study, &one, "c"), ClaimVerdict::NotMeasurable);
    let beside = [of("Linux", "native"), of("Windows", "wine")];
    assert_eq!(verdict(&study, &beside, "c"), ClaimVerdict::NotMeasurable);
    let two = [of("Linux", "native"), of("Linux", "gvisor")];
    assert_eq!(verdict(&study, &two, "c"), ClaimVerdict::Holds);
}
