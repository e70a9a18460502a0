//! What pipelines run: comparisons with a stored document, and the steps of the action and of the GitLab template as they are in
//! the files. The dashboard shows metrics that are exported.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use crate::common::{Bench, PROGRAM, SHORT, run, text_of};
use serde_json::Value;
use yaml_rust2::{Yaml, YamlLoader};

const MEASURED: &str = "run syscall/getppid syscall/read-0 --quick --precision 50% --budget 60s";

/// Makes the machine of a document this many times as fast, which is certain beside any other load too.
fn make_faster(bench: &Bench, name: &str, times: f64) {
    /// What of a result is in its unit or in cycles.
    const SCALED: &str =
        "estimate cycles round_values all_round_values next_run this_machine seen quiet_quartiles";
    /// What of these is not.
    const KEPT: [&str; 6] = ["level", "deviation", "degrees", "visits", "boots", "days"];
    fn divide(value: &mut Value, times: f64) {
        match value {
            Value::Number(number) => *value = (number.as_f64().unwrap() / times).into(),
            Value::Array(values) => values.iter_mut().for_each(|value| divide(value, times)),
            Value::Object(fields) => fields
                .iter_mut()
                .filter(|(name, _)| !KEPT.contains(&name.as_str()))
                .for_each(|(_, value)| divide(value, times)),
            _ => {}
        }
    }
    let mut document: Value = serde_json::from_str(&bench.text(name)).unwrap();
    for result in document["results"].as_array_mut().unwrap() {
        for key in SCALED.split(' ') {
            if let Some(value) = result.get_mut(key) {
                divide(value, times);
            }
        }
    }
    bench.write(name, &document.to_string());
}

