//! The environment of this kernel: hardware, hypervisor, an emulation of Linux, and the container of this process.

use crate::linux::tree::{Tree, field};
use crate::machine::cpuid;

/// The layer between programs and the real kernel, where there is one.
pub(super) fn compat(tree: &Tree, release: &str, build: &str) -> Option<String> {
    // uname(2) of gVisor's sentry has returned these constants.
    const SENTRY_BUILD: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";
    if build.contains(SENTRY_BUILD) || release.to_lowercase().contains("gvisor") {
        return Some("gVisor".to_owned());
    }
    // WSL 1 translates system calls and says "Microsoft"; WSL 2 is a guest and says "microsoft".
    if release.contains("Microsoft") {
        return Some("WSL 1".to_owned());
    }
    // User-Mode Linux is identified by this file only: without it the layer is unknown.
    let cpuinfo = tree.text("proc/cpuinfo")?;
    let uml = field(&cpuinfo, "vendor_id") == Some("User Mode Linux");
    Some(if uml { "User-Mode Linux" } else { "none" }.to_owned())
}

/// The vendor's name of the machine, or the cloud's name of the instance type.
pub(super) fn hardware(tree: &Tree) -> Option<String> {
    let parts: Vec<String> = ["sys_vendor", "product_name"]
        .into_iter()
        .filter_map(|file| tree.text(&format!("sys/class/dmi/id/{file}")))
        .collect();
    match parts.is_empty() {
        true => tree.text("sys/firmware/devicetree/base/model"),
        false => Some(parts.join(" ")),
    }
}

/// The hypervisor, and the program that runs the guest where it is known: `KVM/Firecracker`.
pub(super) fn hypervisor(tree: &Tree) -> Option<String> {
    named_hypervisor(tree, cpuid::here().hypervisor())
}

fn named_hypervisor(tree: &Tree, cpuid: Option<String>) -> Option<String> {
    let monitor = monitor(tree);
    match (cpuid.as_deref(), monitor) {
        (Some("KVM"), Some(monitor)) => Some(format!("KVM/{monitor}")),
        // A paravirtualised Xen guest sees the CPUID of the bare machine.
        (Some("none") | None, _) => hypervisor_in_files(tree).or(cpuid),
        _ => cpuid,
    }
}

/// The program that runs this guest, by the tables that it wrote for the guest's firmware.
fn monitor(tree: &Tree) -> Option<&'static str> {
    let vendor = tree.text("sys/class/dmi/id/sys_vendor");
    match vendor.as_deref() {
        Some("QEMU") => return Some("QEMU"),
        Some("Cloud Hypervisor") => return Some("Cloud Hypervisor"),
        _ => {}
    }
    // The header of an ACPI table has its maker's mark (ACPI 6.5, 5.2.6); only root may read it.
    let table = tree.bytes("sys/firmware/acpi/tables/FACP");
    let marked = table.is_some_and(|table| table.get(10..16) == Some(b"FIRECK"));
    let devices = tree.names("sys/bus/acpi/devices").unwrap_or_default();
    let has_device = devices.iter().any(|name| name.starts_with("FCVM"));
    (marked || has_device).then_some("Firecracker")
}

/// The hypervisor according to files, for processors without CPUID.
fn hypervisor_in_files(tree: &Tree) -> Option<String> {
    if tree.text("sys/hypervisor/type").as_deref() == Some("xen") {
        return Some("Xen".to_owned());
    }
    let compatible = tree.text("sys/firmware/devicetree/base/hypervisor/compatible");
    let named = compatible.and_then(|name| match name.split('\0').next() {
        Some("linux,kvm") => Some("KVM"),
        Some("xen,xen") => Some("Xen"),
        Some("vmware") => Some("VMware"),
        _ => None,
    });
    named.map(str::to_owned)
}

