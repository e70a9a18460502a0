//! Acquiring and releasing locks.

use std::cell::UnsafeCell;
use std::mem::zeroed;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::calls::{c_path, must, open, pipe, read, write};
use crate::operation::{Operation, Params};
use crate::setting::Timed;
use crate::sysv;
use crate::workers::{Work, together};

macro_rules! workers {
    ($workers:literal) => {
        &[("workers", $workers), ("as", "threads")]
    };
}

const FREE: Params = &[("workers", "1"), ("as", "threads"), ("work", "none")];
const SHARED: Params = &[("workers", "2"), ("as", "threads"), ("work", "9us")];

pub const OPERATIONS: &[Operation] = &[
    Operation::new("lock/pthread-mutex", workers!("1"), |setting| {
        let mutex = PthreadMutex::new();
        in_a_threaded_process(|| setting.repeat(|| mutex.lock_and_unlock()))
    }),
    Operation::new("lock/pthread-mutex", workers!("2"), |setting| {
        let mutex = PthreadMutex::new();
        together(setting, 2, |_| mutex.lock_and_unlock())
    }),
    Operation::new("lock/std-mutex", FREE, |setting| {
        let mutex = Mutex::new(());
        in_a_threaded_process(|| setting.repeat(|| drop(mutex.lock().expect("nobody panicked"))))
    }),
    Operation::new("lock/posix-sem-private", workers!("1"), |setting| {
        // SAFETY: sem_init overwrites the all-zero semaphore, which does not move.
        unsafe {
            let mut semaphore: libc::sem_t = zeroed();
            must("sem_init", libc::sem_init(&mut semaphore, 0, 1));
            setting.repeat(|| {
                must("sem_wait", libc::sem_wait(&mut semaphore));
                must("sem_post", libc::sem_post(&mut semaphore));
            })
        }
    }),
    Operation::new("lock/futex", workers!("1"), |setting| {
        let word = AtomicU32::new(0);
        setting.repeat(|| {
            if word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                unreachable!("nobody else locks");
            }
            // A value of 2 would mean that a waiter has to be woken.
            if word.swap(0, Ordering::Release) == 2 {
                unreachable!("nobody else waits");
            }
        })
    }),
    Operation::new("lock/sysv-sem", FREE, |setting| {
        let set = sysv::semaphores(2);
        setting.repeat(|| {
            acquire(set);
            release(set);
        })
    }),
    Operation::new("lock/sysv-sem", SHARED, |setting| {
        let (set, work) = (sysv::semaphores(2), Work::of(Duration::from_micros(9)));
        together(setting, 2, |_| {
            acquire(set);
            work.carry_out();
            release(set);
        })
    }),
    Operation::new("lock/fcntl", workers!("1"), |setting| {
        let file = open(&c_path(&setting.folder().join("file")), libc::O_RDWR | libc::O_CREAT);
        // SAFETY: all zeros are a valid range.
        let mut range: libc::flock = unsafe { zeroed() };
        range.l_len = 1;
        in_a_threaded_process(|| {
            setting.repeat(|| {
                for kind in [libc::F_WRLCK, libc::F_UNLCK] {
                    range.l_type = kind as libc::c_short;
                    // SAFETY: the range is valid.
                    must("fcntl", unsafe { libc::fcntl(file, libc::F_SETLKW, &range) });
                }
            })
        })
    }),
    Operation::new("lock/pipe-token", workers!("1"), |setting| {
        let ([from, to], mut token) = (pipe(), [1]);
        write(to, &token);
        in_a_threaded_process(|| {
            setting.repeat(|| {
                read(from, &mut token);
                write(to, &token);
            })
        })
    }),
    Operation::new("lock/eventfd-token", workers!("1"), |setting| {
        // SAFETY: takes numbers.
        let event = must("eventfd", unsafe { libc::eventfd(1, libc::EFD_SEMAPHORE) });
        let mut one = [0; 8];
        in_a_threaded_process(|| {
            setting.repeat(|| {
                read(event, &mut one);
                write(event, &one);
            })
        })
    }),
];

/// Measures while the process has another thread, which waits. With one thread only, the C library locks without atomic
/// instructions, and the kernel uses open files without counting their users.
fn in_a_threaded_process(measure: impl FnOnce() -> Timed) -> Timed {
    let (ended, waits) = std::sync::mpsc::channel::<()>();
    let waiting = std::thread::spawn(move || waits.recv());
    let timed = measure();
    drop(ended);
    // The thread ends because the channel is closed.
    let _ = waiting.join();
    timed
}

/// A mutex of the type PTHREAD_MUTEX_NORMAL.
struct PthreadMutex(Box<UnsafeCell<libc::pthread_mutex_t>>);

// SAFETY: the mutex is only used by calls that several threads may make at once.
unsafe impl Sync for PthreadMutex {}

impl PthreadMutex {
    fn new() -> Self {
        // SAFETY: the initialising calls overwrite both values; the mutex has its final address already.
        unsafe {
            let mutex = Box::new(UnsafeCell::new(zeroed()));
            let mut attributes: libc::pthread_mutexattr_t = zeroed();
            libc::pthread_mutexattr_init(&mut attributes);
            libc::pthread_mutexattr_settype(&mut attributes, libc::PTHREAD_MUTEX_NORMAL);
            assert_eq!(libc::pthread_mutex_init(mutex.get(), &attributes), 0, "pthread_mutex_init");
            Self(mutex)
        }
    }

    #[inline(always)]
    fn lock_and_unlock(&self) {
        // SAFETY: the mutex is initialised.
        let failed = unsafe {
            libc::pthread_mutex_lock(self.0.get()) != 0
                || libc::pthread_mutex_unlock(self.0.get()) != 0
        };
        assert!(!failed, "a normal mutex");
    }
}

/// Waits until both semaphores are 0, and adds 1 to the first one.
fn acquire(set: i32) {
    semop(set, &mut [(0, 0), (1, 0), (0, 1)].map(operation));
}

/// Subtracts 1 from the first semaphore.
fn release(set: i32) {
    semop(set, &mut [(0, -1)].map(operation));
}

fn operation((number, change): (u16, i16)) -> libc::sembuf {
    libc::sembuf { sem_num: number, sem_op: change, sem_flg: libc::SEM_UNDO as i16 }
}

fn semop(set: i32, operations: &mut [libc::sembuf]) {
    // SAFETY: pointer and count describe the operations.
    must("semop", unsafe { libc::semop(set, operations.as_mut_ptr(), operations.len()) });
}
