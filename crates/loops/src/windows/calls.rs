//! System calls for plain loops of Windows. A failure ends the process, since the loop could not measure anything.

use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessAffinityMask, SetThreadAffinityMask,
};

/// Ends the process with the reason of the last call if that has failed.
#[inline(always)]
pub fn must(call: &str, done: bool) {
    #[cold]
    fn fail(call: &str) -> ! {
        panic!("{call}: {}", std::io::Error::last_os_error())
    }
    if !done {
        fail(call);
    }
}

/// The CPUs that this process may use, ascending.
pub fn cpus_allowed() -> Vec<usize> {
    let (mut own, mut all) = (0usize, 0usize);
    // SAFETY: the pseudo handle needs no closing, and both masks are valid places.
    let done = unsafe { GetProcessAffinityMask(GetCurrentProcess(), &mut own, &mut all) };
    must("GetProcessAffinityMask", done != 0);
    (0..usize::BITS as usize).filter(|cpu| own >> cpu & 1 == 1).collect()
}

/// Lets the calling thread run on these CPUs only.
pub fn pin(cpus: &[usize]) {
    let mask = cpus.iter().fold(0, |mask, cpu| mask | 1 << cpu);
    // SAFETY: takes a pseudo handle and a number.
    must("SetThreadAffinityMask", unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) } != 0);
}

/// Windows counts no context switches of a thread for it.
pub fn switches_of_thread() -> u64 {
    0
}
