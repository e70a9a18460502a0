use measure::{CaseError, Params, Round};
use platform::on_windows;

use super::{METRICS, THREADS};
use crate::{Case, Only};

/// The token beside an event object.
pub const CASE: Case = Case {
    area: "switch",
    name: "event",
    operation: "One hand-over of a token to another thread, which waits for it: one SetEvent of an automatic event and \
                one WaitForSingleObject for a second one per thread and hand-over. Half of the way there and back.",
    comparable_to: "The counterpart of switch/eventfd.",
    only: Only::Windows("exists only on Windows"),
    core_bound: false,
    trials: None,
    params: THREADS,
    metrics: METRICS,
    run,
};

fn run(params: &Params, round: &mut Round) -> Result<(), CaseError> {
    on_windows!(params, round, {
        use std::io;
        use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
        use std::ptr::null;
        use std::sync::Arc;
        use std::sync::atomic::{AtomicU32, Ordering};

        use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
        use windows_sys::Win32::System::Threading::{
            CreateEventW, INFINITE, SetEvent, WaitForSingleObject,
        };

        use super::{TokenEnd, measure_pair};

        struct Event {
            handle: OwnedHandle,
            token: AtomicU32,
        }

        struct End {
            own: Arc<Event>,
            next: Arc<Event>,
        }

        impl TokenEnd for End {
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
                let waited =
                    unsafe { WaitForSingleObject(self.own.handle.as_raw_handle(), INFINITE) };
                match waited {
                    WAIT_OBJECT_0 => Ok(self.own.token.load(Ordering::Acquire)),
                    _ => Err(io::Error::last_os_error()),
                }
            }
        }

        let event = || {
            // SAFETY: an automatic event without name and with the usual security.
            let handle = unsafe { CreateEventW(null(), 0, 0, null()) };
            if handle.is_null() {
                return Err(CaseError::last_os_error("CreateEventW"));
            }
            // SAFETY: the handle is new, so it has no other owner.
            let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
            Ok(Arc::new(Event { handle, token: AtomicU32::new(0) }))
        };
        let (there, back) = (event()?, event()?);
        let first = End { own: back.clone(), next: there.clone() };
        let second = End { own: there, next: back };
        measure_pair(params, round, [first, second], None)
    })
}
