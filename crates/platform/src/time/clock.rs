//! The clocks a measurement can be timed with, and the time stamp counter.
//!
//! The clocks that are themselves *measured* are in `primitives/src/clock`.

/// A monotonic clock of the operating system.
#[derive(Debug, Clone, Copy)]
pub struct OsClock {
    /// The clock's name on this system.
    pub name: &'static str,
    /// Reads the clock, in ns.
    pub read: fn() -> u64,
}

/// The system's monotonic clocks, the ordinary one first.
pub fn os_clocks() -> &'static [OsClock] {
    os::CLOCKS
}

/// Reads the time stamp counter, after all earlier instructions are done and before any later one
/// begins; 0 on a CPU without a readable counter.
#[inline(always)]
pub fn tsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: lfence and rdtsc exist on every x86-64; they touch no memory.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        let ticks = core::arch::x86_64::_rdtsc();
        core::arch::x86_64::_mm_lfence();
        ticks
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Whether the CPU reports that its time stamp counter runs at a constant rate in all states
/// (CPUID 8000_0007h, EDX bit 8; Intel SDM vol. 3, "Invariant TSC").
pub fn tsc_is_invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        let highest = __cpuid(0x8000_0000).eax;
        highest >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(unix)]
mod os {
    use super::OsClock;

    fn read(id: libc::clockid_t) -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is a valid timespec for the call to fill.
        unsafe { libc::clock_gettime(id, &mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub const CLOCKS: &[OsClock] = &[
        OsClock { name: "monotonic", read: || read(libc::CLOCK_MONOTONIC) },
        OsClock { name: "monotonic-raw", read: || read(libc::CLOCK_MONOTONIC_RAW) },
    ];

    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    pub const CLOCKS: &[OsClock] =
        &[OsClock { name: "monotonic", read: || read(libc::CLOCK_MONOTONIC) }];
}

#[cfg(windows)]
mod os {
    use std::sync::OnceLock;

    use windows_sys::Win32::System::Performance::{
        QueryPerformanceCounter, QueryPerformanceFrequency,
    };

    use super::OsClock;

    fn frequency() -> u64 {
        static HZ: OnceLock<u64> = OnceLock::new();
        *HZ.get_or_init(|| {
            let mut hz = 0;
            // SAFETY: `hz` is a valid place; the call cannot fail since Windows XP.
            unsafe { QueryPerformanceFrequency(&mut hz) };
            (hz as u64).max(1)
        })
    }

    fn qpc() -> u64 {
        let mut ticks = 0;
        // SAFETY: `ticks` is a valid place; the call cannot fail since Windows XP.
        unsafe { QueryPerformanceCounter(&mut ticks) };
        (ticks as u128 * 1_000_000_000 / frequency() as u128) as u64
    }

    pub const CLOCKS: &[OsClock] = &[OsClock { name: "performance-counter", read: qpc }];
}
