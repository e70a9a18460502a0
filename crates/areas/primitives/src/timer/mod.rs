//! Accuracy of sleeps, idle and under load, and costs of creating and arming a timer.

mod arm_itimer;
mod arm_timerfd;
mod arm_waitable_timer;
mod busy_threads;
mod clock_nanosleep;
mod common;
mod create_timer;
mod epoll;
mod io_uring;
mod metrics;
mod nanosleep;
mod poll;
mod setitimer;
mod sleep;
mod sleeping;
mod timerfd;
mod waitable_timer;

pub(crate) use sleeping::*;

use crate::{Area, Case, Counterpart, Need};

/// The area.
pub static AREA: Area = Area {
    needs: &[Need {
        cases: &["io-uring"],
        what: "io_uring (kernel.io_uring_disabled=0, a seccomp filter that permits it)",
    }],
    counterparts: &[
        Counterpart::cases("timer/nanosleep", "timer/waitable-timer-high-resolution"),
        Counterpart::cases("timer/clock-nanosleep", "timer/sleep"),
        Counterpart::cases("timer/timerfd", "timer/waitable-timer"),
        Counterpart::cases("timer/create-timer", "timer/create-waitable-timer"),
        Counterpart::cases("timer/arm-timerfd", "timer/arm-waitable-timer"),
    ],
    ..Area::new("timer", CASES)
};

/// Cases of the area.
const CASES: &[&Case] = &[
    &nanosleep::CASE,
    &clock_nanosleep::CASE,
    &poll::CASE,
    &epoll::CASE,
    &timerfd::CASE,
    &setitimer::CASE,
    &io_uring::CASE,
    &sleep::CASE,
    &waitable_timer::CASE,
    &waitable_timer::HIGH_RESOLUTION,
    &create_timer::CASE,
    &arm_timerfd::CASE,
    &arm_itimer::CASE,
    &arm_waitable_timer::CREATE,
    &arm_waitable_timer::ARM,
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Extent;
    use rehearsal::default_points;

    #[test]
    fn the_rounds_stay_within_their_share_of_a_run() {
        /// Number of trials of a point, and time to start one.
        const TRIALS: u32 = 6;
        const START: Duration = Duration::from_millis(25);
        let all = |extent| -> Duration {
            let points =
                CASES.iter().filter(|case| case.missing_here().is_none()).flat_map(|case| {
                    let takes = |params| Some((case.trials?.takes)(&params) + START);
                    let measured = default_points(case);
                    let measured =
                        measured.into_iter().filter(|p| crate::includes(case, p, extent));
                    measured.filter_map(takes).collect::<Vec<_>>()
                });
            points.sum::<Duration>() * TRIALS
        };
        let (ordinary, quick) = (all(Extent::Ordinary), all(Extent::Quick));
        assert!(ordinary < Duration::from_millis(12_500), "{ordinary:?}");
        assert!(quick < Duration::from_millis(3_500), "{quick:?}");
    }
}
