//! Rounds of cases that fork, wait for any child, or change the handlers, the masks or the heap of their process. A process with
//! other threads must not do this, so these tests run one after the other on the main thread.

mod heap;
mod locks;
mod partners;
mod processes;
mod scale;
mod signals;

use std::process::ExitCode;

use catalog::Case;

fn main() -> ExitCode {
    let mut tests = Vec::from(testing::tests![
        heap::brk_moves_the_end_of_the_heap_and_back,
        locks::fcntl_locks_do_not_exclude_threads,
        locks::a_lock_without_effect_is_detected,
        locks::an_unshared_lock_is_detected,
        partners::a_token_that_nobody_passed_on_is_caught,
        partners::a_token_that_skips_a_task_is_caught,
        partners::a_damaged_message_is_caught,
        partners::a_damaged_or_lost_block_is_caught,
        partners::a_partner_that_fails_is_reported,
        partners::a_second_cpu_is_needed,
        partners::a_ring_visits_all_tasks,
        partners::too_long_messages_are_unsupported,
        #[cfg(target_os = "linux")]
        partners::linux::a_killed_partner_is_an_interruption,
        #[cfg(target_os = "linux")]
        partners::linux::threads_that_cannot_be_created_are_an_error,
        processes::every_case_gives_samples_and_counts_as_declared,
        processes::no_file_is_left,
        processes::further_programs_can_be_measured,
        processes::memory_reports_forks_and_spawns,
        processes::memory_forks_for_longer_while_the_host_is_counted,
        processes::children_that_end_otherwise_are_noticed,
        processes::children_that_are_not_started_are_noticed,
        processes::a_quick_run_has_a_point_of_each_case,
        #[cfg(unix)]
        processes::unix::as_many_children_are_reaped_as_operations_were_made,
        #[cfg(target_os = "linux")]
        processes::unix::too_many_children_are_unsupported,
        scale::an_operation_that_fails_is_noticed,
        scale::objects_are_shared_as_asked_for,
        scale::every_worker_operates,
        scale::cpus_too_far_apart_are_unsupported,
    ]);
    tests.extend(locks::of_cases().chain(partners::of_cases()));
    tests.extend(scale::of_cases().chain(signals::of_cases()));
    #[cfg(target_os = "linux")]
    tests.extend(partners::linux::of_killed().chain(signals::linux::of_killed()));
    testing::alone(tests)
}

/// Cases of other systems are left out.
fn of_this_system(cases: &'static [&'static Case]) -> impl Iterator<Item = &'static Case> {
    cases.iter().copied().filter(|case| case.missing_here().is_none())
}

/// Asserts that there is no child, not even one that has ended.
fn assert_no_children(of: &str) {
    #[cfg(unix)]
    {
        // SAFETY: a null pointer for the status is allowed.
        let child = unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
        assert_eq!(child, -1, "{of} left a child");
    }
    let _ = of;
}

/// The children of a process, where the kernel lists them.
#[cfg(target_os = "linux")]
mod children {
    /// Why a test that needs the list is left out, if it is.
    pub fn are_not_listed() -> Option<testing::Completion> {
        let why = "/proc does not list children";
        let lists = std::path::Path::new("/proc/thread-self/children").exists();
        testing::skip_unless(lists, why).then(|| testing::Completion::ignored_with(why))
    }

    pub fn of(pid: i32) -> Vec<u32> {
        let path = format!("/proc/{pid}/task/{pid}/children");
        let list = std::fs::read_to_string(path).unwrap_or_default();
        list.split_whitespace().filter_map(|child| child.parse().ok()).collect()
    }

    /// Whether a process has waited several times: a partner waits for each token, message or signal.
    pub fn has_answered(pid: u32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let waits = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        waits.is_some_and(|waits| waits.trim().parse().is_ok_and(|waits: u64| waits > 10))
    }
}
