use crate::{Case, only};

/// Reading a small file of /sys about a device.
pub const CASE: Case = Case {
    operation: "One open of /sys/devices/system/cpu/online, one read of all of it, and one close.",
    comparable_to: "Monitoring programs read many such files; the measured peers have no such case.",
    run,
    ..Case::new("syscall", "sys-read").on_linux()
};

#[only(linux)]
fn run(_: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    round.expect_syscalls(3.0);
    super::read_whole::time(round, c"/sys/devices/system/cpu/online")
}
