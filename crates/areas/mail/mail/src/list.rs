//! The list of recipients, in many domains, of which a few are large and most are small.
//!
//! The sizes follow Zipf's law exactly (the n-th largest domain has 1/n of the recipients of the largest). The order of
//! the domains spreads each size over the whole list, so that any part of the list resembles the whole, except for
//! domains larger than that part. No random numbers are used: all trials have the same list.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use measure::{CaseError, Params};
use platform::cleanup::Directory;

use catalog::count_of;

/// The list and the routes as files, which are removed when dropped.
pub struct Post {
    /// Removes the files when dropped.
    directory: Directory,
    /// Path of the list, as CSV.
    pub list: PathBuf,
    domains: usize,
}

impl Post {
    /// Writes the list that the parameters `recipients` and `domains` describe to a new directory.
    ///
    /// # Errors
    /// `Failed` if there are fewer recipients than domains; errors of writing the list.
    pub fn write(params: &Params) -> Result<Self, CaseError> {
        let (recipients, domains) = (count_of(params, "recipients")?, count_of(params, "domains")?);
        if recipients < domains {
            let why = format!("{recipients} recipients cannot be in {domains} domains");
            return Err(CaseError::Unsupported(why));
        }
        let cannot = |e| CaseError::from_io("writing the list", &e);
        let directory = Directory::new().map_err(cannot)?;
        let list = directory.path().join(Directory::file(false, 0));
        write(&list, recipients, domains).map_err(cannot)?;
        Ok(Self { directory, list, domains })
    }

    /// Writes a file of routes that distributes the domains evenly over these sinks.
    ///
    /// # Errors
    /// Errors of writing the file.
    pub fn routes(&self, sinks: &[SocketAddr]) -> Result<PathBuf, CaseError> {
        let path = self.directory.path().join(Directory::file(false, 1));
        let written = || -> io::Result<()> {
            let mut out = BufWriter::new(File::create(&path)?);
            for (domain, sink) in (0..self.domains).zip(sinks.iter().cycle()) {
                writeln!(out, "{} {sink}", name(domain))?;
            }
            out.flush()
        };
        written().map_err(|e| CaseError::from_io("writing the routes", &e))?;
        Ok(path)
    }
}

/// Name of the n-th largest domain.
fn name(domain: usize) -> String {
    format!("d{domain}.example")
}

fn write(path: &Path, recipients: usize, domains: usize) -> io::Result<()> {
    let sizes = sizes(recipients, domains);
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "email")?;
    for domain in order(domains) {
        let name = name(domain);
        for recipient in 0..sizes[domain] {
            writeln!(out, "recipient{recipient}@{name}")?;
        }
    }
    out.flush()
}

/// Number of recipients of each domain, the largest first.
fn sizes(recipients: usize, domains: usize) -> Vec<usize> {
    let harmonic: f64 = (1..=domains).map(|rank| 1.0 / rank as f64).sum();
    // Each domain has one recipient; the others are distributed by rank, and the remainder goes to the largest domains.
    let more = recipients - domains;
    let share = |rank: usize| (more as f64 / harmonic / rank as f64) as usize;
    let mut sizes: Vec<usize> = (1..=domains).map(|rank| 1 + share(rank)).collect();
    let left = recipients.saturating_sub(sizes.iter().sum());
    sizes.iter_mut().take(left).for_each(|size| *size += 1);
    sizes
}

/// The order of domains in the list, in which domains of similar size are as far apart as possible. Steps of the golden
/// ratio divide a circle in this way for any number of steps.
fn order(domains: usize) -> Vec<usize> {
    const STEP: f64 = 0.618_033_988_749_894_9;
    let place = |domain: usize| ((domain + 1) as f64 * STEP + 0.5).fract();
    let mut order: Vec<usize> = (0..domains).collect();
    order.sort_by(|&a, &b| place(a).total_cmp(&place(b)));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domain_sizes_follow_zipfs_law_and_none_is_empty() {
        for (recipients, domains) in [(200_000, 9_113), (100, 100), (101, 7), (1, 1)] {
            let sizes = sizes(recipients, domains);
            assert_eq!((sizes.len(), sizes.iter().sum()), (domains, recipients));
            assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[domains - 1] > 0, "{sizes:?}");
        }
        let sizes = sizes(200_000, 9_113);
        for rank in [2, 10, 100] {
            let share = sizes[0] as f64 / sizes[rank - 1] as f64;
            assert!((share / rank as f64 - 1.0).abs() < 0.02, "{rank}: {share}");
        }
    }

    #[test]
    fn every_domain_is_in_the_list_once_and_sizes_are_spread_evenly() {
        let (sizes, order) = (sizes(200_000, 9_113), order(9_113));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..9_113).collect::<Vec<_>>());
        // The sixteen largest domains hold a third of all recipients; of the other domains each tenth of the list has its share.
        let small = |part: &[usize]| -> usize {
            part.iter().filter(|&&domain| domain >= 16).map(|&domain| sizes[domain]).sum()
        };
        let mean = small(&order) as f64 / 10.0;
        for part in order.chunks(9_113 / 10).take(10) {
            let share = small(part) as f64 / mean;
            assert!((0.9..1.1).contains(&share), "{share}");
        }
    }
}
