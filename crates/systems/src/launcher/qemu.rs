//! `qemu`: the agent is the first process of a virtual machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use super::{AGENT, Argument, Launch, Launcher, Starting};
use crate::error::SystemError;
use crate::initramfs;
use crate::options::{OptionSpec, Settings, ValueKind};
use crate::state::StateDirectory;
use crate::{program, state};

const PROGRAM: &str = "qemu-system-x86_64";

/// The launcher `qemu`.
pub const QEMU: Launcher = Launcher {
    name: "qemu",
    about: "the kernel image KERNEL in an x86-64 virtual machine, with oscost as its first process; without a usable KVM it \
         is emulated, and its times are not the processor's",
    needs: "qemu-system-x86; a kernel image with a serial port and initramfs",
    argument: Some(Argument { option: "kernel", syntax: "KERNEL", required: true }),
    options: &[
        OptionSpec { name: "kernel", kind: ValueKind::Path, meaning: "the kernel image" },
        OptionSpec {
            name: "accel",
            kind: ValueKind::Choice(&["kvm", "tcg"]),
            meaning: "KVM or emulation; KVM if it works, unless given",
        },
        OptionSpec {
            name: "memory",
            kind: ValueKind::Count(64, 1 << 20),
            meaning: "its memory in MiB; 512, or what a larger program takes, unless given",
        },
        OptionSpec {
            name: "smp",
            kind: ValueKind::Count(1, 512),
            meaning: "its number of CPUs; 1 unless given",
        },
        OptionSpec {
            name: "channel",
            kind: ValueKind::Choice(&["serial", "console"]),
            meaning: "the agent uses the second serial port, or shares the first one with the kernel's log; serial \
                          unless given",
        },
        OptionSpec {
            name: "append",
            kind: ValueKind::Text,
            meaning: "further words of the kernel's command line",
        },
        OptionSpec {
            name: "program",
            kind: ValueKind::Path,
            meaning: "the path of QEMU, instead of that in PATH",
        },
        OptionSpec { name: "args", kind: ValueKind::Words, meaning: "further options of QEMU" },
    ],
    has_helpers: true,
    emulated,
    check,
    launch,
    ..Launcher::BRINGS
};

fn check(settings: &Settings) -> Result<(), SystemError> {
    qemu(settings)?;
    match settings.path("kernel") {
        Some(path) if !path.is_file() => {
            Err(SystemError::Failed(format!("{}: there is no such file", path.display())))
        }
        _ => Ok(()),
    }
}

fn launch(start: &mut Starting) -> Result<Launch, SystemError> {
    let settings = start.settings;
    let binary = start.program()?;
    let archive = start.state.path().join("initramfs");
    let usual_memory = initramfs::write(&binary, &archive)
        .map_err(|e| SystemError::from_io(archive.display().to_string(), &e))?;
    let program = qemu(settings)?;
    let kernel = settings.path("kernel").cloned().unwrap_or_default();
    let accel = match settings.text("accel") {
        Some(accel) => accel,
        None if kvm_works(&program, &kernel, start.state.path()).is_ok() => "kvm",
        None => "tcg",
    };
    let mut command = Command::new(program);
    command.args(["-accel", accel, "-cpu", if accel == "kvm" { "host" } else { "max" }]);
    command.args(["-m", &settings.count("memory").unwrap_or(usual_memory).to_string()]);
    command.args(["-smp", &settings.count("smp").unwrap_or(1).to_string()]);
    command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
    command.arg("-kernel").arg(kernel).arg("-initrd").arg(archive);
    command.args(["-chardev", "stdio,id=agent,signal=off"]);
    let mut line = String::from("console=ttyS0 panic=-1");
    if settings.text("channel") == Some("console") {
        command.args(["-serial", "chardev:agent"]);
    } else {
        // The first port is the console: the kernel's log becomes QEMU's error output.
        command.args(["-chardev", "file,id=log,path=/dev/fd/2", "-serial", "chardev:log"]);
        command.args(["-serial", "chardev:agent"]);
        line += &format!(" {}=/dev/ttyS1", initramfs::CHANNEL);
    }
    if binary.libraries.is_some() {
        line += &format!(" {}", initramfs::library_path());
    }
    if let Some(words) = settings.text("append") {
        line += &format!(" {words}");
    }
    command.args(["-append", &format!("{line} -- {AGENT}")]);
    command.args(settings.words("args"));
    Ok(Launch::until_killed(command))
}

