use std::fs::File;

use measure::CaseError;

use super::{
    BANDWIDTH, Calls, Mechanism, Messages, Stream, measure_round_trip, measure_transfer, pipe,
};
use crate::{Case, only};

/// A message through a named pipe and back.
pub const ROUND_TRIP: Case = Case {
    name: "named-pipe",
    operation: "One round trip: a message written to a named pipe in message mode, read by another thread at its other \
                end, which writes it back.",
    comparable_to: "The counterpart of ipc/fifo and ipc/unix-stream.",
    params: super::ROUND_TRIP_OF_THREADS,
    run: |params, round| measure_round_trip(params, round, MECHANISM, pair(true)?.map(Messages)),
    ..pipe::ROUND_TRIP.on_windows()
};

/// Blocks through a named pipe.
pub const TRANSFER: Case = Case {
    name: "named-pipe-bandwidth",
    operation: "One block as in ipc/pipe-bandwidth, through a named pipe in byte mode with buffers of 64 KiB.",
    comparable_to: "The counterpart of ipc/fifo-bandwidth.",
    params: super::TRANSFER_OF_THREADS,
    metrics: &[BANDWIDTH],
    run: |params, round| measure_transfer(params, round, MECHANISM, pair(false)?.map(Stream)),
    ..ROUND_TRIP
};

const MECHANISM: Mechanism = Mechanism::new("a named pipe", Calls::Any);

/// Both ends of a named pipe, which the system removes when they are closed.
#[only(windows)]
fn pair(messages: bool) -> Result<[File; 2], CaseError> {
    use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
    use std::ptr::{null, null_mut};

    use windows_sys::Win32::Foundation::{
        GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE,
    };
    use windows_sys::Win32::Storage::FileSystem::{
        CreateFileW, FILE_FLAG_FIRST_PIPE_INSTANCE, OPEN_EXISTING, PIPE_ACCESS_DUPLEX,
    };
    use windows_sys::Win32::System::Pipes::{
        CreateNamedPipeW, PIPE_READMODE_BYTE, PIPE_READMODE_MESSAGE, PIPE_TYPE_BYTE,
        PIPE_TYPE_MESSAGE, PIPE_WAIT, SetNamedPipeHandleState,
    };

    const BUFFER: u32 = 64 << 10;

    let owned = |what: &str, handle: HANDLE| {
        if handle == INVALID_HANDLE_VALUE {
            return Err(CaseError::last_os_error(what));
        }
        // SAFETY: the handle is new, so it has no other owner.
        Ok(File::from(unsafe { OwnedHandle::from_raw_handle(handle) }))
    };
    let name = platform::cleanup::random_name(r"\\.\pipe\oscost-worker-");
    let wide_name: Vec<u16> = name.encode_utf16().chain([0]).collect();
    let (kind, mode) = if messages {
        (PIPE_TYPE_MESSAGE, PIPE_READMODE_MESSAGE)
    } else {
        (PIPE_TYPE_BYTE, PIPE_READMODE_BYTE)
    };
    let (flags, how) =
        (PIPE_ACCESS_DUPLEX | FILE_FLAG_FIRST_PIPE_INSTANCE, kind | mode | PIPE_WAIT);
    let (name, access) = (wide_name.as_ptr(), GENERIC_READ | GENERIC_WRITE);
    // SAFETY: the name ends with 0 and outlives the calls; no other memory is passed but `mode`.
    unsafe {
        let server = CreateNamedPipeW(name, flags, how, 1, BUFFER, BUFFER, 0, null());
        let server = owned("CreateNamedPipeW", server)?;
        let client = CreateFileW(name, access, 0, null(), OPEN_EXISTING, 0, null_mut());
        let client = owned("CreateFileW of a named pipe", client)?;
        if SetNamedPipeHandleState(client.as_raw_handle(), &mode, null(), null()) == 0 {
            return Err(CaseError::last_os_error("SetNamedPipeHandleState"));
        }
        Ok([server, client])
    }
}
