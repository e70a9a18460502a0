//! Lists of jobs.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::calls::pin;
use crate::operation::Operation;
use crate::workers::Work;

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
        pin(setting.cpus());
        setting.repeat(|| {
            let (ended, ends) = mpsc::channel();
            let mut threads: Vec<Option<JoinHandle<()>>> = Vec::new();
            for number in 0..JOBS {
                // One job runs on each CPU at a time. Threads are joined as they end: otherwise their stacks would have to be
                // mapped anew, which takes a quarter longer.
                if number >= setting.cpus().len() {
                    let first: usize = ends.recv().expect("a thread tells its end");
                    join(&mut threads[first]);
                }
                let ended = ended.clone();
                threads.push(Some(std::thread::spawn(move || {
                    job.carry_out();
                    ended.send(number).expect("the end is awaited");
                })));
            }
            threads.iter_mut().for_each(join);
        })
    }),
];

/// Waits for a thread that has not been waited for.
fn join(thread: &mut Option<JoinHandle<()>>) {
    if let Some(thread) = thread.take() {
        thread.join().expect("a job does not panic");
    }
}
