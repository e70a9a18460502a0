//! Cost that each layer between a program and the hardware adds to a primitive: host, system call filter, container, sandbox,
//! virtual machine.

use measure::TIME;
use measure::stats::t_quantile;
use results::{Document, LAUNCHER, PointKey, serialize_label};
use serde::Serialize;
use strum::IntoStaticStr;

use crate::change::Ratio;
use crate::columns::Facts;
use crate::judge::{Judge, Pair, Settings};
use crate::spread::{Spread, welch};
use crate::table::{Found, Table};
use crate::verdict::Verdict;

/// A layer, in the order from the hardware outwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "lowercase")]
pub enum Layer {
    /// The host's own kernel.
    Host,
    /// A filter of system calls.
    Seccomp,
    /// Namespaces: a container, or another root directory.
    Container,
    /// Another implementation of the system calls, such as gVisor, or of those of another system, such as Wine.
    Sandbox,
    /// Another kernel in a virtual machine.
    #[strum(serialize = "VM")]
    VirtualMachine,
}

impl Layer {
    /// The layer of a run: by how its system was started, by the name of the system, and by its description.
    pub fn of(run: &Document) -> Self {
        const KNOWN: [(&str, Layer); 17] = [
            ("native", Layer::Host),
            ("host", Layer::Host),
            ("seccomp", Layer::Seccomp),
            ("container", Layer::Container),
            ("docker", Layer::Container),
            ("podman", Layer::Container),
            ("bwrap", Layer::Container),
            ("chroot", Layer::Container),
            ("gvisor", Layer::Sandbox),
            ("runsc", Layer::Sandbox),
            ("sandbox", Layer::Sandbox),
            ("wine", Layer::Sandbox),
            ("qemu", Layer::VirtualMachine),
            ("kvm", Layer::VirtualMachine),
            ("uml", Layer::VirtualMachine),
            ("vm", Layer::VirtualMachine),
            ("firecracker", Layer::VirtualMachine),
        ];
        let name = run.system().unwrap_or("native").to_ascii_lowercase();
        let words = || name.split(|c: char| !c.is_ascii_alphanumeric());
        let by_name = KNOWN.iter().find(|(known, _)| words().any(|word| word == *known));
        // The launcher comes first, since the user may have given the system any name.
        let launcher = run.machine.get(LAUNCHER).and_then(|name| name.as_str());
        let by_launcher = KNOWN.iter().find(|(known, _)| Some(*known) == launcher);
        let fact = |key: &str| {
            let value = run.machine.get(key).and_then(|value| value.as_str());
            value.is_some_and(|text| !["none", "unknown", ""].contains(&text))
        };
        match by_launcher.filter(|(_, layer)| *layer != Self::Host).or(by_name) {
            Some((_, layer)) => *layer,
            None if fact("compat") => Layer::Sandbox,
            None if fact("container") => Layer::Container,
            None => Layer::Host,
        }
    }

    /// Name of the layer.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// The cost of one primitive in each layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ladder {
    /// The point.
    #[serde(rename = "label", serialize_with = "serialize_label")]
    pub point: PointKey,
    /// Layers with a figure, from the hardware outwards.
    pub steps: Vec<Step>,
}

/// The cost of a primitive in one layer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Name of the column of the table.
    pub column: String,
    /// Layer of the column.
    pub layer: Layer,
    /// Cost in ns.
    pub ns: f64,
    /// Difference to the step before; `None` for the first step, and if a figure has no interval.
    pub adds: Option<Added>,
    /// System calls of one operation on the host, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_calls: Option<f64>,
}

/// A difference of costs in ns, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Added {
    /// The difference of the medians.
    pub ns: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The verdict on the ratio to the step before.
    pub verdict: Verdict,
}

/// The columns of the table in the order of their layers, those of one layer in the order of the table.
pub fn layers(table: &Table) -> Vec<(usize, Layer)> {
    let run_of = |column: &String| {
        let found = |run: &&Document| table.by.value_of_run(run).as_ref() == Some(column);
        table.runs.iter().find(found)
    };
    let columns = table.columns.iter().enumerate();
    let mut layers: Vec<(usize, Layer)> =
        columns.map(|(at, column)| (at, run_of(column).map_or(Layer::Host, Layer::of))).collect();
    layers.sort_by_key(|(at, layer)| (*layer, *at));
    layers
}

/// The results of a point in several columns, from the hardware outwards.
type Climb<'a> = Vec<(usize, Layer, Found<'a>)>;

