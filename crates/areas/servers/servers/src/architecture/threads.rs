//! A thread for each connection, which serves its client by blocking calls. The system's plain call starts the thread, as
//! in a C program, so that the cost is the architecture's.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;

use serving::PAUSE;

use crate::conversation::converse;
use crate::server::{Server, Terms};

/// Stack size of a thread, enough for a conversation; pages that are not touched take no memory.
const STACK: usize = 128 * 1024;

pub fn serve(server: &Server) -> io::Result<()> {
    let threads = Threads::default();
    for stream in server.accept_blocking() {
        start(&threads, &server.terms, stream?);
    }
    Ok(())
}

/// The running threads. Dropping this waits for them.
#[derive(Default)]
struct Threads {
    running: Arc<AtomicUsize>,
}

impl Drop for Threads {
    fn drop(&mut self) {
        while self.running.load(Ordering::Acquire) > 0 {
            sleep(PAUSE / 10);
        }
    }
}

/// Starts a thread for a connection; retries while no thread can be started.
fn start(threads: &Threads, terms: &Terms, stream: TcpStream) {
    threads.running.fetch_add(1, Ordering::Relaxed);
    let (running, of_thread) = (Arc::clone(&threads.running), terms.clone());
    let mut conversation = move || {
        converse(stream, &of_thread);
        running.fetch_sub(1, Ordering::Release);
    };
    while let Err((_, unstarted)) = os::start(STACK, conversation) {
        terms.counters.note_no_process();
        conversation = unstarted;
        sleep(PAUSE);
    }
}

#[cfg(unix)]
mod os {
    use std::io;
    use std::mem::MaybeUninit;

    /// Starts a detached thread that runs `run` on a stack of `stack` bytes, without what Rust's standard library adds to each: a
    /// name, a stack for signal handlers with its guard page, and a handle. An error comes with `run`, which was not called.
    pub fn start<F: FnOnce() + Send + 'static>(stack: usize, run: F) -> Result<(), (io::Error, F)> {
        let run = Box::into_raw(Box::new(run));
        // SAFETY: the attributes are initialised before they are used and destroyed afterwards; `main_of::<F>` takes back the
        // box exactly once, and only if the thread was started.
        let result = unsafe {
            let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
            let attributes = attributes.as_mut_ptr();
            match libc::pthread_attr_init(attributes) {
                0 => {
                    let result = create::<F>(attributes, stack, run);
                    libc::pthread_attr_destroy(attributes);
                    result
                }
                error => error,
            }
        };
        match result {
            0 => Ok(()),
            // SAFETY: no thread was started, so the box is still ours.
            error => Err((io::Error::from_raw_os_error(error), *unsafe { Box::from_raw(run) })),
        }
    }

    /// # Safety
    /// The attributes must be initialised, and `run` a box of `F` that nothing else uses.
    unsafe fn create<F: FnOnce() + Send + 'static>(
        attributes: *mut libc::pthread_attr_t,
        stack: usize,
        run: *mut F,
    ) -> libc::c_int {
        let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
        // SAFETY: as required of the caller; the id is written, not read.
        unsafe {
            let results = [
                libc::pthread_attr_setstacksize(attributes, stack),
                libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED),
            ];
            match results.into_iter().find(|&error| error != 0) {
                Some(error) => error,
                None => {
                    libc::pthread_create(thread.as_mut_ptr(), attributes, main_of::<F>, run.cast())
                }
            }
        }
    }

    /// Runs the box `run`. A panic ends the process: it must not unwind out of this function.
    extern "C" fn main_of<F: FnOnce()>(run: *mut libc::c_void) -> *mut libc::c_void {
        // SAFETY: it is the box that `start` has given to this thread alone.
        let run = unsafe { Box::from_raw(run.cast::<F>()) };
        run();
        std::ptr::null_mut()
    }
}

#[cfg(not(unix))]
mod os {
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    /// Starts one of Rust's threads, which adds less on Windows.
    pub fn start<F: FnOnce() + Send + 'static>(stack: usize, run: F) -> Result<(), (io::Error, F)> {
        // The closure is dropped if the thread cannot be started: the slot keeps `run`.
        let slot = Arc::new(Mutex::new(Some(run)));
        let take =
            |slot: &Mutex<Option<F>>| slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let given = Arc::clone(&slot);
        let main = move || {
            if let Some(run) = take(&given) {
                run();
            }
        };
        match std::thread::Builder::new().stack_size(stack).spawn(main) {
            Ok(_) => Ok(()),
            Err(error) => Err((error, take(&slot).expect("the thread has not taken it"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::os::start;

    #[test]
    fn it_runs_once_and_nothing_is_lost() {
        let (sender, receiver) = mpsc::channel();
        for number in 0..50 {
            let sender = sender.clone();
            start(64 * 1024, move || sender.send(number).unwrap())
                .map_err(|(error, _)| error)
                .unwrap();
        }
        drop(sender);
        let mut all: Vec<i32> = receiver.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }

    #[test]
    #[cfg(unix)]
    fn what_cannot_be_started_is_given_back() {
        let (sender, receiver) = mpsc::channel();
        let huge = usize::MAX / 2;
        let (_, run) = start(huge, move || sender.send(7).unwrap()).unwrap_err();
        run();
        assert_eq!(receiver.recv(), Ok(7));
    }
}
