//! Container images and systemd units are accepted by the programs that read them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Bench, PROGRAM, needs, of_repository, run, skip_unless};

/// Time of the files in images, in s since 1970.
const TIME: &str = "1700000000";

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
    run(Command::new(of_repository("scripts/oci-image")).args(options).arg(&root).arg(&image))
        .with(0);
    image
}

#[test]
fn an_image_depends_on_nothing_but_its_files() {
    skip_unless!(needs::python());
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
    skip_unless!(needs::python() && needs::program("podman", "info"));
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
    let loaded = run(podman().args(["load", "--quiet", "--input"]).arg(&image)).with(0);
    let name = loaded.out.trim().strip_prefix("Loaded image: ").expect("a name");
    assert!(name.ends_with("oscost-test:1"), "{name}");
    let inspected = run(podman().args(["image", "inspect", name])).with(0).json();
    let inspected = &inspected[0];
    assert_eq!(inspected["Architecture"], "amd64");
    assert_eq!(inspected["Created"], "2023-11-14T22:13:20Z");
    assert_eq!(inspected["Config"]["Entrypoint"], serde_json::json!(["/usr/bin/it"]));
    assert_eq!(inspected["Config"]["Env"], serde_json::json!(["PATH=/usr/bin", "A=b"]));
    let container =
        run(podman().args(["create", "--network", "none", name])).with(0).out.trim().to_owned();
    let files = bench.path("files.tar");
    run(podman().args(["export", "--output"]).arg(&files).arg(&container)).with(0);
    let mut tar = Command::new("tar");
    let listed = run(tar.args(["-tv", "--utc", "--numeric-owner", "-f"]).arg(&files)).with(0).out;
    let entry = |path: &str| -> Vec<String> {
        let line = listed.lines().find(|line| line.ends_with(&format!(" {path}"))).expect(path);
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(entry("etc/a"), ["-rw-r-----", "0/0", "4", "2023-11-14", "22:13", "etc/a"]);
    assert_eq!(entry("usr/bin/it")[..2], ["-rwxr-xr-x", "0/0"]);
    run(podman().args(["rm", &container])).with(0);
    run(podman().args(["rmi", name])).with(0);
}

#[test]
fn systemd_accepts_the_nightly_units() {
    skip_unless!(needs::program("systemd-analyze", "--version"));
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
        run(&mut verify).with(0)
    };
    assert_eq!(verify().err, "");
    let service = std::fs::read_to_string(&units[0]).expect("a unit");
    bench.write("oscost-nightly.service", &service.replace("NoNewPrivileges=", "NoNewPrivilege="));
    assert!(verify().err.contains("NoNewPrivilege"), "what systemd does not know is reported");
}

#[test]
fn nothing_in_the_nightly_service_filters_system_calls() {
    skip_unless!(needs::program("systemd-analyze", "--version"));
    let unit = of_repository("packaging/systemd/oscost-nightly.service");
    let mut analyze = Command::new("systemd-analyze");
    let assessed =
        run(analyze.args(["security", "--offline=yes", "--json=short"]).arg(&unit)).with(0).json();
    let assessed = assessed.as_array().expect("a list");
    let set: Vec<&str> = assessed
        .iter()
        .filter(|setting| setting["set"] == true)
        .filter_map(|setting| setting["json_field"].as_str())
        .collect();
    assert!(set.contains(&"NoNewPrivileges") && set.contains(&"ProtectSystem"), "{set:?}");
    // What systemd.exec(5) implements by seccomp, and systemd.resource-control(5) by a filter of packets.
    let filters = "IPAddress LockPersonality MemoryDenyWriteExecute PrivateDevices ProtectClock ProtectHostname \
                   ProtectKernel Restrict SystemCall";
    let found: Vec<&&str> = set
        .iter()
        .filter(|name| filters.split(' ').any(|filter| name.starts_with(filter)))
        .collect();
    assert!(found.is_empty(), "{found:?}");
    // This implies RestrictSUIDSGID, and is assessed together with User.
    let unit = std::fs::read_to_string(&unit).expect("a unit");
    assert!(!unit.contains("\nDynamicUser="));
}
