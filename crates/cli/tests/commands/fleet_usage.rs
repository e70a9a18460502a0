//! Wrong usage is said before anything is started.

use std::process::{Command, Stdio};

#[test]
fn wrong_usage_begins_no_job() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("nodes");
    std::fs::write(&file, "n1\nn2 --tag a=b --dry-run\n").expect("a file");
    let file = file.display().to_string();
    for (arguments, code, message) in [
        (&["run", "clok", "--hosts", "a"][..], 2, "no case matches \"clok\""),
        (&["run", "clock", "--hosts", "a,a"], 2, "the node a is named twice"),
        (
            &["run", "clock", "--hosts", "a", "--tag", "node=b"],
            2,
            "fleet run itself gives this tag",
        ),
        (&["run", "--quick"], 2, "--hosts"),
        (&["run", "--hosts", "a", "--binary", "/etc/passwd"], 2, "is no program for Linux"),
        (&["run", "--hostfile", &file], 2, "the options of node n2: --resume, --dry-run"),
        (&["run", "--slurm", "syscall"], 2, "what is measured is named before --slurm"),
        (&["run", "--slurm", "partition=p"], 3, "this needs the program sinfo"),
        (&["status"], 2, "there is no job in"),
        (&["resume", "20261127"], 2, "there is no job \"20261127\""),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_oscost"))
            .arg("fleet")
            .args(arguments)
            .env("XDG_DATA_HOME", home.path())
            .env("PATH", home.path())
            .env_remove("OSCOST_STORE")
            .env_remove("OSCOST_STATIC")
            .stdin(Stdio::null())
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(message) && said.lines().count() == 1, "{arguments:?}: {said}");
        assert!(!home.path().join("oscost/fleet").exists(), "{arguments:?}");
    }
}
