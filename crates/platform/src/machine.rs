//! The description of this machine: the facts that results depend on, to compare two runs.
//!
//! All operating systems have the same list of keys, in the same order. A fact that cannot be read is [`Value::Unknown`],
//! never a guess: a wrong fact misleads more than a missing one.

mod cpuid;
pub mod environment;
mod facts;

#[cfg(any(target_os = "freebsd", target_os = "macos"))]
mod bsd;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "freebsd", target_os = "macos"))]
use bsd as system;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

pub use facts::{Fact, Group, MITIGATION_SEPARATOR, Role, Value, role_of};

/// Describes this machine: always the same keys in the same order.
pub fn describe() -> Vec<Fact> {
    system::find().into_facts()
}

/// The id of this machine as descriptions have it, hashed; `None` if the system gave it none.
pub fn id() -> Option<String> {
    let mut facts = describe().into_iter();
    let id = facts.find(|fact| fact.key == "machine_id").map(|fact| fact.value);
    id.and_then(|id| match id {
        Value::Text(id) => Some(id),
        Value::Number(_) | Value::Unknown => None,
    })
}

/// Whether Windows is Wine.
#[cfg(windows)]
pub fn is_wine() -> bool {
    windows::wine_version().is_some()
}

/// Whether a hypervisor schedules this machine's CPUs.
pub fn is_virtual() -> bool {
    cpuid::here().is_virtual()
}

/// The kind of core that a CPU is, where a processor has several kinds: `performance`, `efficiency`,
/// `capacity 446`; `all alike` where it has one kind; `None` where the system does not report it.
pub use system::core_type;

/// Sizes of a CPU's caches and translation lookaside buffers (TLB); `None` for each that the machine does not have or
/// report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedCaches {
    /// Bytes of the first-level data cache.
    pub l1d: Option<u64>,
    /// Bytes of the second-level cache.
    pub l2: Option<u64>,
    /// Bytes of the third-level cache.
    pub l3: Option<u64>,
    /// Entries of the first-level TLB for data pages of the usual size.
    pub tlb_l1: Option<u64>,
    /// Entries of the second-level TLB for data pages of the usual size.
    pub tlb_l2: Option<u64>,
}

impl ReportedCaches {
    /// Bytes of the last-level cache.
    pub fn last_level(&self) -> Option<u64> {
        self.l3.or(self.l2)
    }
}

/// The caches of `cpu`.
pub fn reported_caches(cpu: usize) -> ReportedCaches {
    let bytes = |name| system::reported_cache_bytes(cpu, name);
    let entries = |level| cpuid::here().tlb_entries(level);
    let (l1d, l2, l3) = (bytes("l1d"), bytes("l2"), bytes("l3"));
    ReportedCaches { l1d, l2, l3, tlb_l1: entries(1), tlb_l2: entries(2) }
}

/// The program that emulates the CPU by binary translation, such as `QEMU (TCG)` or `Rosetta 2`: the cost of instructions
/// is then not that of a CPU. `None` also where it is unknown.
pub fn emulator() -> Option<String> {
    cpuid::here().emulator().or_else(system::emulator)
}

/// The host name, if there is one.
pub fn host_name() -> Option<String> {
    os_host_name().filter(|name| !name.is_empty())
}

#[cfg(unix)]
fn os_host_name() -> Option<String> {
    let mut name = [0_u8; 256];
    // SAFETY: the buffer is valid for that length; its last byte stays 0.
    let result = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&byte| byte == 0)?;
    (result == 0).then(|| String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(windows)]
fn os_host_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok()
}

/// The user's name: as the environment has it, else as the system lists it, else the number.
pub fn user_name() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().filter_map(|name| std::env::var(name).ok());
    named.into_iter().find(|name| !name.is_empty()).unwrap_or_else(os_user_name)
}

#[cfg(unix)]
fn os_user_name() -> String {
    let user = crate::user::own_user().to_string();
    let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let listed = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number == user).then(|| name.to_owned())
    });
    listed.unwrap_or_else(|| format!("user {user}"))
}

#[cfg(windows)]
fn os_user_name() -> String {
    "unknown".to_owned()
}

