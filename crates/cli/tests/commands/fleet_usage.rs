//! Wrong usage is said before anything is started.

use crate::common::{Bench, finish};

#[test]
fn wrong_usage_begins_no_job() {
    let bench = Bench::new();
    bench.write("nodes", "n1\nn2 --tag a=b --dry-run\n");
    for (arguments, code, message) in [
        ("run clok --hosts a", 2, "no case matches \"clok\""),
        ("run clock --hosts a,a", 2, "the node a is named twice"),
        ("run clock --hosts a --tag node=b", 2, "fleet run itself gives this tag"),
        ("run --quick", 2, "--hosts"),
        ("run --hosts a --binary /etc/passwd", 2, "is no program for Linux"),
        ("run --hostfile nodes", 2, "the options of node n2: --resume, --dry-run"),
        ("run --slurm syscall", 2, "what is measured is named before --slurm"),
        ("run --slurm partition=p", 3, "this needs the program sinfo"),
        ("status", 2, "there is no job in"),
        ("resume 20261127", 2, "there is no job \"20261127\""),
    ] {
        let mut command = bench.command(&format!("fleet {arguments}"));
        command.env("XDG_DATA_HOME", bench.path("")).env("PATH", bench.path(""));
        let said = finish(command.env_remove("OSCOST_STORE").env_remove("OSCOST_STATIC"));
        let said = said.with(code).notes(&[message]).err;
        assert_eq!(said.lines().count(), 1, "{arguments}: {said}");
        assert!(!bench.path("oscost/fleet").exists(), "{arguments}");
    }
}
