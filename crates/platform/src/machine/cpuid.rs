//! The CPUID instruction of x86 processors (Intel SDM volume 2A, "CPUID";
//! AMD APM volume 3, appendix E). On other processors all results are `None`.

use raw_cpuid::{CacheType, CpuId, CpuIdReader, CpuIdResult, DatType};

use super::facts::Findings;
use crate::format::{flags_shown, stable_hash};

/// The registers EAX, EBX, ECX, EDX after one CPUID.
type Leaf = [u32; 4];

/// The leaves of a processor: a function, so that tests can supply another processor's.
pub(super) struct Cpuid<F: CpuIdReader> {
    read: F,
    known: CpuId<F>,
}

/// The processor that this process runs on.
pub(super) fn here() -> Cpuid<fn(u32, u32) -> CpuIdResult> {
    Cpuid::new(read)
}

#[cfg(target_arch = "x86_64")]
fn read(function: u32, subleaf: u32) -> CpuIdResult {
    raw_cpuid::cpuid!(function, subleaf)
}

/// Returns zeros, as a processor without the leaf does: there is no CPUID here.
#[cfg(not(target_arch = "x86_64"))]
fn read(_function: u32, _subleaf: u32) -> CpuIdResult {
    CpuIdResult { eax: 0, ebx: 0, ecx: 0, edx: 0 }
}

const HYPERVISOR: u32 = 0x4000_0000;
const EXTENDED: u32 = 0x8000_0000;

impl<F: CpuIdReader> Cpuid<F> {
    fn new(read: F) -> Self {
        Self { known: CpuId::with_cpuid_reader(read.clone()), read }
    }

    /// The registers of a leaf, which the processor may not have.
    fn registers(&self, function: u32, subleaf: u32) -> Leaf {
        let CpuIdResult { eax, ebx, ecx, edx } = self.read.cpuid2(function, subleaf);
        [eax, ebx, ecx, edx]
    }

    /// One leaf, if the processor has it: the first leaf of each range contains the number of the last.
    fn leaf(&self, function: u32, subleaf: u32) -> Option<Leaf> {
        let range = match function {
            0..HYPERVISOR => 0,
            HYPERVISOR..EXTENDED => HYPERVISOR,
            _ => EXTENDED,
        };
        let [last, ..] = self.registers(range, 0);
        (function <= last).then(|| self.registers(function, subleaf))
    }

    /// The model's name.
    pub(super) fn brand(&self) -> Option<String> {
        let name = self.known.get_processor_brand_string()?;
        let name = name.as_str().split_whitespace().collect::<Vec<_>>().join(" ");
        (!name.is_empty()).then_some(name)
    }

    /// The hypervisor's name; `none` if the processor reports that there is none.
    pub(super) fn hypervisor(&self) -> Option<String> {
        if !self.under_hypervisor()? {
            return Some("none".to_owned());
        }
        // KVM and Xen can show Hyper-V's leaves first, for Windows guests, and their own 0x100 further on.
        let signature = |base: u32| {
            let [_, ebx, ecx, edx] = self.registers(HYPERVISOR + base, 0);
            characters(&[ebx, ecx, edx])
        };
        let first = signature(0);
        let name = ["KVM", "Xen"]
            .into_iter()
            .find(|own| hypervisor_name(&signature(0x100)) == Some(own))
            .or_else(|| hypervisor_name(&first));
        match name {
            Some("Hyper-V") if self.is_hyperv_root() => Some("Hyper-V root".to_owned()),
            Some(name) => Some(name.to_owned()),
            None => (!first.is_empty()).then_some(first),
        }
    }

    /// Whether a hypervisor, known or not, schedules this processor's CPUs.
    pub(super) fn is_virtual(&self) -> bool {
        self.under_hypervisor() == Some(true) && !self.is_hyperv_root()
    }

    /// The emulator that translates this processor's instructions, if any.
    pub(super) fn emulator(&self) -> Option<String> {
        let vendor = self.vendor()?;
        let signature = match self.under_hypervisor() {
            Some(true) => {
                let [_, ebx, ecx, edx] = self.registers(HYPERVISOR, 0);
                characters(&[ebx, ecx, edx])
            }
            _ => String::new(),
        };
        let brand = self.brand().unwrap_or_default();
        let name = [vendor.as_str(), signature.as_str(), brand.split('@').next().unwrap_or("")]
            .into_iter()
            .find_map(|word| emulator_name(word.trim()));
        name.map(str::to_owned)
    }

