//! Simulated runs: how often equal rows get a verdict, and how often a difference is detected.

use super::*;

/// A distribution of rounds: the factor of a round, given its number and the number of rounds.
type Scattering = fn(&mut StdRng, usize, usize) -> f64;

/// Observed distributions of rounds, and worse ones, none with a difference between runs.
const SCATTERINGS: [(&str, Scattering); 6] = [
    ("normal", |rng, _, _| (0.05 * noise(rng)).exp()),
    ("skewed", |rng, _, _| 1.0 + 0.1 * (-(1.0 - rng.random::<f64>()).ln())),
    // The distribution is Student's t with 3 degrees of freedom.
    ("heavy tails", |rng, _, _| {
        let squares: f64 = (0..3).map(|_| noise(rng).powi(2)).sum();
        (0.03 * noise(rng) / (squares / 3.0).sqrt()).clamp(-2.0, 2.0).exp()
    }),
    ("one in seven disturbed", |rng, _, _| (0.002 * noise(rng)).exp() * simulated::outlier(rng)),
    ("two modes", |rng, _, _| {
        let mode = if rng.random::<f64>() < 0.3 { 1.08 } else { 1.0 };
        mode * (0.004 * noise(rng)).exp()
    }),
    ("drifting", |rng, round, of| (0.01 * noise(rng) + 0.1 * round as f64 / of as f64).exp()),
];

/// Rows that differ only by chance, with 6 to 24 rounds each.
fn equal_rows(rng: &mut StdRng, rows: usize, scatter: Scattering) -> Document {
    let row = |row: usize, rng: &mut StdRng| {
        let n = [6, 7, 8, 9, 10, 12, 14, 24][row % 8];
        result(&format!("a/c{row}"), (0..n).map(|round| 100.0 * scatter(rng, round, n)).collect())
    };
    run((0..rows).map(|number| row(number, rng)).collect())
}

/// A run of these cases with their rounds, in cycles.
fn run_in_cycles(ghz: f64, rows: &[(String, Vec<f64>)]) -> Document {
    let rows: Vec<(&str, Vec<f64>)> =
        rows.iter().map(|(case, rounds)| (case.as_str(), rounds.clone())).collect();
    run_at(ghz, &rows)
}

/// Checks that the error rate applies to all rows together, for any distribution of their rounds.
#[test]
fn wrong_verdicts_stay_within_the_promised_chance() {
    const FAMILIES: usize = 40;
    const ROWS: usize = 150;
    for (seed, (name, scatter)) in (1u64..).zip(SCATTERINGS) {
        let mut rng = StdRng::seed_from_u64(seed);
        let wrong = (0..FAMILIES).filter(|_| {
            let [base, new] = [0, 1].map(|_| equal_rows(&mut rng, ROWS, scatter));
            compared(&base, &new).iter().any(|row| row.verdict.is_difference())
        });
        let wrong = wrong.count();
        println!("{name}: {wrong} of {FAMILIES} families");
        // The expected number is 2 (5 % of 40 families); 5 would be beyond two standard errors.
        assert!(wrong < 5, "{name}: {wrong} of {FAMILIES} families");
    }
}

/// Checks the requirement for cycles: a change of 1 % is detected in 9 of 10 tries among 300 rows, and no other row differs.
#[test]
fn one_percent_of_cycles_is_found_among_hundreds_of_rows() {
    const TRIES: usize = 20;
    const ROWS: usize = 300;
    let mut rng = StdRng::seed_from_u64(5);
    let mut measured = |slower: f64, ghz: f64| {
        let rows: Vec<(String, Vec<f64>)> = (0..ROWS)
            .map(|row| {
                let cycles = 100.0 + row as f64;
                let factor = if row < 4 { slower } else { 1.0 };
                let rounds = (0..8).map(|_| cycles * factor * (0.001 * noise(&mut rng)).exp());
                (format!("a/c{row}"), rounds.collect())
            })
            .collect();
        run_in_cycles(ghz, &rows)
    };
    let mut found = 0;
    for attempt in 0..TRIES {
        let ghz = 3.3 + 0.02 * attempt as f64;
        let rows = compared(&measured(1.0, 3.75), &measured(1.01, ghz));
        let (slowed, others) = rows.split_at(4);
        found += slowed.iter().filter(|row| row.verdict == Verdict::Slower).count();
        assert!(others.iter().all(|row| !row.verdict.is_difference()), "try {attempt}");
    }
    assert!(found >= TRIES * 4 * 9 / 10, "{found} of {} were found", TRIES * 4);
}

/// Checks systems in turn, round by round, on a core that changes its state every few rounds, for both alike.
#[test]
fn wrong_verdicts_between_systems_in_turn_stay_within_that_chance_too() {
    const FAMILIES: usize = 40;
    const ROWS: usize = 50;
    for (seed, (name, scatter)) in (11u64..).zip(SCATTERINGS) {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut wrong = 0;
        for _ in 0..FAMILIES {
            let states: Vec<f64> = (0..8).map(|_| (0.03 * noise(&mut rng)).exp()).collect();
            let [base, new] = ["a", "b"].map(|id| {
                let rows: Vec<(String, Vec<f64>)> = (0..ROWS)
                    .map(|row| {
                        let n = [16, 18, 24, 40][row % 4];
                        let values = (0..n)
                            .map(|round| 100.0 * states[round / 5] * scatter(&mut rng, round, n));
                        (format!("a/c{row}"), values.collect())
                    })
                    .collect();
                in_turn(run_in_cycles(4.0, &rows), id, if id == "a" { 0 } else { 20 })
            });
            let rows = compared(&base, &new);
            wrong += usize::from(rows.iter().any(|row| row.verdict.is_difference()));
        }
        println!("{name}: {wrong} of {FAMILIES} families");
        assert!(wrong < 5, "{name}: {wrong} of {FAMILIES} families");
    }
}
