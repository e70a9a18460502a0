use crate::{Case, on_linux};

/// Reading a small file of /sys about a device.
pub const CASE: Case = Case {
    operation: "One open of /sys/devices/system/cpu/online, one read of all of it, and one close.",
    comparable_to: "Monitoring programs read many such files; the measured peers have no such case.",
    run: on_linux!(|_, round| {
        round.expect_syscalls(3.0);
        super::read_whole::time(round, c"/sys/devices/system/cpu/online")
    }),
    ..Case::new("syscall", "sys-read").on_linux()
};