    /// The vendor string of twelve characters.
    fn vendor(&self) -> Option<String> {
        let vendor = self.known.get_vendor_info()?;
        let vendor = vendor.as_str().trim_end_matches('\0');
        (!vendor.is_empty()).then(|| vendor.to_owned())
    }

    /// The processor's identity.
    pub(super) fn identity(&self) -> Option<Identity> {
        let vendor = self.vendor()?;
        let version = self.known.get_feature_info()?;
        let (family, model) = (version.family_id(), version.model_id());
        let (flags, hash) = self.flags();
        Some(Identity { vendor, family, model, stepping: version.stepping_id(), flags, hash })
    }

    /// The number of the processor's features, and a hash of them. The `flags` of /proc/cpuinfo differ between versions of
    /// Linux on the same processor.
    fn flags(&self) -> (u32, u64) {
        let mut words: Vec<u32> = Vec::new();
        let mut add = |function, subleaf, masks: Leaf| {
            let leaf = self.leaf(function, subleaf).unwrap_or_default();
            words.extend(leaf.iter().zip(masks).map(|(register, mask)| register & mask));
        };
        const ALL: u32 = !0;
        // Excluded are bits that depend on the system (OSXSAVE, hypervisor present, APIC enabled, OSPKE) and numbers that
        // are not flags.
        add(1, 0, [0, 0, !(1 << 27 | 1 << 31), !(1 << 9)]);
        add(7, 0, [0, ALL, !(1 << 4), ALL]);
        add(7, 1, [ALL, 0, 0, ALL]);
        add(0xd, 1, [ALL, 0, 0, 0]);
        add(EXTENDED + 1, 0, [0, 0, ALL, !(1 << 9)]);
        add(EXTENDED + 7, 0, [0, 0, 0, ALL]);
        add(EXTENDED + 8, 0, [0, ALL, 0, 0]);
        let count = words.iter().map(|word| word.count_ones()).sum();
        (count, stable_hash(words.iter().flat_map(|word| word.to_le_bytes())))
    }

    /// Whether the processor has cores of several kinds; `None` where there is no CPUID.
    pub(super) fn is_hybrid(&self) -> Option<bool> {
        self.vendor()?;
        Some(self.leaf(7, 0).is_some_and(|[_, _, _, edx]| edx & (1 << 15) != 0))
    }

    fn under_hypervisor(&self) -> Option<bool> {
        self.known.get_feature_info().map(|features| features.has_hypervisor())
    }

    /// Whether the system is the root partition of Hyper-V, which may create others (Hypervisor TLFS 2.4.3, privilege
    /// CreatePartitions), as Windows is with virtualisation-based security.
    fn is_hyperv_root(&self) -> bool {
        self.leaf(HYPERVISOR + 3, 0).is_some_and(|[_, ebx, ..]| ebx & 1 != 0)
    }

