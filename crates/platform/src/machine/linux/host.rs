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
    use crate::linux::tree::fixture::in_tree;

    fn container_in(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Option<String> {
        let variable = |name: &str| {
            let variable = variables.iter().find(|variable| variable.0 == name);
            variable.map(|(_, value)| (*value).to_owned())
        };
        in_tree(files, |tree| container(tree, false, variable))
    }

    #[test]
    fn containers_are_recognized_by_their_marks() {
        const CGROUP: &str = "proc/self/cgroup";
        const MOUNTS: &str = "proc/self/mountinfo";
        let hostname = "812 798 254:1 /docker/hostname /etc/hostname rw - ext4 /dev/vda1 rw\n";
        let root = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";
        let in_kubernetes = [("KUBERNETES_SERVICE_HOST", "10.0.0.1")];
        for (files, variables, container) in [
            (&[(".dockerenv", ""), (MOUNTS, hostname)][..], &[][..], "docker"),
            (&[(CGROUP, "4:memory:/docker/0123abc\n0::/\n")], &[], "docker"),
            (&[("run/.containerenv", "")], &[], "podman"),
            (&[(CGROUP, "0::/kubepods.slice/kubepods-pod1.slice/x\n")], &[], "kubernetes"),
            (&[(".dockerenv", "")], &in_kubernetes, "kubernetes"),
            (&[(CGROUP, "0::/\n")], &[("container", "lxc")], "lxc"),
            (&[("run/systemd/container", "systemd-nspawn\n")], &[], "systemd-nspawn"),
            // An image that was made for Docker is no container by itself.
            (&[(".dockerenv", ""), (CGROUP, "0::/\n"), (MOUNTS, root)], &[], "none"),
            (&[("proc/1/cgroup", "0::/init.scope\n")], &[], "none"),
        ] {
            let found = container_in(files, variables);
            assert_eq!(found.as_deref(), Some(container), "{files:?} {variables:?}");
        }
        assert_eq!(container_in(&[], &[]), None, "nothing could be looked at");
    }

    #[test]
    fn gvisor_counts_as_a_container_where_nothing_else_shows() {
        for (files, name) in [(&[][..], "gvisor"), (&[(".dockerenv", "")], "docker")] {
            let found = in_tree(files, |tree| container(tree, true, |_| None));
            assert_eq!(found.as_deref(), Some(name), "{files:?}");
        }
    }

    #[test]
    fn layers_are_recognized_by_their_constants() {
        let intel = "vendor_id\t: GenuineIntel\n";
        let user_mode = "processor\t: 0\nvendor_id\t: User Mode Linux\nmodel name\t: UML\n";
        for (cpuinfo, release, build, layer) in [
            (intel, "4.4.0", "#1 SMP Sun Jan 10 15:06:54 PST 2016", "gVisor"),
            (intel, "4.19.0-gvisor", "#1 SMP", "gVisor"),
            (intel, "4.4.0-210-generic", "#242-Ubuntu SMP", "none"),
            (intel, "4.4.0-19041-Microsoft", "#1-Microsoft", "WSL 1"),
            (intel, "5.15.153.1-microsoft-standard-WSL2", "#1 SMP", "none"),
            (user_mode, "6.1.0", "#1", "User-Mode Linux"),
        ] {
            let files = [("proc/cpuinfo", cpuinfo)];
            let found = in_tree(&files, |tree| compat(tree, release, build));
            assert_eq!(found.as_deref(), Some(layer), "{release} {build}");
        }
        assert_eq!(in_tree(&[], |tree| compat(tree, "6.1.0", "#1 SMP")), None);
    }

    #[test]
    fn hypervisors_are_named_with_what_runs_them() {
        let table = "FACP\x14\x01\0\0\x06\0FIRECKFCVMFADT";
        let devicetree = "sys/firmware/devicetree/base/hypervisor/compatible";
        for (file, text, cpuid, name) in [
            ("sys/firmware/acpi/tables/FACP", table, Some("KVM"), "KVM/Firecracker"),
            ("sys/bus/acpi/devices/FCVMVGID:00/hid", "FCVMVGID\n", Some("KVM"), "KVM/Firecracker"),
            ("sys/class/dmi/id/sys_vendor", "QEMU\n", Some("KVM"), "KVM/QEMU"),
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n", Some("KVM"), "KVM"),
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n", Some("none"), "none"),
            ("sys/hypervisor/type", "xen\n", Some("none"), "Xen"),
            (devicetree, "linux,kvm\0", None, "KVM"),
        ] {
            let cpuid = cpuid.map(str::to_owned);
            let found = in_tree(&[(file, text)], |tree| named_hypervisor(tree, cpuid));
            assert_eq!(found.as_deref(), Some(name), "{file} {text:?}");
        }
        assert_eq!(in_tree(&[], |tree| named_hypervisor(tree, None)), None);
    }

    #[test]
    fn hardware_is_what_its_maker_calls_it() {
        let instance = [
            ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
            ("sys/class/dmi/id/product_name", "m7i.large\n"),
        ];
        assert_eq!(in_tree(&instance, hardware).unwrap(), "Amazon EC2 m7i.large");
        let board = [("sys/firmware/devicetree/base/model", "Raspberry Pi 5\0")];
        assert_eq!(in_tree(&board, hardware).unwrap(), "Raspberry Pi 5");
        assert_eq!(in_tree(&[], hardware), None);
    }
}
