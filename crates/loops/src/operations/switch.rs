//! Handing a token to another task that waits for it: half of the way there and back.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::calls::{map, must, pipe, read, socket_pair, write};
use crate::operation::Operation;
use crate::setting::{Setting, Timed};
use crate::tasks::{Kind, Place, beside};

macro_rules! tasks {
    ($kind:literal, $place:literal) => {
        &[("as", $kind), ("place", $place)]
    };
}

pub const OPERATIONS: &[Operation] = &[
    Operation::new("switch/pipe", tasks!("processes", "same"), |setting| {
        by_pipes(setting, Kind::Process, Place::Same)
    }),
    Operation::new("switch/pipe", tasks!("threads", "same"), |setting| {
        by_pipes(setting, Kind::Thread, Place::Same)
    }),
    Operation::new("switch/pipe", tasks!("threads", "other"), |setting| {
        by_pipes(setting, Kind::Thread, Place::Other)
    }),
    Operation::new("switch/socketpair", tasks!("processes", "same"), |setting| {
        by_sockets(setting, Kind::Process, Place::Same)
    }),
    Operation::new("switch/socketpair", tasks!("threads", "same"), |setting| {
        by_sockets(setting, Kind::Thread, Place::Same)
    }),
    Operation::new("switch/eventfd", tasks!("processes", "same"), |setting| {
        // SAFETY: takes numbers only.
        let [there, back] = [0; 2].map(|_| must("eventfd", unsafe { libc::eventfd(0, 0) }));
        let answer = move || {
            let mut token = [0; 8];
            read(there, &mut token);
            write(back, &token);
        };
        beside(setting, Kind::Process, Place::Same, answer, || {
            let mut token = 1u64.to_ne_bytes();
            let round_trips = setting.repeat(|| {
                write(there, &token);
                read(back, &mut token);
            });
            round_trips.times(2)
        })
    }),
    Operation::new("switch/futex", tasks!("processes", "same"), |setting| {
        // SAFETY: the page is zeroed, aligned, and never unmapped; zeros are valid numbers.
        let words: &'static [AtomicU32; 2] = unsafe { &*map(4096, true).cast() };
        let answer = move || {
            take(&words[0]);
            pass(&words[1]);
        };
        beside(setting, Kind::Process, Place::Same, answer, || {
            let round_trips = setting.repeat(|| {
                pass(&words[0]);
                take(&words[1]);
            });
            round_trips.times(2)
        })
    }),
];

fn by_pipes(setting: &Setting, kind: Kind, place: Place) -> Timed {
    let ([take_there, pass_there], [take_back, pass_back]) = (pipe(), pipe());
    by_descriptors(setting, kind, place, [pass_there, take_there, pass_back, take_back])
}

fn by_sockets(setting: &Setting, kind: Kind, place: Place) -> Timed {
    let [own, partners] = socket_pair(libc::SOCK_STREAM);
    by_descriptors(setting, kind, place, [own, partners, partners, own])
}

/// Passes four bytes there and back. The descriptors are those to write and read there, and to write and read back.
fn by_descriptors(
    setting: &Setting,
    kind: Kind,
    place: Place,
    [pass_there, take_there, pass_back, take_back]: [i32; 4],
) -> Timed {
    let answer = move || {
        let mut token = [0; 4];
        read(take_there, &mut token);
        write(pass_back, &token);
    };
    beside(setting, kind, place, answer, || {
        let mut token = [1; 4];
        let round_trips = setting.repeat(|| {
            write(pass_there, &token);
            read(take_back, &mut token);
        });
        round_trips.times(2)
    })
}

/// Puts a token into a word, and wakes the task that waits for it.
fn pass(word: &AtomicU32) {
    word.store(1, Ordering::Release);
    // SAFETY: the word is valid.
    must("futex", unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) });
}

/// Waits until a word has a token, and takes it.
fn take(word: &AtomicU32) {
    while word.load(Ordering::Acquire) == 0 {
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: the word is valid. The call fails if the word has changed meanwhile, which ends the loop.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, 0, forever) };
    }
    word.store(0, Ordering::Relaxed);
}