    /// The properties of the time stamp counter, as reported by the kernel and by the processor.
    pub(super) fn tsc(&self, from_kernel: &[&'static str]) -> Option<String> {
        let invariant = self.known.get_advanced_power_mgmt_info().map(|it| it.has_invariant_tsc());
        let rdtscp = self.known.get_extended_processor_and_feature_identifiers();
        let rdtscp = rdtscp.map(|features| features.has_rdtscp());
        let mut promises = from_kernel.to_vec();
        if invariant == Some(true) {
            promises.push("invariant");
        }
        if rdtscp == Some(true) {
            promises.push("rdtscp");
        }
        match (promises.is_empty(), invariant) {
            (true, None) => None,
            (true, Some(_)) => Some("plain".to_owned()),
            (false, _) => Some(promises.join(" ")),
        }
    }

    /// The time stamp counter's rate in kHz, as the hypervisor or the processor reports it.
    pub(super) fn tsc_khz(&self) -> Option<u64> {
        self.hypervisor_tsc_khz()
            .or_else(|| Some(self.known.get_tsc_info()?.tsc_frequency()? / 1000))
            .filter(|khz| *khz != 0)
    }

    /// The time stamp counter's rate in kHz from leaf 0x40000010, defined by VMware and adopted by KVM. Other hypervisors
    /// use the leaf for other purposes.
    fn hypervisor_tsc_khz(&self) -> Option<u64> {
        if !matches!(self.hypervisor()?.as_str(), "KVM" | "VMware") {
            return None;
        }
        let khz = self.known.get_hypervisor_info()?.tsc_frequency()?;
        (khz != 0).then_some(u64::from(khz))
    }

    /// The number of entries for data pages of 4 KiB in the translation lookaside buffer of that level, 1 or 2.
    pub(super) fn tlb_entries(&self, level: u32) -> Option<u64> {
        let entries = match self.vendor()?.as_str() {
            "AuthenticAMD" | "HygonGenuine" => {
                let [_, ebx, ..] = self.leaf(EXTENDED + 4 + level, 0)?;
                u64::from(if level == 1 { (ebx >> 16) & 0xff } else { (ebx >> 16) & 0xfff })
            }
            _ => self
                .tlb_entries_in_table(level)
                .or_else(|| self.tlb_entries_by_descriptor(level))?,
        };
        (entries != 0).then_some(entries)
    }

    /// The number of TLB entries in Intel's leaf 0x18, which has one subleaf for each TLB.
    fn tlb_entries_in_table(&self, level: u32) -> Option<u64> {
        let tlbs = self.known.get_deterministic_address_translation_info()?.take(16);
        let found = tlbs.filter(|tlb| {
            let kind = tlb.cache_type();
            matches!(kind, DatType::DataTLB | DatType::UnifiedTLB | DatType::LoadOnly)
                && u32::from(tlb.cache_level()) == level
                && tlb.has_4k_entries()
        });
        found.map(|tlb| u64::from(tlb.ways()) * u64::from(tlb.sets())).max()
    }

    /// The number of TLB entries by the descriptors of Intel's leaf 2 (SDM volume 2A, table 3-12), one in each byte, on
    /// processors without leaf 0x18.
    fn tlb_entries_by_descriptor(&self, level: u32) -> Option<u64> {
        const DESCRIPTORS: [(u8, u32, u64); 6] = [
            (0x03, 1, 64),
            (0xb3, 1, 128),
            (0xb4, 1, 256),
            (0xca, 2, 512),
            (0xc1, 2, 1024),
            (0xc3, 2, 1536),
        ];
        let registers = self.leaf(2, 0)?;
        let valid = registers.iter().filter(|register| *register >> 31 == 0);
        // The lowest byte of the first register is a count; no descriptor of a TLB equals it.
        let bytes: Vec<u8> = valid.flat_map(|register| register.to_le_bytes()).collect();
        DESCRIPTORS
            .iter()
            .find(|(descriptor, of_level, _)| *of_level == level && bytes.contains(descriptor))
            .map(|(_, _, entries)| *entries)
    }

    /// The size in bytes of the cache that facts call `name`, such as `l1d`.
    pub(super) fn cache_bytes(&self, name: &str) -> Option<u64> {
        let mut caches = self.known.get_cache_parameters()?.take(16);
        let cache = caches.find(|cache| match (cache.cache_type(), cache.level()) {
            (CacheType::Data, 1) => name == "l1d",
            (CacheType::Instruction, 1) => name == "l1i",
            (CacheType::Data | CacheType::Unified, 2) => name == "l2",
            (CacheType::Data | CacheType::Unified, 3) => name == "l3",
            _ => false,
        })?;
        let lines = cache.associativity() * cache.physical_line_partitions() * cache.sets();
        Some((lines * cache.coherency_line_size()) as u64)
    }
}

/// The identity of a processor, as it reports it.
#[derive(Debug, PartialEq)]
pub(super) struct Identity {
    vendor: String,
    family: u8,
    model: u8,
    stepping: u8,
    /// Number of features.
    flags: u32,
    /// Hash of the features.
    hash: u64,
}

impl Identity {
    pub(super) fn add_to(self, findings: &mut Findings) {
        findings.set("cpu_vendor", self.vendor);
        findings.set("cpu_family", u64::from(self.family));
        findings.set("cpu_model", u64::from(self.model));
        findings.set("cpu_stepping", u64::from(self.stepping));
        findings.set("cpu_flags", flags_shown(self.flags, self.hash));
    }
}

/// The emulator with the given vendor string or hypervisor signature.
fn emulator_name(signature: &str) -> Option<&'static str> {
    Some(match signature {
        "TCGTCGTCGTCG" => "QEMU (TCG)",
        "VirtualApple" => "Rosetta 2",
        "MicrosoftXTA" => "Windows on Arm (XTA)",
        "PowerVM Lx86" => "PowerVM Lx86",
        "Virtual CPU" => "Virtual PC",
        _ => return None,
    })
}

