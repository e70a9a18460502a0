use super::{METRICS, THREADS};
use crate::{Case, only};

/// A token in shared memory, passed by an event object.
pub const CASE: Case = Case {
    operation: "One hand-over of a token to another thread, which waits for it: one SetEvent of an automatic event and \
                one WaitForSingleObject for a second one per thread and hand-over. Half of the way there and back.",
    comparable_to: "The counterpart of switch/eventfd.",
    params: THREADS,
    metrics: METRICS,
    run,
    ..Case::new("switch", "event").on_windows()
};

#[only(windows)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::io;
    use std::os::windows::io::{AsRawHandle, OwnedHandle};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
    use windows_sys::Win32::System::Threading::{INFINITE, SetEvent, WaitForSingleObject};

    use super::{TokenEnd, measure_pair};

    struct Event {
        handle: OwnedHandle,
        token: AtomicU32,
    }

    struct EventEnd {
        own: Arc<Event>,
        next: Arc<Event>,
    }

    impl TokenEnd for EventEnd {
        #[inline(always)]
        fn pass(&mut self, token: u32) -> io::Result<()> {
            self.next.token.store(token, Ordering::Release);
            // SAFETY: the handle is an open event.
            let done = unsafe { SetEvent(self.next.handle.as_raw_handle()) };
            if done != 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }

        #[inline(always)]
        fn take(&mut self) -> io::Result<u32> {
            // SAFETY: the handle is an open event.
            let waited = unsafe { WaitForSingleObject(self.own.handle.as_raw_handle(), INFINITE) };
            match waited {
                WAIT_OBJECT_0 => Ok(self.own.token.load(Ordering::Acquire)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    let event = || {
        let event = platform::owned::event();
        event.map(|handle| Arc::new(Event { handle, token: AtomicU32::new(0) }))
    };
    let (there, back) = (event()?, event()?);
    let first = EventEnd { own: back.clone(), next: there.clone() };
    let second = EventEnd { own: there, next: back };
    measure_pair(params, round, vec![first, second], None)
}
