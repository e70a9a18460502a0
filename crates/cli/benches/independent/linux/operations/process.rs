//! Starting processes.

use std::ffi::CStr;
use std::path::Path;
use std::ptr::{null, null_mut};

use crate::linux::operation::Operation;
use crate::linux::tasks::{fork, fork_alone, wait};

const EXIT_CODE: i32 = 7;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("process/fork", &[], |setting| {
        setting.repeat(|| {
            let child = fork_alone(|| EXIT_CODE);
            assert_eq!(libc::WEXITSTATUS(wait(child)), EXIT_CODE, "the child's exit code");
        })
    }),
    Operation::new("process/posix-spawn", &[("program", "true")], |setting| {
        let program = if Path::new("/bin/true").exists() { c"/bin/true" } else { c"/usr/bin/true" };
        setting.repeat(|| assert_eq!(spawn(program, &[program]), 0, "the exit code of true"))
    }),
    Operation::new("process/fork-exec", &[("program", "true")], |setting| {
        let program = if Path::new("/bin/true").exists() { c"/bin/true" } else { c"/usr/bin/true" };
        let (arguments, environment) = ([program.as_ptr(), null()], [null()]);
        setting.repeat(|| {
            let child = fork_alone(|| {
                // SAFETY: the lists end with null.
                unsafe {
                    libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
                }
                EXIT_CODE
            });
            assert_eq!(libc::WEXITSTATUS(wait(child)), 0, "the exit code of true");
        })
    }),
    Operation::new("process/sh", &[], |setting| {
        setting.repeat(|| {
            let code = spawn(c"/bin/sh", &[c"/bin/sh", c"-c", c"true"]);
            assert_eq!(code, 0, "the exit code of the shell");
        })
    }),
    Operation::new("process/wait", &[("children", "1")], |setting| {
        fork(|| {
            loop {
                // SAFETY: the call takes no arguments.
                unsafe { libc::pause() };
            }
        });
        setting.repeat(|| {
            let mut status = 0;
            // SAFETY: the status is valid for writes.
            let ended = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG) };
            assert_eq!(ended, 0, "the child sleeps");
        })
    }),
];

/// Starts a program with these arguments and an empty environment, and returns its exit code.
fn spawn(program: &CStr, arguments: &[&CStr]) -> i32 {
    let mut list: [*mut libc::c_char; 4] = [null_mut(); 4];
    for (entry, argument) in list.iter_mut().zip(arguments) {
        *entry = argument.as_ptr().cast_mut();
    }
    let (mut child, environment) = (0, [null_mut()]);
    // SAFETY: both lists end with null, and the strings with NUL.
    let error = unsafe {
        libc::posix_spawn(
            &mut child,
            program.as_ptr(),
            null(),
            null(),
            list.as_ptr(),
            environment.as_ptr(),
        )
    };
    assert_eq!(error, 0, "posix_spawn");
    libc::WEXITSTATUS(wait(child))
}