#[test]
fn a_run_is_compared_with_a_document() {
    let bench = Bench::new();
    bench.oscost(MEASURED).ended();
    bench.oscost("export last -o base.json").with(0);
    let gate =
        "--baseline base.json --fail-above 20% --undecided pass --markdown s.md --junit s.xml";
    bench.oscost(&format!("{MEASURED} {gate}")).ended().says(&["new: 2 rows compared with base"]);
    let junit = bench.text("s.xml");
    assert!(junit.contains(r#"tests="2" failures="0""#), "{junit}");
    make_faster(&bench, "base.json", 50.0);
    bench.oscost(&format!("{MEASURED} {gate}")).with(1).says(&["2 of 2 worse by more than 20 %"]);
    let markdown = bench.text("s.md");
    let first = markdown.lines().next().unwrap();
    assert!(first.contains("2 of 2 worse by more than 20 %"), "{first}");
    assert!(markdown.contains("| `syscall/getppid` |"), "{markdown}");
    // A baseline of another machine says nothing of a change on this one, unless one asks for it.
    let mut document: Value = serde_json::from_str(&bench.text("base.json")).unwrap();
    document["machine"]["cpus"] = 64.into();
    document["machine"]["cpu_model"] = 999.into();
    bench.write("base.json", &document.to_string());
    for (more, code) in [("", 3), ("--undecided pass", 0), ("--across-machines", 1)] {
        let gate = format!("--baseline base.json --fail-above 20% {more}");
        let said = bench.oscost(&format!("{MEASURED} {gate}")).with(code);
        said.says(&["ANOTHER MACHINE (cpu_model, cpus)"]);
    }
    // Without a limit there is no gate.
    bench.oscost(&format!("{MEASURED} --baseline base.json --markdown s.md")).ended();
    // What cannot be read is said before anything is measured.
    let runs = bench.oscost("runs --names").with(0).out;
    let missing = bench.oscost(&format!("{MEASURED} --baseline none.json")).with(2);
    missing.complains(&["none.json"]);
    bench.oscost(&format!("{MEASURED} --junit s.xml")).with(2).complains(&["--fail-above"]);
    assert_eq!(bench.oscost("runs --names").with(0).out, runs);
}

#[test]
fn claims_compare_with_a_document() {
    let bench = Bench::new();
    bench.oscost(MEASURED).ended();
    bench.oscost("export last -o base.json").with(0);
    let claim = r#"
        [[claim]]
        name = "no-slower"
        sentence = "A system call costs at most 50 times as much as in the baseline."
        a.case = "syscall/getppid"
        b.system = "baseline"
        relation = "ratio <= 50"
    "#;
    bench.write("claims.toml", claim);
    let check = format!("check claims.toml {SHORT} --baseline base.json --junit c.xml");
    bench.oscost(&check).with(0).says(&["HOLDS: no-slower"]);
    let opposite = claim.replace("<=", ">");
    bench.write("claims.toml", &opposite);
    bench.oscost("check claims.toml last --baseline base.json").with(1);
}

/// A file of the repository.
fn yaml(name: &str) -> Yaml {
    YamlLoader::load_from_str(&text_of(name)).unwrap().remove(0)
}

/// The action's shell steps, run as a runner does: with the inputs in the steps' environment, and a file for outputs.
struct Action<'b> {
    bench: &'b Bench,
    yaml: Yaml,
    inputs: HashMap<String, String>,
    outputs: HashMap<String, String>,
}

impl<'b> Action<'b> {
    fn new(bench: &'b Bench, options: &str) -> Self {
        let yaml = yaml("action.yml");
        let inputs = yaml["inputs"].as_hash().unwrap().iter().map(|(name, input)| {
            (name.as_str().unwrap().to_owned(), input["default"].as_str().unwrap().to_owned())
        });
        let mut inputs: HashMap<String, String> = inputs.collect();
        inputs.insert("points".to_owned(), "syscall/getppid syscall/read-0".to_owned());
        inputs.insert("options".to_owned(), options.to_owned());
        inputs.insert("fail-above".to_owned(), "20%".to_owned());
        inputs.insert("oscost".to_owned(), PROGRAM.to_owned());
        Self { bench, yaml, inputs, outputs: HashMap::new() }
    }

    /// An action after its steps `install`, and `measure`, which ends with this code.
    fn measured(bench: &'b Bench, options: &str, code: i32) -> Self {
        let mut action = Self::new(bench, options);
        assert_eq!((action.step("install"), action.step("measure")), (0, code));
        action
    }

    /// The value of an expression such as `${{ inputs.points }}`.
    fn value(&self, text: &str) -> String {
        let Some(inner) = text.strip_prefix("${{ ").and_then(|text| text.strip_suffix(" }}"))
        else {
            return text.to_owned();
        };
        match inner.split('.').collect::<Vec<_>>()[..] {
            ["inputs", name] => self.inputs[name].clone(),
            ["steps", step, "outputs", name] => self.outputs[&format!("{step}.{name}")].clone(),
            ["github", "action_path"] => String::new(),
            _ => panic!("no value of {inner}"),
        }
    }

    /// Runs the step with this id; returns its exit code.
    fn step(&mut self, id: &str) -> i32 {
        let steps = self.yaml["runs"]["steps"].as_vec().unwrap();
        let step = steps.iter().find(|step| step["id"].as_str() == Some(id)).unwrap();
        let output = self.bench.write("output", "");
        // Bash as runners call it for `shell: bash`.
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c"]);
        command.arg(step["run"].as_str().unwrap()).current_dir(self.bench.path("."));
        for (name, value) in step["env"].as_hash().unwrap() {
            command.env(name.as_str().unwrap(), self.value(value.as_str().unwrap()));
        }
        command.env("RUNNER_TEMP", self.bench.temp()).env("GITHUB_OUTPUT", &output);
        command.env("GITHUB_STEP_SUMMARY", self.bench.path("summary"));
        let said = run(&mut command);
        let text = std::fs::read_to_string(output).unwrap();
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let named = pairs.map(|(name, value)| (format!("{id}.{name}"), value.to_owned()));
        self.outputs.extend(named.collect::<Vec<_>>());
        said.code.unwrap_or_else(|| panic!("{}\n{}", said.err, said.out))
    }

    fn summary(&self) -> String {
        self.bench.text("summary")
    }
}

#[test]
fn the_action_passes_without_a_change_and_fails_with_one() {
    let bench = Bench::new();
    let mut first = Action::measured(&bench, SHORT, 0);
    assert!(first.summary().contains("no baseline yet"), "{}", first.summary());
    assert_eq!(first.step("keep"), 0);
    assert!(Path::new(&first.outputs["measure.report"]).exists());

    let same = Action::measured(&bench, SHORT, 0);
    assert!(same.summary().contains("2 rows compared with base"), "{}", same.summary());
    assert!(same.summary().contains("smallest detectable difference"), "{}", same.summary());

    make_faster(&bench, "oscost-baseline.json", 50.0);
    let slowed = Action::measured(&bench, SHORT, 1);
    assert!(slowed.summary().contains("| `syscall/getppid` |"), "{}", slowed.summary());

    let wrong = Action::measured(&bench, "--no-such-option", 2);
    assert!(!wrong.outputs.contains_key("measure.document"));
}

#[test]
fn the_template_of_gitlab_passes_without_a_change_and_fails_with_one() {
    let bench = Bench::new();
    let yaml = yaml("examples/gitlab-ci.yml");
    let job = &yaml[".oscost"];
    let script: Vec<&str> =
        job["script"].as_vec().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let pipeline = |options: &str, branch: &str| {
        let mut command = Command::new("bash");
        command.args(["-eo", "pipefail", "-c", &script.join("\n")]);
        for (name, value) in job["variables"].as_hash().unwrap() {
            command.env(name.as_str().unwrap(), value.as_str().unwrap());
        }
        command.env("OSCOST", PROGRAM).env("OSCOST_POINTS", "syscall/getppid");
        command.env("OSCOST_OPTIONS", options).env("OSCOST_FAIL_ABOVE", "20%");
        command.env("CI_COMMIT_BRANCH", branch).env("CI_DEFAULT_BRANCH", "main");
        command.current_dir(bench.path("."));
        run(&mut command)
    };
    pipeline(SHORT, "main").with(0);
    pipeline(SHORT, "change").with(0);
    make_faster(&bench, "oscost-baseline.json", 50.0);
    pipeline(SHORT, "change").with(1);
    let junit = bench.text("oscost-run/rows.xml");
    assert!(junit.contains(r#"tests="1" failures="1""#), "{junit}");
}

#[test]
fn the_dashboard_shows_metrics_that_are_exported() {
    let bench = Bench::new();
    bench.oscost(MEASURED).ended();
    let exported = bench.oscost("export last --format openmetrics").with(0).out;
    let dashboard: Value =
        serde_json::from_str(&text_of("examples/grafana-dashboard.json")).unwrap();
    let mut expressions = Vec::new();
    let targets = |panel: &Value| panel["targets"].as_array().unwrap().clone();
    for target in dashboard["panels"].as_array().unwrap().iter().flat_map(targets) {
        expressions.push(target["expr"].as_str().unwrap().to_owned());
    }
    let annotations = dashboard["annotations"]["list"].as_array().unwrap().iter();
    expressions.extend(annotations.map(|one| one["expr"].as_str().unwrap().to_owned()));
    assert!(expressions.len() > 5);
    for expression in expressions {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let words = expression.split(|c: char| !is_name(c));
        let metrics: Vec<&str> = words.filter(|word| word.starts_with("oscost_")).collect();
        assert!(!metrics.is_empty(), "{expression}");
        for metric in metrics {
            assert!(exported.contains(&format!("# TYPE {metric} gauge")), "{metric}: {exported}");
        }
    }
}
