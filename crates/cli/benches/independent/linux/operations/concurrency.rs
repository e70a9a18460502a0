//! Lists of jobs.

use std::sync::mpsc;
use std::time::Duration;

use crate::linux::calls::{fail, pin_to_all};
use crate::linux::operation::Operation;
use crate::linux::workers::Work;

const JOBS: usize = 64;

macro_rules! worth {
    ($executor:literal) => {
        &[("executor", $executor), ("length", "100us"), ("jobs", "64")]
    };
}

pub const OPERATIONS: &[Operation] = &[
    Operation::new("concurrency/worth", worth!("serial"), |setting| {
        let job = Work::of(Duration::from_micros(100));
        setting.repeat(|| (0..JOBS).for_each(|_| job.carry_out()))
    }),
    Operation::new("concurrency/worth", worth!("threads"), |setting| {
        let job = Work::of(Duration::from_micros(100));
        if pin_to_all(setting.cpus()).is_err() {
            fail("sched_setaffinity");
        }
        setting.repeat(|| {
            let (ended, ends) = mpsc::channel();
            let mut threads = Vec::new();
            for number in 0..JOBS {
                // As many jobs at once as there are CPUs.
                if number >= setting.cpus().len() {
                    ends.recv().expect("a thread tells its end");
                }
                let ended = ended.clone();
                threads.push(std::thread::spawn(move || {
                    job.carry_out();
                    ended.send(()).expect("the end is awaited");
                }));
            }
            threads.into_iter().for_each(|thread| thread.join().expect("a job does not panic"));
        })
    }),
];
