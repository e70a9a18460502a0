//! Threads that exist before they may run.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const SUSPENDED: u8 = 0;
const RESUMED: u8 = 1;
const CANCELLED: u8 = 2;

/// A thread that does nothing until it is resumed. Windows creates it suspended; on other systems it waits at its
/// beginning. Dropping this ends a thread that was not resumed, and waits for any other.
pub struct SuspendedThread {
    state: Arc<AtomicU8>,
    thread: os::Thread,
}

impl SuspendedThread {
    /// Creates the thread, with a stack of `stack` bytes or of the usual size. `work` must not panic.
    pub fn new(
        stack_size: Option<usize>,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let state = Arc::new(AtomicU8::new(SUSPENDED));
        let own_state = Arc::clone(&state);
        let body = move || {
            os::wait_while(|| own_state.load(Ordering::Acquire) == SUSPENDED);
            if own_state.load(Ordering::Acquire) == RESUMED {
                work();
            }
        };
        Ok(Self { state, thread: os::Thread::new(stack_size, Box::new(body))? })
    }

    /// Lets the thread do its work.
    pub fn resume(&self) {
        self.leave(RESUMED);
    }

    fn leave(&self, to: u8) {
        let changed =
            self.state.compare_exchange(SUSPENDED, to, Ordering::AcqRel, Ordering::Relaxed);
        if changed.is_ok() {
            self.thread.resume();
        }
    }
}

impl Drop for SuspendedThread {
    fn drop(&mut self) {
        self.leave(CANCELLED);
        self.thread.join();
    }
}

#[cfg(unix)]
mod os {
    use std::io;
    use std::thread::{self, JoinHandle};

    pub struct Thread(Option<JoinHandle<()>>);

    impl Thread {
        pub fn new(stack_size: Option<usize>, body: Box<dyn FnOnce() + Send>) -> io::Result<Self> {
            let builder = thread::Builder::new().name("suspended".into());
            let builder = stack_size.into_iter().fold(builder, thread::Builder::stack_size);
            builder.spawn(body).map(|handle| Self(Some(handle)))
        }

        pub fn resume(&self) {
            self.0.iter().for_each(|handle| handle.thread().unpark());
        }

        pub fn join(&mut self) {
            if let Some(handle) = self.0.take() {
                // The panic of a thread's work was reported when it happened.
                let _ = handle.join();
            }
        }
    }

    /// Waits at the beginning of the thread.
    pub fn wait_while(is_suspended: impl Fn() -> bool) {
        while is_suspended() {
            thread::park();
        }
    }
}

#[cfg(windows)]
mod os {
    use std::ffi::c_void;
    use std::io;
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::ptr::{null, null_mut};

    use windows_sys::Win32::System::Threading::{
        CREATE_SUSPENDED, CreateThread, INFINITE, ResumeThread, WaitForSingleObject,
    };

    pub struct Thread(OwnedHandle);

    type Body = Box<dyn FnOnce() + Send>;

    unsafe extern "system" fn begin(body: *mut c_void) -> u32 {
        // SAFETY: `Thread::new` passes a body that only this thread owns from then on.
        let body = unsafe { Box::from_raw(body.cast::<Body>()) };
        body();
        0
    }

    impl Thread {
        pub fn new(stack_size: Option<usize>, body: Body) -> io::Result<Self> {
            let body = Box::into_raw(Box::new(body));
            // SAFETY: `begin` takes the body, which has no other owner.
            let handle = unsafe {
                let stack_size = stack_size.unwrap_or(0);
                CreateThread(
                    null(),
                    stack_size,
                    Some(begin),
                    body.cast(),
                    CREATE_SUSPENDED,
                    null_mut(),
                )
            };
            if handle.is_null() {
                let error = io::Error::last_os_error();
                // SAFETY: no thread was created that could own it.
                drop(unsafe { Box::from_raw(body) });
                return Err(error);
            }
            // SAFETY: the handle is new and has no other owner.
            Ok(Self(unsafe { OwnedHandle::from_raw_handle(handle) }))
        }

        pub fn resume(&self) {
            // SAFETY: the handle is open.
            unsafe { ResumeThread(self.0.as_raw_handle()) };
        }

        pub fn join(&mut self) {
            // SAFETY: the handle is open.
            unsafe { WaitForSingleObject(self.0.as_raw_handle(), INFINITE) };
        }
    }

    /// Does nothing: the system does not run the thread before it is resumed.
    pub fn wait_while(_is_suspended: impl Fn() -> bool) {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_thread_runs_once_when_it_is_resumed_and_never_before() {
        let runs = Arc::new(AtomicUsize::new(0));
        let thread = |runs: &Arc<AtomicUsize>| {
            let runs = Arc::clone(runs);
            SuspendedThread::new(Some(1 << 18), move || _ = runs.fetch_add(1, Ordering::SeqCst))
                .unwrap()
        };
        let (first, second) = (thread(&runs), thread(&runs));
        // A thread that is not suspended would run meanwhile.
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(runs.load(Ordering::SeqCst), 0);
        first.resume();
        first.resume();
        drop(first);
        assert_eq!(runs.load(Ordering::SeqCst), 1);
        // A thread that is never resumed ends, and what it owns is dropped.
        drop(second);
        assert_eq!((runs.load(Ordering::SeqCst), Arc::strong_count(&runs)), (1, 1));
    }
}
