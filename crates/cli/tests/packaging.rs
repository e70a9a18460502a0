//! What a release is made of besides the program: the container image, the systemd units, and what the program says of its build.
#![cfg(target_os = "linux")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Bench, CASE, Said, finish, started};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_oscost");
/// Time of the files in images, in s since 1970.
const TIME: &str = "1700000000";

/// A file or folder of the repository.
fn of_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Runs a program, which must succeed, and returns its output.
#[track_caller]
fn run(command: &mut Command) -> Said {
    command.stdin(std::process::Stdio::null());
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(command).with(0)
}

/// An image of a folder, made of files that are created in this order.
fn image(bench: &Bench, name: &str, files: &[(&str, &str, u32)]) -> PathBuf {
    let root = bench.path(name);
    for (path, text, mode) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(&path, text).expect("a file");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(*mode)).expect("a mode");
    }
    let image = bench.path(&format!("{name}.tar"));
    let options =
        ["--name", "oscost-test:1", "--time", TIME, "--entrypoint", "/usr/bin/it", "--env", "A=b"];
    run(Command::new(of_repository("scripts/oci-image")).args(options).arg(&root).arg(&image));
    image
}

#[test]
fn an_image_depends_on_nothing_but_its_files() {
    let bench = Bench::new();
    let files = [("usr/bin/it", "#!/bin/sh\n", 0o755), ("etc/other", "text", 0o644)];
    let first = image(&bench, "first", &files);
    let second = image(&bench, "second", &[files[1], files[0]]);
    let third = image(&bench, "third", &[files[0], ("etc/other", "texts", 0o644)]);
    let read = |path: &Path| std::fs::read(path).expect("an image");
    assert!(read(&first) == read(&second), "the names, times and order of folders show");
    assert!(read(&first) != read(&third));
}

#[test]
fn podman_reads_an_image_without_a_network() {
    let available =
        Command::new("podman").arg("info").output().is_ok_and(|info| info.status.success());
    if testing::skip_unless(available, "podman is missing, or does not work") {
        return;
    }
    let bench = Bench::new();
    let image =
        image(&bench, "root", &[("usr/bin/it", "#!/bin/sh\n", 0o755), ("etc/a", "text", 0o640)]);
    // Storage of its own: the user's has no image of this test, also if it ends before it removes it.
    let storage = bench.path("storage");
    let podman = || {
        let mut podman = Command::new("podman");
        podman.args(["--storage-driver", "vfs", "--root"]).arg(&storage);
        podman.arg("--runroot").arg(bench.path("running"));
        podman
    };
    let loaded = run(podman().args(["load", "--quiet", "--input"]).arg(&image));
    let name = loaded.out.trim().strip_prefix("Loaded image: ").expect("a name");
    assert!(name.ends_with("oscost-test:1"), "{name}");
    let inspected = run(podman().args(["image", "inspect", name])).json();
    let inspected = &inspected[0];
    assert_eq!(inspected["Architecture"], "amd64");
    assert_eq!(inspected["Created"], "2023-11-14T22:13:20Z");
    assert_eq!(inspected["Config"]["Entrypoint"], serde_json::json!(["/usr/bin/it"]));
    assert_eq!(inspected["Config"]["Env"], serde_json::json!(["PATH=/usr/bin", "A=b"]));
    let container = run(podman().args(["create", "--network", "none", name])).out.trim().to_owned();
    let files = bench.path("files.tar");
    run(podman().args(["export", "--output"]).arg(&files).arg(&container));
    let listed =
        run(Command::new("tar").args(["-tv", "--utc", "--numeric-owner", "-f"]).arg(&files)).out;
    let entry = |path: &str| -> Vec<String> {
        let line = listed.lines().find(|line| line.ends_with(&format!(" {path}"))).expect(path);
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(entry("etc/a"), ["-rw-r-----", "0/0", "4", "2023-11-14", "22:13", "etc/a"]);
    assert_eq!(entry("usr/bin/it")[..2], ["-rwxr-xr-x", "0/0"]);
    run(podman().args(["rm", &container]));
    run(podman().args(["rmi", name]));
}

/// The settings of a unit's file with this name, in their order.
fn settings<'a>(unit: &'a str, name: &str) -> Vec<&'a str> {
    let values = unit.lines().filter_map(|line| line.split_once('='));
    values.filter(|(key, _)| *key == name).map(|(_, value)| value).collect()
}

#[test]
fn systemd_accepts_the_nightly_units() {
    let available = Command::new("systemd-analyze").arg("--version").output().is_ok();
    if testing::skip_unless(available, "systemd-analyze is missing: it is in Debian's systemd") {
        return;
    }
    let bench = Bench::new();
    let units = ["oscost-nightly.service", "oscost-nightly.timer"].map(|name| {
        let text =
            std::fs::read_to_string(of_repository("packaging/systemd").join(name)).expect("a unit");
        // The program must exist.
        bench.write(name, &text.replace("/usr/bin/oscost", PROGRAM))
    });
    let verify = || {
        let mut verify = Command::new("systemd-analyze");
        verify.args(["verify", "--man=no"]).args(&units).env("SYSTEMD_LOG_LEVEL", "warning");
        run(&mut verify)
    };
    assert_eq!(verify().err, "");
    let service = std::fs::read_to_string(&units[0]).expect("a unit");
    bench.write("oscost-nightly.service", &service.replace("NoNewPrivileges=", "NoNewPrivilege="));
    assert!(verify().err.contains("NoNewPrivilege"), "what systemd does not know is reported");
}

