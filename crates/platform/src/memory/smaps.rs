//! Parses Linux's description of a process's mappings.

/// Fields of /proc/PID/smaps for the mapping that contains an address, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    /// Resident memory.
    pub all: u64,
    /// Part of it in transparent huge pages.
    pub huge: u64,
}

impl Resident {
    /// The mapping that contains `address` in this process; `None` if the system does not report it.
    pub fn at(address: *const u8) -> Option<Self> {
        Self::read(&std::fs::read_to_string("/proc/self/smaps").ok()?, address as u64)
    }

    fn read(smaps: &str, address: u64) -> Option<Self> {
        let mut lines = smaps.lines().skip_while(|line| !contains(line, address)).skip(1);
        let mut of_mapping = lines.by_ref().take_while(|line| range(line).is_none());
        let (mut all, mut huge) = (None, None);
        for line in &mut of_mapping {
            let bytes =
                |rest: &str| Some(rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10);
            if let Some(rest) = line.strip_prefix("Rss:") {
                all = bytes(rest);
            } else if let Some(rest) = line.strip_prefix("AnonHugePages:") {
                huge = bytes(rest);
            }
        }
        Some(Self { all: all?, huge: huge? })
    }
}

fn contains(line: &str, address: u64) -> bool {
    range(line).is_some_and(|range| range.contains(&address))
}

/// The address range at the start of a mapping's first line.
fn range(line: &str) -> Option<std::ops::Range<u64>> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_reports_is_read() {
        const SMAPS: &str = "7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \nSize:  2048 kB\nRss:  2048 kB\nAnonHugePages:  0 kB\n7f0000200000-7f0000600000 rw-p 00000000 00:00 0\nRss:   4096 kB\nAnonHugePages:   2048 kB\nVmFlags: rd wr\n7f0000700000-7f0000800000 rw-p 00000000 00:00 0\nRss: 4 kB\n";
        let at = |address| Resident::read(SMAPS, address);
        let resident = Resident { all: 4 << 20, huge: 2 << 20 };
        assert_eq!(at(0x7f00_0020_0000), Some(resident));
        assert_eq!(at(0x7f00_005f_ffff), Some(resident));
        assert_eq!(at(0x7f00_0000_0010), Some(Resident { all: 2 << 20, huge: 0 }));
        assert_eq!((at(0x7f00_0060_0000), at(0x7f00_0070_0000)), (None, None));
    }
}