/// The ladder of each point with a time in several columns. All differences share one chance of error.
pub fn ladders(table: &Table, settings: &Settings) -> Vec<Ladder> {
    let facts = Facts::of(table, settings);
    let layers = layers(table);
    let times = table.rows.iter().filter(|row| row.metric == TIME.name && row.unit == TIME.unit);
    let climbs: Vec<(PointKey, Climb)> = times
        .map(|row| {
            let step = |&(at, layer): &(usize, Layer)| Some((at, layer, row.cells[at].measured()?));
            (row.point(table), layers.iter().filter_map(step).collect())
        })
        .filter(|(_, steps): &(_, Climb)| steps.len() > 1)
        .collect();
    let questions = climbs.iter().map(|(_, steps)| steps.len() - 1).sum::<usize>();
    let chance = settings.chance / questions.max(1) as f64;
    let judge = Judge { chance, settings };
    let ladder = |(point, found): (PointKey, Climb)| {
        let step = |at: usize| {
            let (column, layer, of) = found[at];
            let before = at.checked_sub(1).map(|before| found[before].2);
            Step {
                column: table.columns[column].clone(),
                layer,
                ns: of.result.estimate.map_or(0.0, |estimate| estimate.median),
                adds: before.and_then(|before| added(before, of, &facts, &judge)),
                host_calls: of.result.per_op.as_ref().and_then(|per_op| per_op.host_syscalls),
            }
        };
        Ladder { point, steps: (0..found.len()).map(step).collect() }
    };
    climbs.into_iter().map(ladder).collect()
}

fn added(before: Found, of: Found, facts: &Facts, judge: &Judge) -> Option<Added> {
    let of_before = before.result.estimate?.median;
    if !(before.result.has_interval() && of.result.has_interval()) {
        return None;
    }
    let pair = Pair {
        base: Some(before.result),
        new: Some(of.result),
        change: facts.change(before, of),
        held_back: facts.held_back(before, of),
        is_itself: false,
    };
    let row = judge.row(pair, String::new);
    let verdict = row.verdict;
    // The table of rows shows this ratio, so both agree.
    if let Some(Ratio { mid, low, high }) = row.ratio {
        let [ns, low, high] = [mid, low, high].map(|ratio| of_before * (ratio - 1.0));
        return Some(Added { ns, low, high, verdict });
    }
    let ns = of.result.estimate?.median - of_before;
    let [from, to] = [before, of].map(|found| Spread::of(&found.result.round_values));
    let (from, to) = (from?, to?);
    let (error, degrees) = welch((from.error, from.degrees), (to.error, to.degrees));
    let half = t_quantile(1.0 - judge.chance / 2.0, degrees) * error;
    Some(Added { ns, low: ns - half, high: ns + half, verdict })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::Dimension;
    use crate::table::{Question, tabulate};
    use simulated::{document, rounds_of};

    #[test]
    fn layers_are_known_by_name_or_by_the_machine() {
        let layer = |system: &str| Layer::of(&document(system, Vec::new()));
        assert_eq!(layer("native"), Layer::Host);
        assert_eq!(layer("podman:debian:12"), Layer::Container);
        assert_eq!(layer("gvisor"), Layer::Sandbox);
        assert_eq!(layer("qemu:/boot/vmlinuz-6.12"), Layer::VirtualMachine);
        assert_eq!(layer("mine"), Layer::Host);
        let mut run = document("mine", Vec::new());
        run.machine.insert(LAUNCHER.to_owned(), "qemu".into());
        assert_eq!(Layer::of(&run), Layer::VirtualMachine);
        // A process with a filter of system calls: its name says more than the way it was started.
        let mut run = document("seccomp", Vec::new());
        run.machine.insert(LAUNCHER.to_owned(), "native".into());
        assert_eq!(Layer::of(&run), Layer::Seccomp);
        let mut run = document("mine", Vec::new());
        run.machine.insert(LAUNCHER.to_owned(), "command".into());
        assert_eq!(Layer::of(&run), Layer::Host);
        run.machine.insert("container".into(), "lxc".into());
        assert_eq!(Layer::of(&run), Layer::Container);
        run.machine.insert("compat".into(), "gVisor".into());
        assert_eq!(Layer::of(&run), Layer::Sandbox);
    }

    #[test]
    fn each_layer_is_compared_with_the_one_before() {
        let rounds = |ns: f64| -> Vec<f64> {
            (0..8).map(|at| ns * (1.0 + 0.001 * f64::from(at - 4))).collect()
        };
        let run = |system: &str, ns: f64| {
            document(system, vec![rounds_of("syscall/getppid", &rounds(ns))])
        };
        // The runs are not in the order of their layers.
        let runs = [run("gvisor", 1_000.0), run("native", 100.0), run("bwrap", 100.1)];
        let table = tabulate(&runs, &Dimension::System, &Question::default()).unwrap();
        let ladders = ladders(&table, &Settings::default());
        let steps = &ladders[0].steps;
        let names: Vec<&str> = steps.iter().map(|step| step.column.as_str()).collect();
        assert_eq!(names, ["native", "bwrap", "gvisor"]);
        assert_eq!(steps[0].adds, None);
        let bwrap = steps[1].adds.unwrap();
        assert_eq!(bwrap.verdict, Verdict::Same);
        assert!(bwrap.low < 0.1 && 0.1 < bwrap.high, "{bwrap:?}");
        let gvisor = steps[2].adds.unwrap();
        assert_eq!(gvisor.verdict, Verdict::Slower);
        assert!(gvisor.low > 890.0 && gvisor.high < 910.0, "{gvisor:?}");
    }
}
