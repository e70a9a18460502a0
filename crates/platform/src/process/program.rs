//! Programs that a measurement executes in child processes, and their exit status.

mod tiny;

use std::ffi::{CStr, CString};
use std::io;
use std::time::Duration;

use libc::{c_char, c_int, pid_t};

use crate::CaseError;
use tiny::TinyFile;

/// The exit code of a child that could not execute its program, as in shells.
pub const NOT_EXECUTED: c_int = 127;

/// A program with its arguments, in the form that execve(2) takes. Its environment is empty, so that a figure does not
/// depend on the user's.
pub struct Program {
    arguments: Vec<CString>,
    /// Pointers to `arguments`, ending with null.
    pointers: Vec<*mut c_char>,
    exit_code: c_int,
    /// The program's temporary file, if it has one.
    _file: Option<TinyFile>,
}

/// The empty environment.
struct NoVariables([*mut c_char; 1]);

// SAFETY: a null pointer that nothing writes.
unsafe impl Sync for NoVariables {}

static NO_VARIABLES: NoVariables = NoVariables([std::ptr::null_mut()]);

impl Program {
    /// The smallest program: a static ELF file whose only system call exits, with an unusual exit code.
    ///
    /// # Errors
    /// `Unsupported` on systems and processors for which there is no such file, and where temporary files cannot be
    /// executed; `Failed` if the file cannot be written.
    pub fn tiny() -> Result<Self, CaseError> {
        let file = TinyFile::create()?;
        let path = file.path().to_owned();
        let program = Self::new(vec![path], tiny::EXIT_CODE, Some(file));
        program.try_it()?;
        Ok(program)
    }

    /// Executes the program once. A child that another thread has just forked may have the file open for writing until it
    /// executes its own program, and meanwhile execve(2) fails.
    fn try_it(&self) -> Result<(), CaseError> {
        const TIMES: u32 = 1_000;
        let mut started = self.spawn();
        for _ in 1..TIMES {
            if !started.as_ref().is_err_and(|e| e.raw_os_error() == Some(libc::ETXTBSY)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
            started = self.spawn();
        }
        let what = "executing a temporary file";
        let code = started.and_then(reap).map_err(|e| CaseError::from_io(what, &e))?;
        if code == self.exit_code {
            return Ok(());
        }
        let expected = self.exit_code;
        Err(CaseError::Failed(format!("{what}: exit code {code} instead of {expected}")))
    }

    /// The first of `paths` that exists, with `further` arguments; its exit code must be 0.
    ///
    /// # Errors
    /// `Unsupported` if none of the files exists.
    pub fn installed(paths: &[&CStr], further: &[&CStr]) -> Result<Self, CaseError> {
        // SAFETY: the paths end with a null byte.
        let is_executable = |path: &&&CStr| unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 };
        let Some(path) = paths.iter().find(is_executable) else {
            let names: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
            return Err(CaseError::Unsupported(format!("there is no {}", names.join(" or "))));
        };
        let arguments = std::iter::once(path).chain(further).map(|&text| text.to_owned());
        Ok(Self::new(arguments.collect(), 0, None))
    }

    /// The installed `true`.
    ///
    /// # Errors
    /// See [`Program::installed`].
    pub fn installed_true() -> Result<Self, CaseError> {
        Self::installed(&[c"/bin/true", c"/usr/bin/true"], &[])
    }

    fn new(arguments: Vec<CString>, exit_code: c_int, file: Option<TinyFile>) -> Self {
        let pointers = arguments.iter().map(|text| text.as_ptr().cast_mut());
        let pointers = pointers.chain([std::ptr::null_mut()]).collect();
        Self { arguments, pointers, exit_code, _file: file }
    }

    /// Path of the program.
    pub fn path(&self) -> *const c_char {
        self.arguments[0].as_ptr()
    }

    /// Arguments: the path first, null last.
    pub fn arguments(&self) -> *const *mut c_char {
        self.pointers.as_ptr()
    }

    /// The environment, which is empty.
    pub fn environment(&self) -> *const *mut c_char {
        NO_VARIABLES.0.as_ptr()
    }

    /// The exit code of a successful run.
    pub fn exit_code(&self) -> c_int {
        self.exit_code
    }

    /// Executes this program in the calling process, a child, which exits with [`NOT_EXECUTED`] if that fails.
    ///
    /// # Safety
    /// In a child that shares memory with its parent (vfork(2)), the parent must not run meanwhile.
    pub unsafe fn execute(&self) -> ! {
        // SAFETY: path, arguments and environment end as execve expects; both calls are async-signal-safe.
        unsafe {
            libc::execve(self.path(), self.arguments().cast(), self.environment().cast());
            libc::_exit(NOT_EXECUTED)
        }
    }