#[test]
fn nothing_in_the_nightly_service_filters_system_calls() {
    let available = Command::new("systemd-analyze").arg("--version").output().is_ok();
    if testing::skip_unless(available, "systemd-analyze is missing: it is in Debian's systemd") {
        return;
    }
    let unit = of_repository("packaging/systemd/oscost-nightly.service");
    let mut analyze = Command::new("systemd-analyze");
    let assessed =
        run(analyze.args(["security", "--offline=yes", "--json=short"]).arg(&unit)).json();
    let assessed = assessed.as_array().expect("a list");
    let set: Vec<&str> = assessed
        .iter()
        .filter(|setting| setting["set"] == true)
        .filter_map(|setting| setting["json_field"].as_str())
        .collect();
    assert!(set.contains(&"NoNewPrivileges") && set.contains(&"ProtectSystem"), "{set:?}");
    // What systemd.exec(5) implements by seccomp, and systemd.resource-control(5) by a filter of packets.
    let filters = [
        "IPAddress",
        "LockPersonality",
        "MemoryDenyWriteExecute",
        "PrivateDevices",
        "ProtectClock",
        "ProtectHostname",
        "ProtectKernel",
        "Restrict",
        "SystemCall",
    ];
    let found: Vec<&&str> =
        set.iter().filter(|name| filters.iter().any(|filter| name.starts_with(filter))).collect();
    assert!(found.is_empty(), "{found:?}");
    // This implies RestrictSUIDSGID, and is assessed together with User.
    let unit = std::fs::read_to_string(&unit).expect("a unit");
    assert!(settings(&unit, "DynamicUser").is_empty());
}

#[test]
fn the_nightly_services_run_is_stored_with_its_tag() {
    let bench = Bench::new();
    let unit = std::fs::read_to_string(of_repository("packaging/systemd/oscost-nightly.service"));
    let unit = unit.expect("a unit");
    let [start] = settings(&unit, "ExecStart")[..] else { panic!("one command") };
    let arguments = start.strip_prefix("/usr/bin/oscost ").expect("the program of the package");
    // systemd splits such a variable into words.
    let arguments = arguments.replace("$OSCOST_RUN", &format!("{CASE} --quick"));
    let ran = common::said_by(started(&mut bench.command(&arguments)));
    ran.with(0);
    let [export] = settings(&unit, "ExecStartPost")[..] else { panic!("one command") };
    let words: Vec<&str> = export.split(' ').collect();
    assert_eq!(words[..2], ["/usr/bin/oscost", "export"]);
    let document = bench.oscost(&format!("export {} --json", words[2])).with(0).json();
    assert_eq!(document["results"][0]["case"], CASE);
    // What sysusers.d and the service say must agree, and so must the folders that the service may write.
    let [user] = settings(&unit, "User")[..] else { panic!("one user") };
    let users = std::fs::read_to_string(of_repository("packaging/systemd/oscost.conf"));
    assert!(users.expect("users").contains(&format!("\nu {user} ")));
    let folders: Vec<&str> = settings(&unit, "StateDirectory")[0].split(' ').collect();
    let output = Path::new(words.last().expect("a path")).parent().expect("a folder");
    let in_state = output.strip_prefix("/var/lib").expect("a folder for state");
    assert!(folders.iter().any(|folder| Path::new(folder) == in_state), "{output:?}");
}

#[test]
fn env_names_the_build() {
    let bench = Bench::new();
    let facts = bench.oscost("env --json").with(0).json();
    let target = facts["oscost_target"].as_str().expect("a target");
    let words: Vec<&str> = target.split(", ").collect();
    let [triple, linkage, profile] = words[..] else { panic!("{target}") };
    // The dynamic linker's name is in a program that is linked with libraries, and nowhere else.
    let headers = run(Command::new("readelf").args(["--wide", "--program-headers", PROGRAM])).out;
    assert!(headers.contains("LOAD"), "{headers}");
    assert_eq!(linkage, if headers.contains("INTERP") { "dynamic" } else { "static" });
    assert_eq!(profile, if cfg!(debug_assertions) { "debug" } else { "release" });
    assert!(triple.starts_with(std::env::consts::ARCH) && triple.contains("-linux-"), "{triple}");
    // A build from a developer's tree does not know its commit, unless it was told.
    let commit = facts["oscost_commit"].as_str().expect("a commit");
    let said = option_env!("OSCOST_COMMIT").filter(|commit| !commit.is_empty());
    assert_eq!(commit, said.unwrap_or("unknown"));
    let page = bench.oscost("env").with(0).out;
    let version = env!("CARGO_PKG_VERSION");
    let named = |line: &str| {
        let mut words = line.split_whitespace();
        words.next() == Some("oscost") && words.next().is_some_and(|word| word.starts_with(version))
    };
    assert!(page.lines().any(|line| named(line) && line.ends_with(target)), "{page}");
}
