use crate::{Case, Only, Param, Takes, only};

/// Maximum number of rules of a filter: each has two of at most 4,096 instructions.
const RULES_AT_MOST: usize = 2_000;

/// Additional cost that a seccomp filter, as containers and browsers have, adds to each system call.
pub const CASE: Case = Case {
    operation: "One getppid in a process whose system calls pass a seccomp filter of a number of rules, none of which applies \
                to it.",
    comparable_to: "Without rules there is no filter, and it is syscall/getppid. The kernel's own seccomp_benchmark compares \
                    the same with rules for the number only, for which newer kernels remember the answer.",
    only: Only::Linux("seccomp exists only on Linux"),
    core_bound: true,
    params: &[
        Param::new("rules", &["0", "10", "300"])
            .meaning("how many other system calls the filter compares the number with")
            .full(&["0", "1", "10", "30", "100", "300", "1000"])
            .takes(Takes::Size(RULES_AT_MOST as u64)),
        Param::new("reads", &["argument"])
            .meaning(
                "whether the filter reads only the call's number, so that the kernel (from \
                 Linux 5.11) may remember that the call is allowed, or also an argument, so \
                 that it is run for each call",
            )
            .full(&["number", "argument"]),
    ],
    run,
    ..Case::new("syscall", "seccomp")
};

#[only(linux)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    // The number may be 0 and is stored like a size, such as 1k.
    let rules = crate::size_of(params, "rules")?;
    let reads_argument = crate::value_of(params, "reads")? == "argument";
    if rules > 0 {
        filter::install(rules.min(RULES_AT_MOST), reads_argument)?;
    }
    // SAFETY: takes nothing and cannot fail.
    let parent = unsafe { libc::getppid() };
    round.expect_syscalls(1.0);
    // SAFETY: takes nothing and cannot fail.
    round.time_call("getppid", || unsafe { libc::getppid() } == parent)
}

#[cfg(target_os = "linux")]
mod filter {
    use measure::CaseError;

    /// The first number of the refused calls: Linux has assigned numbers below 600, and none above 1,024 outside of the x32
    /// ABI.
    const FIRST_REFUSED: u32 = 50_000;

    /// Installs a filter that compares the number of each system call of the calling thread with those of `rules` calls that no
    /// kernel has, which fail with EACCES; all others are allowed. The filter cannot be removed, and new threads and processes
    /// inherit it. With `reads_argument`, the kernel cannot decide by the number alone and runs the filter for each call.
    pub fn install(rules: usize, reads_argument: bool) -> Result<(), CaseError> {
        let mut filter = program(rules, reads_argument);
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: the calls take numbers, and a program that the kernel copies; it lives until then.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
                    == 0
        };
        if !done {
            let error = std::io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                // The kernel was built without filters.
                Some(libc::EINVAL) => CaseError::Unsupported(format!("seccomp: {error}")),
                _ => CaseError::from_io("seccomp", &error),
            });
        }
        // SAFETY: no kernel has such a call.
        let refused = unsafe { libc::syscall(FIRST_REFUSED as libc::c_long) } == -1;
        let reason = std::io::Error::last_os_error();
        match refused && reason.raw_os_error() == Some(libc::EACCES) {
            true => Ok(()),
            false => Err(CaseError::Failed(format!("the seccomp filter has no effect: {reason}"))),
        }
    }

    /// The filter's instructions, two for each rule (Linux, Documentation/userspace-api/seccomp_filter.rst).
    fn program(rules: usize, reads_argument: bool) -> Vec<libc::sock_filter> {
        const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
        const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
        const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
        let instruction = |code, k, jf| libc::sock_filter { code, jt: 0, jf, k };
        let offset = |of: usize| of as u32;
        let number = offset(std::mem::offset_of!(libc::seccomp_data, nr));
        let argument = offset(std::mem::offset_of!(libc::seccomp_data, args));
        let refuse = libc::SECCOMP_RET_ERRNO | libc::EACCES as u32;
        let mut filter = Vec::new();
        if reads_argument {
            filter.push(instruction(LOAD, argument, 0));
        }
        filter.push(instruction(LOAD, number, 0));
        for rule in 0..rules as u32 {
            filter.push(instruction(EQUAL, FIRST_REFUSED + rule, 1));
            filter.push(instruction(RETURN, refuse, 0));
        }
        filter.push(instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0));
        filter
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use measure::CaseError;

    use super::RULES_AT_MOST;
    use super::filter::install;

    /// Each filter is installed in a thread of its own, with which it ends.
    #[test]
    fn only_the_calls_with_rules_are_refused() {
        for (rules, reads_argument) in [(1, false), (300, true), (RULES_AT_MOST, false)] {
            let check = move || {
                match install(rules, reads_argument) {
                    Err(CaseError::Unsupported(reason)) => {
                        println!("no filters here: {reason}");
                        return;
                    }
                    other => assert_eq!(other, Ok(())),
                }
                let error_of = |number: usize| {
                    // SAFETY: no kernel has such a call.
                    let result = unsafe { libc::syscall(number as libc::c_long) };
                    assert_eq!(result, -1);
                    std::io::Error::last_os_error().raw_os_error()
                };
                assert_eq!(error_of(50_000 + rules - 1), Some(libc::EACCES));
                assert_eq!(error_of(50_000 + rules), Some(libc::ENOSYS));
                // SAFETY: takes nothing and cannot fail.
                assert!(unsafe { libc::getpid() } > 0);
            };
            std::thread::spawn(check).join().unwrap();
        }
    }
}
