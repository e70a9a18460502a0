//! The plain loops of Windows.

use std::fs::File;
use std::hint::black_box;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{
    CloseHandle, DUPLICATE_SAME_ACCESS, DuplicateHandle, GENERIC_READ, HANDLE,
    INVALID_HANDLE_VALUE, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_ATTRIBUTE_NORMAL, FILE_SHARE_READ, GetFileAttributesW,
    INVALID_FILE_ATTRIBUTES, OPEN_EXISTING, WriteFile,
};
use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, GetCurrentProcess, SetEvent, SwitchToThread, WaitForSingleObject,
};

use crate::calls::must;
use crate::setting::{Setting, Timed};

pub fn switch_to_thread(setting: &Setting) -> Timed {
    setting.repeat(|| {
        // SAFETY: takes no arguments.
        black_box(unsafe { SwitchToThread() });
    })
}

pub fn set_event(setting: &Setting) -> Timed {
    let event = event(true);
    // SAFETY: the event is never closed.
    setting.repeat(|| must("SetEvent", unsafe { SetEvent(event) } != 0))
}

pub fn wait_0(setting: &Setting) -> Timed {
    let event = event(false);
    setting.repeat(|| {
        // SAFETY: the event is never closed.
        must("WaitForSingleObject", unsafe { WaitForSingleObject(event, 0) } == WAIT_TIMEOUT)
    })
}

pub fn write_file_nul(setting: &Setting) -> Timed {
    let nul = File::options().write(true).open("NUL").expect("the device NUL");
    let (handle, byte, mut written) = (nul.as_raw_handle(), 1u8, 0);
    setting.repeat(|| {
        // SAFETY: the file is open, and all pointers are valid or null.
        let done = unsafe { WriteFile(handle, &byte, 1, &mut written, null_mut()) };
        must("WriteFile", done != 0 && written == 1)
    })
}

pub fn duplicate_handle_close(setting: &Setting) -> Timed {
    let file = File::open(setting.program()).expect("the program");
    let handle = file.as_raw_handle();
    setting.repeat(|| {
        let mut copy = null_mut();
        // SAFETY: the file is open, and the copy is closed once.
        unsafe {
            let own = GetCurrentProcess();
            let done = DuplicateHandle(own, handle, own, &mut copy, 0, 0, DUPLICATE_SAME_ACCESS);
            must("DuplicateHandle", done != 0);
            must("CloseHandle", CloseHandle(copy) != 0);
        }
    })
}

pub fn create_file_close(setting: &Setting) -> Timed {
    let path = wide(setting.program());
    let (share, kind) = (FILE_SHARE_READ, FILE_ATTRIBUTE_NORMAL);
    setting.repeat(|| {
        // SAFETY: the path ends with a zero, and the handle is closed once.
        unsafe {
            let file = path.as_ptr();
            let file =
                CreateFileW(file, GENERIC_READ, share, null(), OPEN_EXISTING, kind, null_mut());
            must("CreateFileW", file != INVALID_HANDLE_VALUE);
            must("CloseHandle", CloseHandle(file) != 0);
        }
    })
}

pub fn get_file_attributes(setting: &Setting) -> Timed {
    let path = wide(setting.program());
    setting.repeat(|| {
        // SAFETY: the path ends with a zero.
        let attributes = unsafe { GetFileAttributesW(path.as_ptr()) };
        must("GetFileAttributesW", attributes != INVALID_FILE_ATTRIBUTES)
    })
}

pub fn stat_missing(setting: &Setting) -> Timed {
    let path = wide(&setting.folder().join("missing"));
    setting.repeat(|| {
        // SAFETY: the path ends with a zero.
        let attributes = unsafe { GetFileAttributesW(path.as_ptr()) };
        assert_eq!(attributes, INVALID_FILE_ATTRIBUTES, "there is no such file");
    })
}

pub fn virtual_alloc(setting: &Setting) -> Timed {
    setting.repeat(|| {
        // SAFETY: new memory, which is released once.
        unsafe {
            let memory = VirtualAlloc(null(), 4096, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
            must("VirtualAlloc", !memory.is_null());
            must("VirtualFree", VirtualFree(memory, 0, MEM_RELEASE) != 0);
        }
    })
}

/// A new event that resets itself.
fn event(is_set: bool) -> HANDLE {
    // SAFETY: neither attributes nor a name.
    let event = unsafe { CreateEventW(null(), 0, is_set.into(), null()) };
    must("CreateEventW", !event.is_null());
    event
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}
