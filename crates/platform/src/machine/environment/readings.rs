//! Readings of counters that show disturbances of measurements.

use std::time::Duration;

/// Counters of disturbances, since boot or for this process's control group. `None`: not counted on this system.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Environment {
    /// Steal time: time in which the hypervisor ran something else while the CPUs had work to do.
    pub steal: Option<Duration>,
    /// Time in which this process's control group, or one of its ancestors, was throttled by its CPU quota; the sum over
    /// its CPUs.
    pub throttled: Option<Duration>,
    /// Time in which some thread waited for a CPU: of the machine, or of the control group where the machine's is not
    /// reported.
    pub cpu_pressure: Option<Duration>,
    /// Time in which some thread waited for I/O.
    pub io_pressure: Option<Duration>,
    /// Time in which some thread waited for memory to be reclaimed.
    pub memory_pressure: Option<Duration>,
    /// Interrupts, on all CPUs of the machine.
    pub interrupts: Option<u64>,
}

impl Environment {
    /// The difference to an earlier reading; `None` also for a counter that decreased, as steal time does on some kernels.
    pub fn since(self, earlier: Self) -> Self {
        let time = |now: Option<Duration>, then: Option<Duration>| now?.checked_sub(then?);
        let number = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Self {
            steal: time(self.steal, earlier.steal),
            throttled: time(self.throttled, earlier.throttled),
            cpu_pressure: time(self.cpu_pressure, earlier.cpu_pressure),
            io_pressure: time(self.io_pressure, earlier.io_pressure),
            memory_pressure: time(self.memory_pressure, earlier.memory_pressure),
            interrupts: number(self.interrupts, earlier.interrupts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_needs_both_counts_and_no_decrease() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let earlier = Environment {
            steal: ms(20),
            throttled: ms(7),
            cpu_pressure: None,
            io_pressure: ms(1),
            memory_pressure: ms(5),
            interrupts: Some(100),
        };
        let now = Environment {
            steal: ms(10),
            throttled: ms(7),
            cpu_pressure: ms(3),
            io_pressure: None,
            memory_pressure: ms(9),
            interrupts: Some(150),
        };
        let expected = Environment {
            steal: None,
            throttled: Some(Duration::ZERO),
            cpu_pressure: None,
            io_pressure: None,
            memory_pressure: ms(4),
            interrupts: Some(50),
        };
        assert_eq!(now.since(earlier), expected);
    }
}
