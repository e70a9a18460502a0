//! Disturbances of measurements from outside: steal time, pressure, and limits.

use std::time::Duration;

#[cfg(target_os = "linux")]
mod linux;
mod readings;
#[cfg(target_os = "linux")]
use linux as os;

pub use readings::Environment;

impl Environment {
    /// The present reading, with the steal time of `cpus`.
    ///
    /// Costs 70 us in a virtual machine with 2 CPUs, 20 us of it for `/proc/stat`, which takes longer the more CPUs and
    /// interrupts a machine has. The first call of a process looks for its control group as well (0.3 ms).
    pub fn now(cpus: &[usize]) -> Self {
        os::now(cpus)
    }
}

/// Why measurements on `cpus` are unreliable, in one line; `None` if no reason is known.
///
/// If there was steal time before, the calling thread is kept busy for `over`, because steal time only accrues on a CPU
/// that has work to do.
pub fn unfit(cpus: &[usize], over: Duration) -> Option<String> {
    let machine = Fitness {
        emulator: crate::machine::emulator(),
        quota_cpus: os::cpu_quota(),
        stolen: os::stolen_share(cpus, || stay_busy(over)),
    };
    machine.objection()
}

/// Whether the CPU time of this process is limited, so that time spent waiting busily may be missing later.
pub fn has_cpu_quota() -> bool {
    os::cpu_quota().is_some()
}

fn stay_busy(time: Duration) {
    let start = std::time::Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// The criteria of whether a machine is fit for measuring.
#[derive(Debug, Default)]
struct Fitness {
    emulator: Option<String>,
    /// The CPU time that this process's control groups may use, in CPUs.
    quota_cpus: Option<f64>,
    /// Steal time as a share of the time in which the CPUs had work to do.
    stolen: Option<f64>,
}

impl Fitness {
    fn objection(&self) -> Option<String> {
        const MOST_STOLEN: f64 = 0.05;
        let emulated = self.emulator.as_ref().map(|name| format!("{name} emulates its CPU"));
        let limited = self
            .quota_cpus
            .filter(|cpus| *cpus < 1.0)
            .map(|cpus| format!("its CPU quota is {cpus:.2} of one CPU"));
        let stolen = self
            .stolen
            .filter(|share| *share > MOST_STOLEN)
            .map(|share| format!("its hypervisor takes {:.0} % of its CPU time", share * 100.0));
        let reasons: Vec<String> = [emulated, limited, stolen].into_iter().flatten().collect();
        (!reasons.is_empty())
            .then(|| format!("this machine is unfit for measuring: {}", reasons.join("; ")))
    }
}

/// Nothing is read on this system.
#[cfg(not(target_os = "linux"))]
mod os {
    use super::Environment;

    pub fn now(_cpus: &[usize]) -> Environment {
        Environment::default()
    }

    pub fn cpu_quota() -> Option<f64> {
        None
    }

    pub fn stolen_share(_cpus: &[usize], _wait: impl FnOnce()) -> Option<f64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_unfit_for_a_reason_that_it_names() {
        let objection = |emulator: Option<&str>, quota_cpus, stolen| {
            Fitness { emulator: emulator.map(str::to_owned), quota_cpus, stolen }.objection()
        };
        assert_eq!(objection(None, None, None), None);
        assert_eq!(objection(None, Some(1.0), Some(0.05)), None);
        assert_eq!(
            objection(None, Some(0.5), Some(0.01)).unwrap(),
            "this machine is unfit for measuring: its CPU quota is 0.50 of one CPU"
        );
        assert_eq!(
            objection(Some("QEMU (TCG)"), Some(4.0), Some(0.123)).unwrap(),
            "this machine is unfit for measuring: QEMU (TCG) emulates its CPU; its hypervisor takes 12 % of its CPU time"
        );
    }
}