/// The manager of the container that this process is in; `none` if nothing shows one.
pub(super) fn container(
    tree: &Tree,
    gvisor: bool,
    environment: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let cgroups = ["proc/self/cgroup", "proc/1/cgroup"].map(|file| tree.text(file));
    let in_cgroup = |name: &str| cgroups.iter().flatten().any(|text| text.contains(name));
    // The outermost manager comes first: Kubernetes runs its containers by means of others.
    let shown = [
        (environment("KUBERNETES_SERVICE_HOST").is_some() || in_cgroup("kubepods"), "kubernetes"),
        (tree.has("run/.containerenv") || in_cgroup("libpod"), "podman"),
        (
            in_cgroup("docker") || tree.has(".dockerenv") && (gvisor || names_are_mounted(tree)),
            "docker",
        ),
        (in_cgroup("lxc"), "lxc"),
        (in_cgroup("containerd"), "containerd"),
        (in_cgroup("machine.slice/systemd-nspawn"), "systemd-nspawn"),
    ];
    let from_file = || {
        // Container managers write their name to this file (systemd's CONTAINER_INTERFACE).
        environment("container").or_else(|| tree.text("run/systemd/container"))
    };
    let name = shown.iter().find(|(is_so, _)| *is_so);
    name.map(|(_, name)| (*name).to_owned())
        .or_else(|| from_file().filter(|name| !name.is_empty()))
        .or_else(|| gvisor.then(|| "gvisor".to_owned()))
        .or_else(|| {
            let looked = cgroups.iter().any(Option::is_some);
            looked.then(|| "none".to_owned())
        })
}

