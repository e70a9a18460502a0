//! Windows: GetLogicalProcessorInformationEx. CPUs are numbered within the processor group of the calling thread, as in
//! affinity masks.

use windows_sys::Win32::System::SystemInformation::{
    CacheInstruction, GROUP_AFFINITY, GetLogicalProcessorInformationEx, RelationAll,
    RelationCache as CACHE, RelationProcessorCore as CORE, RelationProcessorPackage as PACKAGE,
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
};
use windows_sys::Win32::System::Threading::{GetCurrentThread, GetThreadGroupAffinity};

use super::choice::CpuLocation;

/// The affinity masks of all parts that the system reports.
#[derive(Default)]
struct Masks {
    cores: Vec<usize>,
    sockets: Vec<usize>,
    /// The caches' levels and masks.
    caches: Vec<(u8, usize)>,
}

pub fn locations(cpus: &[usize]) -> Vec<CpuLocation> {
    let masks = own_group().map(masks_of).unwrap_or_default();
    let location = |&cpu: &usize| {
        let has_cpu = |mask: &usize| cpu < usize::BITS as usize && mask >> cpu & 1 == 1;
        let lowest_of = |masks: &[usize]| masks.iter().find(|mask| has_cpu(mask)).map(lowest);
        let caches = masks.caches.iter().filter(|(level, mask)| *level > 1 && has_cpu(mask));
        CpuLocation {
            cpu,
            core: lowest_of(&masks.cores),
            cache: caches.max_by_key(|(level, _)| *level).map(|(_, mask)| lowest(mask)),
            socket: lowest_of(&masks.sockets),
        }
    };
    cpus.iter().map(location).collect()
}

fn lowest(mask: &usize) -> usize {
    mask.trailing_zeros() as usize
}

/// The processor group of the calling thread.
fn own_group() -> Option<u16> {
    let mut affinity = GROUP_AFFINITY::default();
    // SAFETY: the pseudo handle needs no closing, and `affinity` is valid for writes.
    let done = unsafe { GetThreadGroupAffinity(GetCurrentThread(), &mut affinity) };
    (done != 0).then_some(affinity.Group)
}

/// Reads the records of `group`, each of which has its own size.
fn masks_of(group: u16) -> Masks {
    type Record = SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;

    let mut masks = Masks::default();
    let mut bytes = 0;
    // SAFETY: without a buffer, the call returns the required length.
    unsafe { GetLogicalProcessorInformationEx(RelationAll, std::ptr::null_mut(), &mut bytes) };
    // An array of words, so that the records are aligned; one record longer, so that the last one can be read as a whole.
    let mut buffer = vec![0u64; bytes as usize / 8 + size_of::<Record>() / 8 + 1];
    // SAFETY: the buffer has at least the length `bytes`.
    let done = unsafe {
        GetLogicalProcessorInformationEx(RelationAll, buffer.as_mut_ptr().cast(), &mut bytes)
    };
    if done == 0 {
        return masks;
    }
    let mut at = 0;
    while at < bytes as usize {
        // SAFETY: the system wrote a record at this offset, which is a multiple of 8, and a whole record fits into the
        // buffer behind it.
        let record = unsafe { &*buffer.as_ptr().cast::<u8>().add(at).cast::<Record>() };
        let of_group = |affinity: GROUP_AFFINITY| {
            Some(affinity.Mask).filter(|&mask| affinity.Group == group && mask != 0)
        };
        // A core is in one group. A socket or cache is in several only on machines of more than 64 CPUs; the first group is
        // taken.
        //
        // SAFETY: the relationship defines which member of the union the system wrote.
        unsafe {
            match record.Relationship {
                CORE => {
                    masks.cores.extend(of_group(record.Anonymous.Processor.GroupMask[0]));
                }
                PACKAGE => {
                    masks.sockets.extend(of_group(record.Anonymous.Processor.GroupMask[0]));
                }
                CACHE if record.Anonymous.Cache.Type != CacheInstruction => {
                    let cache = record.Anonymous.Cache;
                    let mask = of_group(cache.Anonymous.GroupMask);
                    masks.caches.extend(mask.map(|mask| (cache.Level, mask)));
                }
                _ => {}
            }
        }
        at += (record.Size as usize).max(8);
    }
    masks
}