/// The machine as one token without spaces, for file names and the first column of a table:
/// `Linux_6.18.44_x86_64_Intel-Xeon_2cpu_kvm_tsc`.
pub fn line(facts: &[Fact]) -> String {
    let text = |key: &str| {
        facts
            .iter()
            .find(|fact| fact.key == key)
            .map_or("unknown".to_owned(), |fact| fact.value.to_string())
    };
    let below = match (text("compat").as_str(), text("hypervisor").as_str()) {
        ("none", "none") => "bare".to_owned(),
        ("none" | "unknown", hypervisor) => hypervisor.to_lowercase(),
        (compat, _) => compat.to_lowercase(),
    };
    [
        text("os"),
        text("release"),
        text("arch"),
        short_cpu(&text("cpu")),
        format!("{}cpu", text("cpus")),
        below,
        text("clock_source"),
    ]
    .map(|part| token(&part))
    .join("_")
}

/// The CPU's name without words that all models contain.
fn short_cpu(model: &str) -> String {
    let model = model.split('@').next().unwrap_or_default();
    let model = model.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    model
        .split_whitespace()
        .filter(|word| !matches!(*word, "CPU" | "Processor"))
        .collect::<Vec<_>>()
        .join("-")
}

/// `text` reduced to letters, digits and `._+-`; each run of other characters becomes one dash.
fn token(text: &str) -> String {
    let mut token = String::new();
    for character in text.chars() {
        let allowed = character.is_ascii_alphanumeric() || "._+".contains(character);
        if allowed {
            token.push(character);
        } else if !token.ends_with('-') {
            token.push('-');
        }
    }
    match token.trim_matches('-') {
        "" => "unknown".to_owned(),
        token => token.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::facts::FACTS;
    use super::facts::tests::facts;
    use super::*;

    #[test]
    fn every_key_is_there_once_and_in_order() {
        let keys: Vec<&str> = describe().iter().map(|fact| fact.key).collect();
        let listed: Vec<&str> = FACTS.iter().map(|fact| fact.0).collect();
        assert_eq!(keys, listed);
        let mut unique = keys.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), keys.len());
        for key in keys {
            let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(key.chars().all(snake), "{key}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_user_is_named_without_the_environment() {
        let id = |what| {
            let said =
                std::process::Command::new("id").arg(what).output().expect("id starts").stdout;
            String::from_utf8_lossy(&said).trim().to_owned()
        };
        // A user whom no list has is a number, for which id has no name.
        let listed = Some(id("-un")).filter(|name| !name.is_empty() && *name != id("-u"));
        assert_eq!(os_user_name(), listed.unwrap_or_else(|| format!("user {}", id("-u"))));
    }

    #[test]
    fn line_names_the_machine() {
        let machine = facts(&[
            ("os", "Linux"),
            ("release", "6.18.44"),
            ("arch", "x86_64"),
            ("cpu", "Intel(R) Xeon(R) Processor @ 2.60GHz"),
            ("cpus", "2"),
            ("hypervisor", "KVM/Firecracker"),
            ("compat", "none"),
            ("clock_source", "tsc"),
        ]);
        assert_eq!(line(&machine), "Linux_6.18.44_x86_64_Intel-Xeon_2cpu_kvm-firecracker_tsc");
    }

    #[test]
    fn line_names_the_layer_rather_than_what_is_under_it() {
        let machine = facts(&[("os", "Windows"), ("hypervisor", "KVM"), ("compat", "Wine 8.0")]);
        assert_eq!(line(&machine), "Windows_unknown_unknown_unknown_unknowncpu_wine-8.0_unknown");
        let metal = facts(&[("hypervisor", "none"), ("compat", "none")]);
        assert!(line(&metal).contains("_bare_"), "{}", line(&metal));
    }

    #[test]
    fn line_of_anything_is_one_token() {
        let odd = facts(&[("os", "Ünix\t\"9\" /x"), ("cpu", "@"), ("release", "--")]);
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        for line in [line(&odd), line(&[]), line(&describe())] {
            assert!(line.chars().all(allowed), "{line}");
            assert_eq!(line.matches("__").count(), 0, "{line}");
        }
    }

    #[test]
    fn cpu_names_lose_what_all_of_them_carry() {
        let short = |model| token(&short_cpu(model));
        assert_eq!(short("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz"), "Intel-Core-i7-8650U");
        assert_eq!(short("AMD EPYC 7R13 48-Core Processor"), "AMD-EPYC-7R13-48-Core");
        assert_eq!(short("unknown"), "unknown");
    }
}
