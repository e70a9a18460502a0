//! Parses Linux's description of a process's mappings.

/// Fields of /proc/PID/smaps for the mapping that contains an address, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    pub all: u64,
    pub huge: u64,
}

impl Resident {
    pub fn at(address: *const u8) -> Option<Self> {
        Self::read(&std::fs::read_to_string("/proc/self/smaps").ok()?, address as u64)
    }

    pub fn read(smaps: &str, address: u64) -> Option<Self> {
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