/// The characters that registers hold, lowest byte first, up to the first zero.
fn characters(registers: &[u32]) -> String {
    registers
        .iter()
        .flat_map(|register| register.to_le_bytes())
        .take_while(|byte| *byte != 0)
        .map(char::from)
        .filter(|character| character.is_ascii_graphic() || *character == ' ')
        .collect()
}

/// The hypervisor with the given signature in leaf 0x40000000.
fn hypervisor_name(signature: &str) -> Option<&'static str> {
    Some(match signature.trim() {
        "KVMKVMKVM" | "Linux KVM Hv" => "KVM",
        "VMwareVMware" => "VMware",
        "Microsoft Hv" => "Hyper-V",
        "XenVMMXenVMM" => "Xen",
        "VBoxVBoxVBox" => "VirtualBox",
        "TCGTCGTCGTCG" => "QEMU",
        "bhyve bhyve" => "bhyve",
        "prl hyperv" => "Parallels",
        "ACRNACRNACRN" => "ACRN",
        "VirtualApple" => "Rosetta",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn registers(text: &[u8; 12]) -> [u32; 3] {
        [0, 4, 8].map(|at| u32::from_le_bytes(text[at..at + 4].try_into().unwrap()))
    }

    fn signed(last: u32, text: &[u8; 12]) -> Leaf {
        let [ebx, ecx, edx] = registers(text);
        [last, ebx, ecx, edx]
    }

    fn processor(leaves: &[(u32, Leaf)]) -> Cpuid<impl CpuIdReader + use<>> {
        let leaves: HashMap<u32, Leaf> = leaves.iter().copied().collect();
        Cpuid::new(reader(move |function, subleaf| match subleaf {
            0 => leaves.get(&function).copied().unwrap_or_default(),
            _ => Leaf::default(),
        }))
    }

    fn reader(leaf: impl Fn(u32, u32) -> Leaf + Clone) -> impl CpuIdReader {
        move |function, subleaf| {
            let [eax, ebx, ecx, edx] = leaf(function, subleaf);
            CpuIdResult { eax, ebx, ecx, edx }
        }
    }

    const GUEST: (u32, Leaf) = (1, [0, 0, 1 << 31, 0]);
    const BASIC: (u32, Leaf) = (0, [0x1f, 0, 0, 0]);

    #[test]
    fn without_leaves_everything_is_unknown() {
        let none = processor(&[]);
        assert_eq!(none.brand(), None);
        assert_eq!(none.hypervisor(), None);
        assert_eq!(none.tsc_khz(), None);
        assert_eq!(none.cache_bytes("l1d"), None);
        assert_eq!(none.tsc(&[]), None);
    }

    #[test]
    fn hypervisors_are_known_by_their_signature() {
        let under = |leaves: &[(u32, Leaf)]| {
            let mut all = vec![BASIC, GUEST];
            all.extend_from_slice(leaves);
            let guest = processor(&all);
            (guest.hypervisor(), guest.is_virtual())
        };
        let named = |name: &str, is_virtual: bool| (Some(name.to_owned()), is_virtual);
        let kvm = signed(HYPERVISOR + 1, b"KVMKVMKVM\0\0\0");
        let hyperv = signed(HYPERVISOR + 6, b"Microsoft Hv");
        assert_eq!(under(&[(HYPERVISOR, kvm)]), named("KVM", true));
        assert_eq!(under(&[(HYPERVISOR, hyperv)]), named("Hyper-V", true));
        let both = [(HYPERVISOR, hyperv), (HYPERVISOR + 0x100, kvm)];
        assert_eq!(under(&both), named("KVM", true));
        let root = [(HYPERVISOR, hyperv), (HYPERVISOR + 3, [0, 1, 0, 0])];
        assert_eq!(under(&root), named("Hyper-V root", false));
        let other = [(HYPERVISOR, signed(0, b"QNXQVMBSQG\0\0"))];
        assert_eq!(under(&other), named("QNXQVMBSQG", true));
        assert_eq!(under(&[]), (None, true));
        let bare = processor(&[BASIC]);
        assert_eq!((bare.hypervisor(), bare.is_virtual()), named("none", false));
    }

    fn made_by(vendor: &[u8; 12]) -> (u32, Leaf) {
        let [ebx, edx, ecx] = registers(vendor);
        (0, [0x1f, ebx, ecx, edx])
    }

    #[test]
    fn emulators_are_known_by_their_signature() {
        let amd = made_by(b"AuthenticAMD");
        let tcg = (HYPERVISOR, signed(HYPERVISOR + 1, b"TCGTCGTCGTCG"));
        assert_eq!(processor(&[amd, GUEST, tcg]).emulator().unwrap(), "QEMU (TCG)");
        let kvm = (HYPERVISOR, signed(HYPERVISOR + 1, b"KVMKVMKVM\0\0\0"));
        assert_eq!(processor(&[amd, GUEST, kvm]).emulator(), None);
        // Without a hypervisor the leaf holds the contents of the highest basic leaf.
        assert_eq!(processor(&[amd, tcg]).emulator(), None);
        assert_eq!(processor(&[made_by(b"VirtualApple")]).emulator().unwrap(), "Rosetta 2");
        assert_eq!(processor(&[]).emulator(), None);
    }

    #[test]
    fn processors_are_identified() {
        // AMD EPYC Milan: family 25 model 1 stepping 1; Intel Emerald Rapids: 6, 207, 8 (0xc06f8).
        let amd = processor(&[made_by(b"AuthenticAMD"), (1, [0x00a0_0f11, 0, 1 << 31, 0])]);
        let intel = processor(&[made_by(b"GenuineIntel"), (1, [0x000c_06f8, 0, 0b11, 1 << 25])]);
        let milan = amd.identity().unwrap();
        assert_eq!((milan.family, milan.model, milan.stepping), (25, 1, 1));
        assert_eq!((milan.vendor.as_str(), milan.flags), ("AuthenticAMD", 0));
        let rapids = intel.identity().unwrap();
        assert_eq!((rapids.family, rapids.model, rapids.stepping), (6, 207, 8));
        assert_eq!(rapids.flags, 3);
        assert_ne!(rapids.hash, milan.hash);
        assert_eq!(processor(&[]).identity(), None);
    }

    #[test]
    fn flags_are_the_processors_not_the_systems() {
        let with = |ecx: u32, leaf_7: Leaf| {
            let all = [made_by(b"GenuineIntel"), (1, [0, 0, ecx, 0]), (7, leaf_7)];
            processor(&all).identity().unwrap()
        };
        let plain = with(1, [0; 4]);
        assert_eq!(with(1 | 1 << 27 | 1 << 31, [0, 0, 1 << 4, 0]), plain);
        assert_ne!(with(1, [0, 1, 0, 0]), plain);
        assert_ne!(with(2, [0; 4]).hash, plain.hash);
    }

    #[test]
    fn hybrid_processors_say_so() {
        let intel = made_by(b"GenuineIntel");
        assert_eq!(processor(&[intel, (7, [0, 0, 0, 1 << 15])]).is_hybrid(), Some(true));
        assert_eq!(processor(&[intel]).is_hybrid(), Some(false));
        assert_eq!(processor(&[]).is_hybrid(), None);
    }

    #[test]
    fn tsc_rate_is_read_from_hypervisor_or_crystal() {
        let kvm = signed(HYPERVISOR + 0x10, b"KVMKVMKVM\0\0\0");
        let rate = (HYPERVISOR + 0x10, [2_599_998, 0, 0, 0]);
        let guest = processor(&[BASIC, GUEST, (HYPERVISOR, kvm), rate]);
        assert_eq!(guest.tsc_khz(), Some(2_599_998));
        let crystal = processor(&[BASIC, (0x15, [2, 216, 24_000_000, 0])]);
        assert_eq!(crystal.tsc_khz(), Some(2_592_000));
        let untold = processor(&[BASIC, (0x15, [2, 216, 0, 0])]);
        assert_eq!(untold.tsc_khz(), None);
        let no_ratio = processor(&[BASIC, (0x15, [0, 0, 24_000_000, 0])]);
        assert_eq!(no_ratio.tsc_khz(), None);
    }

    #[test]
    fn tsc_promises_are_gathered() {
        let extended = (EXTENDED, [EXTENDED + 8, 0, 0, 0]);
        let plain = processor(&[extended]);
        assert_eq!(plain.tsc(&[]).unwrap(), "plain");
        assert_eq!(plain.tsc(&["constant"]).unwrap(), "constant");
        let full = processor(&[
            extended,
            (EXTENDED + 1, [0, 0, 0, 1 << 27]),
            (EXTENDED + 7, [0, 0, 0, 1 << 8]),
        ]);
        assert_eq!(full.tsc(&["nonstop"]).unwrap(), "nonstop invariant rdtscp");
    }

    #[test]
    fn caches_come_from_either_table() {
        // 12 ways x 64 bytes x 64 sets, as on Sapphire Rapids.
        let entry = [1 | 1 << 5, 11 << 22 | 63, 63, 0];
        let intel = processor(&[BASIC, (4, entry)]);
        assert_eq!(intel.cache_bytes("l1d"), Some(48 << 10));
        assert_eq!(intel.cache_bytes("l2"), None);
        let extended = (EXTENDED, [EXTENDED + 0x1f, 0, 0, 0]);
        let amd = made_by(b"AuthenticAMD");
        let amd = processor(&[amd, extended, (EXTENDED + 0x1d, entry)]);
        assert_eq!(amd.cache_bytes("l1d"), Some(48 << 10));
    }

    #[test]
    fn tlbs_come_from_the_table_of_each_vendor() {
        let vendor = |name: &[u8; 12]| {
            let [ebx, edx, ecx] = registers(name);
            (0, [0x20, ebx, ecx, edx])
        };
        let (intel, amd) = (vendor(b"GenuineIntel"), vendor(b"AuthenticAMD"));
        let extended = (EXTENDED, [EXTENDED + 8, 0, 0, 0]);
        // Cache sizes of Zen 3.
        let sizes = [
            (EXTENDED + 5, [0, 0xff40_ff40, 0, 0]),
            (EXTENDED + 6, [0, 0x8800_4200 | 0x800 << 16, 0, 0]),
        ];
        let zen = processor(&[amd, extended, sizes[0], sizes[1]]);
        assert_eq!([1, 2].map(|level| zen.tlb_entries(level)), [Some(64), Some(0x800)]);
        // TLBs of Sapphire Rapids: instructions; loads of 16 sets and 6 ways; both, of 128 sets and 16 ways.
        let (_, signature) = intel;
        let rapids = Cpuid::new(reader(move |function, subleaf| match (function, subleaf) {
            (0, _) => signature,
            (0x18, 0) => [3, 0, 0, 0],
            (0x18, 1) => [0, 8 << 16 | 1, 32, 2 | 1 << 5],
            (0x18, 2) => [0, 6 << 16 | 1, 16, 4 | 1 << 5],
            (0x18, 3) => [0, 16 << 16 | 3, 128, 3 | 2 << 5],
            _ => Leaf::default(),
        }));
        assert_eq!([1, 2].map(|level| rapids.tlb_entries(level)), [Some(96), Some(2048)]);
        let skylake = processor(&[intel, (2, [0x7603_6301, 0x00f0_b5ff, 0, 0x00c3_0000])]);
        assert_eq!([1, 2].map(|level| skylake.tlb_entries(level)), [Some(64), Some(1536)]);
        assert_eq!(processor(&[]).tlb_entries(1), None);
        assert_eq!(processor(&[intel]).tlb_entries(1), None);
    }

    #[test]
    fn brand_is_read_from_three_leaves() {
        let name = b"  Intel(R) Xeon(R) Processor @ 2.60GHz\0\0\0\0\0\0\0\0\0\0";
        let leaf = |part: usize| {
            let at = part * 16;
            let [ebx, ecx, edx] = registers(name[at + 4..at + 16].try_into().unwrap());
            let eax = u32::from_le_bytes(name[at..at + 4].try_into().unwrap());
            [eax, ebx, ecx, edx]
        };
        let leaves = [
            (EXTENDED, [EXTENDED + 8, 0, 0, 0]),
            (EXTENDED + 2, leaf(0)),
            (EXTENDED + 3, leaf(1)),
            (EXTENDED + 4, leaf(2)),
        ];
        assert_eq!(processor(&leaves).brand().unwrap(), "Intel(R) Xeon(R) Processor @ 2.60GHz");
    }
}
