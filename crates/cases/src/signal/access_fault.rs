use platform::forbidden_page::{ForbiddenPage, Remedy};

use crate::{Case, Param, value_of};

/// Handling an access fault, by which runtimes check pointers and implement write barriers without a comparison.
pub const CASE: Case = Case {
    operation: "One access to a page that permits none, and its handling, by a handler of SIGSEGV or a \
                vectored exception handler. With remedy=skip it is a load, after which the handler \
                continues; with remedy=permit it is a store, which is repeated after the handler has made \
                the page writable (mprotect, VirtualProtect), and then the page is protected again.",
    comparable_to: "lmbench's `lat_sig prot` returns to a store to a read-only mapping, which faults again; \
                    remedy=skip is like it. stress-ng's `sigsegv` leaves the handler by siglongjmp.",
    core_bound: true,
    params: &[Param::new("remedy", &["skip", "permit"])
        .meaning("whether the handler skips the access, or permits it")],
    run: |params, round| {
        let (remedy, calls) = match value_of(params, "remedy")? {
            // The calls are the return from the handler, and for `permit` also the two changes of the permission.
            "skip" => (Remedy::Skip, 1.0),
            _ => (Remedy::Permit, 3.0),
        };
        let page = ForbiddenPage::new(remedy)?;
        let mut value = 0u8;
        round.expect_syscalls(calls);
        super::time_handled(round, "the access", 1, ForbiddenPage::handled, || {
            value = value.wrapping_add(1);
            page.access(value)
        })
    },
    ..Case::new("signal", "access-fault")
};
