//! Owned results of system calls: closed when dropped.

#[cfg(unix)]
use std::os::fd::{FromRawFd, OwnedFd};
#[cfg(windows)]
use std::{
    os::windows::io::{FromRawHandle, OwnedHandle},
    ptr::null,
};

#[cfg(windows)]
use windows_sys::Win32::{Foundation::HANDLE, System::Threading::CreateEventW};

use crate::CaseError;

/// Takes ownership of the descriptor that `call` has returned.
///
/// # Errors
/// The last error of the system if the call failed.
///
/// # Safety
/// The descriptor must be new, so that nothing else owns it.
#[cfg(unix)]
pub unsafe fn descriptor(fd: libc::c_int, call: &str) -> Result<OwnedFd, CaseError> {
    if fd < 0 {
        return Err(CaseError::last_os_error(call));
    }
    // SAFETY: the caller promises that nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Takes ownership of the handle that `call` has returned.
///
/// # Errors
/// The last error of the system if the call failed.
///
/// # Safety
/// The handle must be new, so that nothing else owns it.
#[cfg(windows)]
pub unsafe fn handle(handle: HANDLE, call: &str) -> Result<OwnedHandle, CaseError> {
    if handle.is_null() {
        return Err(CaseError::last_os_error(call));
    }
    // SAFETY: the caller promises that nothing else owns it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// A new eventfd with the initial `value`; CLOEXEC is set.
///
/// # Errors
/// Errors of eventfd(2).
#[cfg(target_os = "linux")]
pub fn eventfd(value: libc::c_uint, flags: libc::c_int) -> Result<OwnedFd, CaseError> {
    // SAFETY: takes two numbers; the descriptor is new.
    unsafe { descriptor(libc::eventfd(value, flags | libc::EFD_CLOEXEC), "eventfd") }
}

/// A new epoll instance; CLOEXEC is set.
///
/// # Errors
/// Errors of epoll_create1(2).
#[cfg(target_os = "linux")]
pub fn epoll() -> Result<OwnedFd, CaseError> {
    // SAFETY: takes a number; the descriptor is new.
    unsafe { descriptor(libc::epoll_create1(libc::EPOLL_CLOEXEC), "epoll_create1") }
}

/// A new unnamed auto-reset event, not signalled.
///
/// # Errors
/// The error of CreateEventW.
#[cfg(windows)]
pub fn event() -> Result<OwnedHandle, CaseError> {
    // SAFETY: no attributes and no name are given; the handle is new.
    unsafe { handle(CreateEventW(null(), 0, 0, null()), "CreateEventW") }
}
