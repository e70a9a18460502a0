//! Formatting of facts.

/// Computes FNV-1a: the same 64 bits for the same bytes on every system and in every version
/// (<http://www.isthe.com/chongo/tech/comp/fnv/>).
pub(crate) fn stable_hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A number of features and a hash of their names: `103 flags, 0123456789abcdef`.
pub(crate) fn flags_shown(count: u32, hash: u64) -> String {
    format!("{count} flags, {hash:016x}")
}

/// A number of bytes in the largest binary unit that it fills: `48 KiB`, `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut unit = 0;
    let mut below = 0;
    let mut amount = bytes;
    while amount >= 1024 && unit + 1 < UNITS.len() {
        below = amount % 1024;
        amount /= 1024;
        unit += 1;
    }
    match (below * 10 + 512) / 1024 {
        0 => format!("{amount} {}", UNITS[unit]),
        10 => format!("{} {}", amount + 1, UNITS[unit]),
        tenths => format!("{amount}.{tenths} {}", UNITS[unit]),
    }
}

/// A duration in its largest units: `3 d 4 h`, `5 h 12 min`, `40 s`.
pub(crate) fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A set of CPU numbers as the kernel writes one: `0-3,8`.
#[cfg(any(target_os = "linux", windows))]
pub(crate) fn cpu_list(mut cpus: Vec<usize>) -> String {
    cpus.sort_unstable();
    cpus.dedup();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => spans.push((cpu, cpu)),
        }
    }
    spans
        .iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// A limit in CPUs, with no more than two decimals: `1.5 CPUs`.
#[cfg(any(target_os = "linux", windows))]
pub(crate) fn cpu_share(cpus: f64) -> String {
    let number = format!("{cpus:.2}");
    let number = number.trim_end_matches('0').trim_end_matches('.');
    format!("{number} {}", if number == "1" { "CPU" } else { "CPUs" })
}

/// The soft and the hard limit of a resource of this process, as the kernel reports them.
#[cfg(unix)]
macro_rules! resource_limit {
    ($resource:expr) => {{
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is valid for writes, and the resource is a constant of libc.
        let status = unsafe { libc::getrlimit($resource, &mut limit) };
        (status == 0).then(|| crate::format::limit_pair(limit.rlim_cur, limit.rlim_max))
    }};
}
#[cfg(unix)]
pub(crate) use resource_limit;

/// A soft and a hard limit as `soft/hard`.
#[cfg(unix)]
pub(crate) fn limit_pair(soft: libc::rlim_t, hard: libc::rlim_t) -> String {
    let one = |limit| match limit {
        libc::RLIM_INFINITY => "unlimited".to_owned(),
        limit => limit.to_string(),
    };
    format!("{}/{}", one(soft), one(hard))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_its_definition() {
        // Test vectors of the FNV reference implementation.
        assert_eq!(stable_hash(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(stable_hash(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(stable_hash(*b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn sizes_and_durations_are_shown_in_their_largest_unit() {
        assert_eq!(size(0), "0 bytes");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(49_152), "48 KiB");
        assert_eq!(size(491_520 * 1024), "480 MiB");
        assert_eq!(size(24_684_084 * 1024), "23.5 GiB");
        assert_eq!(size(2 * 1024 * 1024 - 1), "2 MiB");
        assert_eq!(size(u64::MAX), "16777216 TiB");
        assert_eq!(duration(40), "40 s");
        assert_eq!(duration(125), "2 min");
        assert_eq!(duration(3 * 3600 + 60), "3 h 1 min");
        assert_eq!(duration(273_601), "3 d 4 h");
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn cpu_sets_and_shares_read_like_the_kernels() {
        assert_eq!(cpu_list(vec![]), "");
        assert_eq!(cpu_list(vec![1, 0]), "0-1");
        assert_eq!(cpu_list(vec![0, 2, 3, 4, 8]), "0,2-4,8");
        assert_eq!(cpu_share(1.5), "1.5 CPUs");
        assert_eq!(cpu_share(1.0), "1 CPU");
        assert_eq!(cpu_share(10.0), "10 CPUs");
        assert_eq!(cpu_share(0.25), "0.25 CPUs");
    }
}
