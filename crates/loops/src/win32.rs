//! Operations of Windows, which the bench compares under Wine. On Linux they only have names.

use crate::operation::Operation;

#[cfg(windows)]
#[path = "windows/loops.rs"]
mod of_windows;

#[cfg(target_os = "linux")]
mod of_windows {
    use crate::setting::{Setting, Timed};

    macro_rules! elsewhere {
        ($($name:ident)*) => {
            $(pub fn $name(_: &Setting) -> Timed {
                unreachable!("a loop of Windows, which Linux does not run")
            })*
        };
    }

    elsewhere! {
        switch_to_thread set_event wait_0 write_file_nul duplicate_handle_close create_file_close
        get_file_attributes stat_missing virtual_alloc
    }
}

const OPERATIONS: &[Operation] = &[
    Operation::new("syscall/switch-to-thread", &[], of_windows::switch_to_thread),
    Operation::new("syscall/set-event", &[], of_windows::set_event),
    Operation::new("syscall/wait-0", &[], of_windows::wait_0),
    Operation::new("syscall/write-file-nul", &[], of_windows::write_file_nul),
    Operation::new("syscall/duplicate-handle-close", &[], of_windows::duplicate_handle_close),
    Operation::new("syscall/create-file-close", &[], of_windows::create_file_close),
    Operation::new("syscall/get-file-attributes", &[], of_windows::get_file_attributes),
    Operation::new("file/stat-missing", &[], of_windows::stat_missing),
    Operation::new(
        "memory/virtual-alloc",
        &[("size", "4k"), ("touch", "no")],
        of_windows::virtual_alloc,
    ),
];

/// All operations.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter()
}

/// The operation with this name.
pub fn named(name: &str) -> Option<&'static Operation> {
    all().find(|operation| operation.to_string() == name)
}