fn qemu(settings: &Settings) -> Result<PathBuf, SystemError> {
    match settings.path("program") {
        Some(path) => program::existing("qemu", path),
        None => program::need("qemu", PROGRAM, "qemu-system-x86"),
    }
}

/// Size of the probe's firmware, which ends at 1 MiB; the processor begins 16 bytes before its end.
const FIRMWARE: usize = 64 << 10;
/// The probe's instructions: `mov $0x501, %dx; mov $0x10, %al; out %al, (%dx); hlt`.
const PROBE: [u8; 7] = [0xba, 0x01, 0x05, 0xb0, 0x10, 0xee, 0xf4];
/// The exit code that QEMU's device at that port makes of the value.
const PROBED: i32 = 0x10 << 1 | 1;
/// Time limit of the probe, which takes a tenth of a second with a working KVM.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// Time limit for a kernel without a file system to panic, which takes a second with a working KVM. At an instruction that
/// KVM cannot execute, QEMU stops the machine and waits.
const BOOT_TIME: Duration = Duration::from_secs(10);

/// The answer of [`kvm_works`] for a kernel.
static WORKS: OnceLock<Result<(), String>> = OnceLock::new();

/// Checks that KVM executes the probe and this kernel: `/dev/kvm` may exist but not work, or emulate most instructions and lack
/// some.
///
/// # Errors
/// What does not work, in words.
fn kvm_works(program: &Path, kernel: &Path, state: &Path) -> Result<(), String> {
    WORKS
        .get_or_init(|| {
            executes_firmware(program, state)?;
            match executes_kernel(program, kernel, state) {
                true => Ok(()),
                false => Err("it does not boot the kernel".to_owned()),
            }
        })
        .clone()
}

/// Whether KVM works here, as far as that is known without a kernel.
///
/// # Errors
/// Why it does not, in words.
pub fn kvm() -> Result<(), String> {
    let program =
        program::need("qemu", PROGRAM, "qemu-system-x86").map_err(|error| error.to_string())?;
    let state = StateDirectory::new().map_err(|error| error.to_string())?;
    executes_firmware(&program, state.path())
}

/// Why a virtual machine with these settings is emulated; `None` if it is not.
fn emulated(settings: &Settings) -> Option<String> {
    match settings.text("accel") {
        Some("tcg") => return Some("accel is tcg: QEMU emulates the processor".to_owned()),
        Some(_) => return None,
        None => {}
    }
    let works = qemu(settings).map_err(|error| error.to_string()).and_then(|program| {
        let state = StateDirectory::new().map_err(|error| error.to_string())?;
        let kernel = settings.path("kernel").cloned().unwrap_or_default();
        kvm_works(&program, &kernel, state.path())
    });
    works.err().map(|why| format!("KVM does not work ({why}): QEMU emulates the processor"))
}

fn executes_firmware(program: &Path, directory: &Path) -> Result<(), String> {
    if !Path::new("/dev/kvm").exists() {
        return Err("there is no /dev/kvm".to_owned());
    }
    let firmware = directory.join("probe");
    let mut image = vec![0xf4; FIRMWARE];
    image[FIRMWARE - 16..][..PROBE.len()].copy_from_slice(&PROBE);
    std::fs::write(&firmware, image).map_err(|error| error.to_string())?;
    let mut command = under_kvm(program, directory);
    command.args(["-m", "16", "-bios"]).arg(firmware);
    command.args(["-device", "isa-debug-exit,iobase=0x501,iosize=1"]);
    match state::code_within(&mut command, PROBE_TIME) {
        Ok(Some(PROBED)) => Ok(()),
        _ => Err("there is /dev/kvm, but it executes no virtual machine".to_owned()),
    }
}

/// Whether KVM executes this kernel, whose panic without a file system ends the machine.
fn executes_kernel(program: &Path, kernel: &Path, directory: &Path) -> bool {
    let mut command = under_kvm(program, directory);
    command.args(["-m", "512", "-append", "panic=-1", "-kernel"]).arg(kernel);
    state::code_within(&mut command, BOOT_TIME).is_ok_and(|code| code == Some(0))
}

fn under_kvm(program: &Path, directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["-accel", "kvm", "-cpu", "host", "-nodefaults"]);
    command.args(["-no-user-config", "-display", "none", "-no-reboot"]);
    command.env(state::VARIABLE, directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}
