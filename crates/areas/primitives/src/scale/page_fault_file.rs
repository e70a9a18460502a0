use super::on_an_object;
use crate::{Case, only};

/// Touching pages of a cached file that several workers map.
pub const CASE: Case = Case {
    operation: "One first write to a page of a temporary file that is mapped shared and in memory already, with a share of \
                one mmap and one munmap of 64 pages.",
    comparable_to: "will-it-scale's page_fault3 does the same with 128 MiB and a file for each task.",
    run,
    ..on_an_object("page-fault-file").on_unix()
};

#[only(unix)]
fn run(params: &measure::Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use super::scale;
    use platform::memory::page_size;
    use platform::memory::pages::Pages;

    use crate::syscall::unnamed_file;

    let bytes = super::PAGES * page_size();
    round.operations_per_call(super::PAGES as u64);
    let make = |_| unnamed_file::containing(&vec![1; bytes]);
    let page = page_size();
    scale(params, round, "mmap", make, |file| {
        Pages::of_file(file, bytes).is_ok_and(|pages| {
            pages.touch(page);
            pages.free()
        })
    })
}
