use platform::on_linux;

use crate::{Case, Only};

/// A small file of the kernel about a device.
pub const CASE: Case = Case {
    area: "syscall",
    name: "sys-read",
    operation: "One open of /sys/devices/system/cpu/online, one read of all of it, and one close.",
    comparable_to: "Monitoring programs read many such files; the measured peers have no such case.",
    only: Only::Linux("measured on Linux only"),
    core_bound: false,
    trials: None,
    params: &[],
    metrics: &[],
    run: |_, round| {
        on_linux!(round, {
            round.expect_syscalls(3.0);
            super::read_whole::time(round, c"/sys/devices/system/cpu/online")
        })
    },
};
