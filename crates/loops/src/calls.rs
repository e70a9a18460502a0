//! System calls for plain loops. A failure ends the process, since the loop could not measure anything.

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;

/// Ends the process with the reason of the last failed call.
#[cold]
pub fn fail(call: &str) -> ! {
    eprintln!("{call}: {}", io::Error::last_os_error());
    std::process::exit(1)
}

/// The result of a call of the C library, if it is not negative.
#[inline(always)]
pub fn must<T: Copy + Default + PartialOrd>(call: &str, result: T) -> T {
    if result < T::default() { fail(call) } else { result }
}

/// A path for a call of the C library.
pub fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).expect("paths from the system have no NUL")
}

/// Writes all of `bytes` by one call.
#[inline(always)]
pub fn write(fd: RawFd, bytes: &[u8]) {
    // SAFETY: pointer and length describe `bytes`.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    if written != bytes.len() as isize {
        fail("write");
    }
}

/// Reads as many bytes as `bytes` has by one call.
#[inline(always)]
pub fn read(fd: RawFd, bytes: &mut [u8]) {
    // SAFETY: pointer and length describe `bytes`.
    let got = unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) };
    if got != bytes.len() as isize {
        fail("read");
    }
}

/// Opens a file.
#[inline(always)]
pub fn open(path: &CString, flags: i32) -> RawFd {
    // SAFETY: the path ends with NUL.
    must("open", unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) })
}

/// Closes a descriptor.
#[inline(always)]
pub fn close(fd: RawFd) {
    // SAFETY: the caller has opened the descriptor and no longer uses it.
    must("close", unsafe { libc::close(fd) });
}

/// A new pipe: the end for reading, and the end for writing.
pub fn pipe() -> [RawFd; 2] {
    let mut ends = [0; 2];
    // SAFETY: there is space for two descriptors.
    must("pipe", unsafe { libc::pipe(ends.as_mut_ptr()) });
    ends
}

/// Two connected Unix-domain sockets of a kind, such as SOCK_STREAM.
pub fn socket_pair(kind: i32) -> [RawFd; 2] {
    let mut ends = [0; 2];
    // SAFETY: there is space for two descriptors.
    must("socketpair", unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) });
    ends
}

/// New zeroed memory of this size in pages of the usual size: private, or `shared` with children.
pub fn map(bytes: usize, shared: bool) -> *mut u8 {
    let memory = map_only(bytes, shared);
    // SAFETY: the range was mapped just now. A kernel without huge pages refuses the advice, which is not needed then.
    unsafe { libc::madvise(memory.cast(), bytes, libc::MADV_NOHUGEPAGE) };
    memory
}

/// New zeroed memory of this size without advice: private, or `shared` with children.
#[inline(always)]
pub fn map_only(bytes: usize, shared: bool) -> *mut u8 {
    let kind = if shared { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, kind | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, wherever the kernel puts it.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED { fail("mmap") } else { memory.cast() }
}

/// Unmaps memory that [`map`] mapped.
pub fn unmap(memory: *mut u8, bytes: usize) {
    // SAFETY: the caller no longer uses the memory.
    must("munmap", unsafe { libc::munmap(memory.cast(), bytes) });
}

/// The CPUs that the calling thread may use, ascending.
pub fn cpus_allowed() -> Vec<usize> {
    // SAFETY: an all-zero set is empty, the call writes no more than its size, and all numbers are below that size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        must("sched_getaffinity", libc::sched_getaffinity(0, size_of_val(&set), &mut set));
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &set)).collect()
    }
}

/// Lets the calling thread run on these CPUs only.
pub fn pin(cpus: &[usize]) {
    // SAFETY: an all-zero set is empty, and the numbers of the CPUs came from such a set.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|&cpu| libc::CPU_SET(cpu, &mut set));
        must("sched_setaffinity", libc::sched_setaffinity(0, size_of_val(&set), &set));
    }
}

/// Number of context switches of the calling thread since it began.
pub fn switches_of_thread() -> u64 {
    // SAFETY: an all-zero usage is valid, and the call overwrites it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        must("getrusage", libc::getrusage(libc::RUSAGE_THREAD, &mut usage));
        usage
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}