    /// Starts the program with posix_spawn(3), without attributes; returns the child's pid.
    ///
    /// # Errors
    /// Errors of posix_spawn.
    pub fn spawn(&self) -> io::Result<pid_t> {
        let mut pid = 0;
        // SAFETY: path, arguments and environment end as posix_spawn expects; no actions, no attributes.
        let error = unsafe {
            libc::posix_spawn(
                &mut pid,
                self.path(),
                std::ptr::null(),
                std::ptr::null(),
                self.arguments(),
                self.environment(),
            )
        };
        if error == 0 { Ok(pid) } else { Err(io::Error::from_raw_os_error(error)) }
    }
}

/// Waits for the child `pid`; returns its exit code.
///
/// # Errors
/// Errors of waitpid(2), and the death of the child by a signal.
#[inline]
pub fn reap(pid: pid_t) -> io::Result<c_int> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid.
        if unsafe { libc::waitpid(pid, &mut status, 0) } == pid {
            return exit_code(status);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn exit_code(status: c_int) -> io::Result<c_int> {
    match libc::WIFEXITED(status) {
        true => Ok(libc::WEXITSTATUS(status)),
        false => {
            let signal = libc::WTERMSIG(status);
            Err(io::Error::other(format!("the child was killed by signal {signal}")))
        }
    }
}

#[cfg(target_os = "linux")]
pub use vfork::ChildStack;

#[cfg(target_os = "linux")]
mod vfork {
    use std::io;

    use libc::{c_int, c_void, pid_t};

    use super::Program;

    /// Size of the stack, more than the C library's execve(2) needs.
    const STACK_UNITS: usize = 32 << 10 >> 4;

    /// The stack of a child that shares its parent's memory until it executes a program. A Rust function must not return
    /// twice on one stack, as vfork(2) does.
    pub struct ChildStack(Box<[u128]>);

    impl ChildStack {
        /// An unused stack.
        #[allow(clippy::new_without_default, reason = "a stack is no value")]
        pub fn new() -> Self {
            Self(vec![0; STACK_UNITS].into_boxed_slice())
        }

        /// Starts `program` like vfork(2) and execve(2): the child shares all memory, and this thread waits until the
        /// program is executed. Returns the child's pid.
        ///
        /// # Errors
        /// Errors of clone(2).
        pub fn start(&mut self, program: &Program) -> io::Result<pid_t> {
            extern "C" fn child(program: *mut c_void) -> c_int {
                // SAFETY: the parent, which waits meanwhile, keeps the program.
                unsafe { (*program.cast::<Program>()).execute() }
            }
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let argument = std::ptr::from_ref(program).cast_mut().cast();
            // SAFETY: the stack grows down from its end, is aligned, and nothing else uses it until the child has left
            // it, because the call returns only then.
            let pid = unsafe {
                libc::clone(child, self.0.as_mut_ptr_range().end.cast(), flags, argument)
            };
            if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_tiny_program_runs_and_its_file_goes() {
        let program = match Program::tiny() {
            Ok(program) => program,
            Err(CaseError::Unsupported(reason)) => return println!("{reason}"),
            Err(case_error) => panic!("{case_error}"),
        };
        let path = std::path::PathBuf::from(program.arguments[0].to_str().unwrap());
        assert!(std::fs::metadata(&path).unwrap().len() < 300);
        assert_ne!(program.exit_code(), 0);
        assert_eq!(reap(program.spawn().unwrap()).unwrap(), program.exit_code());
        let mut stack = ChildStack::new();
        for _ in 0..3 {
            let pid = stack.start(&program).unwrap();
            assert_eq!(reap(pid).unwrap(), program.exit_code());
        }
        drop(program);
        assert!(!path.exists());
    }

    #[test]
    fn what_cannot_be_executed_is_no_success() {
        let missing = Program::new(vec![c"/oscost-has-no-such-file".to_owned()], 0, None);
        assert!(missing.spawn().is_err());
        #[cfg(target_os = "linux")]
        assert_eq!(reap(ChildStack::new().start(&missing).unwrap()).unwrap(), NOT_EXECUTED);
        let unsupported = Program::installed(&[c"/oscost-has-no-such-file"], &[]);
        assert!(matches!(unsupported, Err(CaseError::Unsupported(_))));
    }

    #[test]
    fn a_child_that_was_killed_has_no_exit_code() {
        let sleeper = Program::installed(&[c"/bin/sleep", c"/usr/bin/sleep"], &[c"60"]).unwrap();
        let pid = sleeper.spawn().unwrap();
        // SAFETY: the child was not waited for, so that the pid is its own.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        assert!(reap(pid).unwrap_err().to_string().ends_with("signal 9"));
        assert!(reap(pid).is_err(), "it was reaped before");
    }

    #[test]
    fn arguments_are_passed() {
        let shell = Program::installed(&[c"/bin/sh"], &[c"-c", c"test $0 = 5", c"5"]).unwrap();
        assert_eq!(reap(shell.spawn().unwrap()).unwrap(), 0);
    }
}