/// Whether the files with the machine's names are mounts, as in every container of Docker's. Docker's mark alone is not
/// enough: it stays in an image that a virtual machine boots from.
fn names_are_mounted(tree: &Tree) -> bool {
    let mounts = tree.text("proc/self/mountinfo").unwrap_or_default();
    mounts.lines().any(|mount| {
        let point = mount.split(' ').nth(4);
        matches!(point, Some("/etc/hostname" | "/etc/hosts" | "/etc/resolv.conf"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::tree::fixture::Fixture;

    fn container_in(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Option<String> {
        let fixture = Fixture::new(files);
        container(&Tree::new(fixture.root()), false, |name| {
            let variable = variables.iter().find(|variable| variable.0 == name);
            variable.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn containers_are_recognized_by_their_marks() {
        fn name(files: &[(&str, &str)], variables: &[(&str, &str)]) -> String {
            container_in(files, variables).unwrap()
        }
        let cgroup = "proc/self/cgroup";
        let hostname = "812 798 254:1 /docker/hostname /etc/hostname rw - ext4 /dev/vda1 rw\n";
        assert_eq!(name(&[(".dockerenv", ""), ("proc/self/mountinfo", hostname)], &[]), "docker");
        assert_eq!(name(&[(cgroup, "4:memory:/docker/0123abc\n0::/\n")], &[]), "docker");
        assert_eq!(name(&[("run/.containerenv", "")], &[]), "podman");
        assert_eq!(
            name(&[(cgroup, "0::/kubepods.slice/kubepods-pod1.slice/x\n")], &[]),
            "kubernetes"
        );
        assert_eq!(
            name(&[(".dockerenv", "")], &[("KUBERNETES_SERVICE_HOST", "10.0.0.1")]),
            "kubernetes"
        );
        assert_eq!(name(&[(cgroup, "0::/\n")], &[("container", "lxc")]), "lxc");
        assert_eq!(name(&[("run/systemd/container", "systemd-nspawn\n")], &[]), "systemd-nspawn");
    }

    #[test]
    fn an_image_made_for_docker_is_no_container_by_itself() {
        let files = [
            (".dockerenv", ""),
            ("proc/self/cgroup", "0::/\n"),
            ("proc/self/mountinfo", "27 1 254:0 / / rw - ext4 /dev/vda rw\n"),
        ];
        assert_eq!(container_in(&files, &[]).unwrap(), "none");
    }

    #[test]
    fn none_is_reported_only_after_a_look() {
        assert_eq!(container_in(&[("proc/1/cgroup", "0::/init.scope\n")], &[]).unwrap(), "none");
        assert_eq!(container_in(&[], &[]), None);
    }

    #[test]
    fn gvisor_counts_as_a_container_where_nothing_else_shows() {
        let fixture = Fixture::new(&[]);
        let tree = Tree::new(fixture.root());
        assert_eq!(container(&tree, true, |_| None).unwrap(), "gvisor");
        let fixture = Fixture::new(&[(".dockerenv", "")]);
        let tree = Tree::new(fixture.root());
        assert_eq!(container(&tree, true, |_| None).unwrap(), "docker");
    }

    #[test]
    fn layers_are_recognized_by_their_constants() {
        let fixture = Fixture::new(&[("proc/cpuinfo", "vendor_id\t: GenuineIntel\n")]);
        let tree = Tree::new(fixture.root());
        let layer = |release, build| compat(&tree, release, build).unwrap();
        assert_eq!(layer("4.4.0", "#1 SMP Sun Jan 10 15:06:54 PST 2016"), "gVisor");
        assert_eq!(layer("4.19.0-gvisor", "#1 SMP"), "gVisor");
        assert_eq!(layer("4.4.0-210-generic", "#242-Ubuntu SMP"), "none");
        assert_eq!(layer("4.4.0-19041-Microsoft", "#1-Microsoft"), "WSL 1");
        assert_eq!(layer("5.15.153.1-microsoft-standard-WSL2", "#1 SMP"), "none");
        let fixture = Fixture::new(&[]);
        assert_eq!(compat(&Tree::new(fixture.root()), "6.1.0", "#1 SMP"), None);
    }

    #[test]
    fn user_mode_linux_is_recognized_by_its_processor() {
        let cpuinfo = "processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\n";
        let fixture = Fixture::new(&[("proc/cpuinfo", cpuinfo)]);
        let tree = Tree::new(fixture.root());
        assert_eq!(compat(&tree, "6.1.0", "#1").unwrap(), "User-Mode Linux");
    }

    #[test]
    fn hypervisors_are_named_with_what_runs_them() {
        let named = |files: &[(&str, &str)], cpuid: Option<&str>| {
            let fixture = Fixture::new(files);
            named_hypervisor(&Tree::new(fixture.root()), cpuid.map(str::to_owned))
        };
        let facp = [("sys/firmware/acpi/tables/FACP", "FACP\x14\x01\0\0\x06\0FIRECKFCVMFADT")];
        assert_eq!(named(&facp, Some("KVM")).unwrap(), "KVM/Firecracker");
        let device = [("sys/bus/acpi/devices/FCVMVGID:00/hid", "FCVMVGID\n")];
        assert_eq!(named(&device, Some("KVM")).unwrap(), "KVM/Firecracker");
        let qemu = [("sys/class/dmi/id/sys_vendor", "QEMU\n")];
        assert_eq!(named(&qemu, Some("KVM")).unwrap(), "KVM/QEMU");
        let nitro = [("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")];
        assert_eq!(named(&nitro, Some("KVM")).unwrap(), "KVM");
        assert_eq!(named(&nitro, Some("none")).unwrap(), "none");
        let xen = [("sys/hypervisor/type", "xen\n")];
        assert_eq!(named(&xen, Some("none")).unwrap(), "Xen");
        let arm = [("sys/firmware/devicetree/base/hypervisor/compatible", "linux,kvm\0")];
        assert_eq!(named(&arm, None).unwrap(), "KVM");
        assert_eq!(named(&[], None), None);
    }

    #[test]
    fn hardware_is_what_its_maker_calls_it() {
        let fixture = Fixture::new(&[
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m7i.large\n"),
        ]);
        assert_eq!(hardware(&Tree::new(fixture.root())).unwrap(), "Amazon EC2 m7i.large");
        let fixture = Fixture::new(&[("sys/firmware/devicetree/base/model", "Raspberry Pi 5\0")]);
        assert_eq!(hardware(&Tree::new(fixture.root())).unwrap(), "Raspberry Pi 5");
        let fixture = Fixture::new(&[]);
        assert_eq!(hardware(&Tree::new(fixture.root())), None);
    }
}
