//! Sleeping, and timers.

use std::mem::zeroed;
use std::ptr::null_mut;

use crate::calls::{must, read};
use crate::operation::Operation;

const HOUR_S: libc::time_t = 3600;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("timer/nanosleep", &[("length", "1ms"), ("load", "none")], |setting| {
        let length = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        setting.repeat(|| {
            // SAFETY: the length is valid; the remaining time is not requested.
            must("nanosleep", unsafe { libc::nanosleep(&length, null_mut()) });
        })
    }),
    Operation::new("timer/poll", &[("length", "1ms"), ("load", "none")], |setting| {
        setting.repeat(|| {
            // SAFETY: there are no descriptors.
            must("poll", unsafe { libc::poll(null_mut(), 0, 1) });
        })
    }),
    Operation::new("timer/timerfd", &[("length", "100us"), ("load", "none")], |setting| {
        let (timer, mut expired) = (timerfd(), [0; 8]);
        // SAFETY: all zeros mean no time and no repetition.
        let mut once: libc::itimerspec = unsafe { zeroed() };
        once.it_value.tv_nsec = 100_000;
        setting.repeat(|| {
            // SAFETY: the times are valid; the old ones are not requested.
            must("timerfd_settime", unsafe { libc::timerfd_settime(timer, 0, &once, null_mut()) });
            read(timer, &mut expired);
        })
    }),
    Operation::new("timer/create-timer", &[], |setting| {
        let hour = in_an_hour();
        setting.repeat(|| {
            // SAFETY: the event requests no notification; the timer is deleted once.
            unsafe {
                let (mut event, mut timer): (libc::sigevent, libc::timer_t) = (zeroed(), zeroed());
                event.sigev_notify = libc::SIGEV_NONE;
                let clock = libc::CLOCK_MONOTONIC;
                must("timer_create", libc::timer_create(clock, &mut event, &mut timer));
                must("timer_settime", libc::timer_settime(timer, 0, &hour, null_mut()));
                must("timer_delete", libc::timer_delete(timer));
            }
        })
    }),
    Operation::new("timer/arm-timerfd", &[], |setting| {
        let timer = timerfd();
        let hour = in_an_hour();
        setting.repeat(|| {
            let mut left = hour;
            // SAFETY: both times are valid.
            must("timerfd_settime", unsafe { libc::timerfd_settime(timer, 0, &hour, &mut left) });
            std::hint::black_box(left);
        })
    }),
    Operation::new("timer/arm-itimer", &[], |setting| {
        // SAFETY: all zeros mean no time and no repetition.
        let mut hour: libc::itimerval = unsafe { zeroed() };
        hour.it_value.tv_sec = HOUR_S;
        setting.repeat(|| {
            let mut left = hour;
            // SAFETY: both times are valid.
            must("setitimer", unsafe { libc::setitimer(libc::ITIMER_REAL, &hour, &mut left) });
            std::hint::black_box(left);
        })
    }),
    Operation::new("timer/epoll", &[("length", "1ms"), ("load", "none")], |setting| {
        // SAFETY: takes a number only.
        let epoll = must("epoll_create1", unsafe { libc::epoll_create1(0) });
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        setting.repeat(|| {
            // SAFETY: there is space for one event.
            must("epoll_wait", unsafe { libc::epoll_wait(epoll, &mut event, 1, 1) });
        })
    }),
];

/// A timer's time: once, in an hour.
fn in_an_hour() -> libc::itimerspec {
    // SAFETY: all zeros mean no time and no repetition.
    let mut hour: libc::itimerspec = unsafe { zeroed() };
    hour.it_value.tv_sec = HOUR_S;
    hour
}

fn timerfd() -> std::os::fd::RawFd {
    // SAFETY: takes numbers only.
    must("timerfd_create", unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, 0) })
}
