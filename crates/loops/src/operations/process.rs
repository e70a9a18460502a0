//! Starting processes.

use std::ffi::{CStr, CString};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::ptr::{null, null_mut};

use crate::calls::c_path;
use crate::operation::{Operation, Params};
use crate::setting::{Setting, Timed};
use crate::tasks::{fork, fork_alone, wait};

const EXIT_CODE: i32 = 7;
const TRUE: Params = &[("program", "true")];
const STATIC: Params = &[("program", "static")];

pub const OPERATIONS: &[Operation] = &[
    Operation::new("process/fork", &[], |setting| {
        setting.repeat(|| {
            let child = fork_alone(|| EXIT_CODE);
            assert_eq!(libc::WEXITSTATUS(wait(child)), EXIT_CODE, "the child's exit code");
        })
    }),
    Operation::new("process/posix-spawn", TRUE, |setting| spawned(setting, installed_true())),
    Operation::new("process/posix-spawn", STATIC, |setting| {
        spawned(setting, &smallest_program(setting))
    }),
    Operation::new("process/fork-exec", TRUE, |setting| executed(setting, installed_true())),
    Operation::new("process/fork-exec", STATIC, |setting| {
        executed(setting, &smallest_program(setting))
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

fn installed_true() -> &'static CStr {
    if Path::new("/bin/true").exists() { c"/bin/true" } else { c"/usr/bin/true" }
}

/// Writes a static ELF file whose only system call ends it with the exit code 0.
fn smallest_program(setting: &Setting) -> CString {
    const START: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let size = HEADERS + EXIT.len() as u64;
    let mut file = Vec::from(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // The ELF header: an executable for this machine, and where it begins; one program header, no sections.
    [2, MACHINE].iter().for_each(|half: &u16| file.extend(half.to_ne_bytes()));
    file.extend(1u32.to_ne_bytes());
    [START + HEADERS, 64, 0].iter().for_each(|word| file.extend(word.to_ne_bytes()));
    file.extend(0u32.to_ne_bytes());
    [64, 56, 1, 64, 0, 0].iter().for_each(|half: &u16| file.extend(half.to_ne_bytes()));
    // The program header: the whole file is loaded, readable and executable.
    [1, 5].iter().for_each(|word: &u32| file.extend(word.to_ne_bytes()));
    [0, START, START, size, size, 4096].iter().for_each(|word| file.extend(word.to_ne_bytes()));
    file.extend(EXIT);
    let path = setting.folder().join("program");
    fs::write(&path, file).expect("space for a program");
    fs::set_permissions(&path, Permissions::from_mode(0o700)).expect("the file is this user's");
    c_path(&path)
}

/// ELF's number of this machine.
#[cfg(target_arch = "x86_64")]
const MACHINE: u16 = 62;
/// The instructions `xor %edi, %edi; mov $60, %eax; syscall`.
#[cfg(target_arch = "x86_64")]
const EXIT: &[u8] = &[0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];
/// ELF's number of this machine.
#[cfg(target_arch = "aarch64")]
const MACHINE: u16 = 183;
/// The instructions `mov x0, #0; mov x8, #93; svc #0`.
#[cfg(target_arch = "aarch64")]
const EXIT: &[u8] = &[0, 0, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 1, 0, 0, 0xd4];

fn spawned(setting: &Setting, program: &CStr) -> Timed {
    setting.repeat(|| assert_eq!(spawn(program, &[program]), 0, "the program's exit code"))
}

fn executed(setting: &Setting, program: &CStr) -> Timed {
    let (arguments, environment) = ([program.as_ptr(), null()], [null()]);
    setting.repeat(|| {
        let child = fork_alone(|| {
            // SAFETY: the lists end with null.
            unsafe {
                libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
            }
            EXIT_CODE
        });
        assert_eq!(libc::WEXITSTATUS(wait(child)), 0, "the program's exit code");
    })
}

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
