use measure::Params;
use std::time::Duration;

use crate::{Case, Only, Trials, only};

/// Number of processes of a trial.
const PROCESSES: u32 = 5;

/// Starting a program on Windows.
pub const CASE: Case = Case {
    operation: "One CreateProcess of `cmd /d /c exit 7`, one WaitForSingleObject for its end, one \
                GetExitCodeProcess, and CloseHandle of process and thread; the time is the mean of \
                a trial's 5, all on one CPU.",
    comparable_to: "The counterpart of process/sh: the least program that every Windows has. \
            lmbench and the others start no programs on Windows.",
    only: Only::Windows("exists only on Windows; see process/fork and process/posix-spawn"),
    trials: Some(Trials { on_host: true, ..Trials::new(takes) }),
    run,
    ..Case::new("process", "create-process")
};

#[only(windows)]
fn run(_: &Params, round: &mut measure::Round) -> Result<(), measure::CaseError> {
    use std::io;
    use std::os::windows::ffi::OsStrExt;
    use std::ptr::null;

    use measure::trial::{Timed, TrialContext};
    use windows_sys::Win32::Foundation::{CloseHandle, WAIT_OBJECT_0};
    use windows_sys::Win32::System::Threading::{
        CREATE_NO_WINDOW, CreateProcessW, GetExitCodeProcess, INFINITE, PROCESS_INFORMATION,
        STARTUPINFOW, WaitForSingleObject,
    };

    use super::common::{EXIT_CODE, verify};

    let shell = std::env::var_os("ComSpec").unwrap_or("C:\\Windows\\System32\\cmd.exe".into());
    let shell: Vec<u16> = shell.encode_wide().chain([0]).collect();
    let arguments: Vec<u16> = format!("cmd /d /c exit {EXIT_CODE}\0").encode_utf16().collect();
    let start_and_wait = || -> io::Result<i32> {
        // Each call gets a copy, since CreateProcessW may write to it.
        let mut arguments = arguments.clone();
        // SAFETY: both texts end with a zero; the structures are all-zero, which is valid, but for the size of the
        // one, which is its own; the handles are open, and closed once.
        unsafe {
            let startup =
                STARTUPINFOW { cb: size_of::<STARTUPINFOW>() as u32, ..std::mem::zeroed() };
            let mut process: PROCESS_INFORMATION = std::mem::zeroed();
            let created = CreateProcessW(
                shell.as_ptr(),
                arguments.as_mut_ptr(),
                null(),
                null(),
                0,
                CREATE_NO_WINDOW,
                null(),
                null(),
                &startup,
                &mut process,
            );
            if created == 0 {
                return Err(io::Error::last_os_error());
            }
            let mut code = 0;
            let ended = WaitForSingleObject(process.hProcess, INFINITE) == WAIT_OBJECT_0
                && GetExitCodeProcess(process.hProcess, &mut code) != 0;
            let ended = if ended { Ok(code as i32) } else { Err(io::Error::last_os_error()) };
            CloseHandle(process.hThread);
            CloseHandle(process.hProcess);
            ended
        }
    };
    let cpu = round.order().cpus.last().copied().into_iter().collect::<Vec<_>>();
    let context = TrialContext::new(round, &cpu)?;
    let clock = context.clock();
    verify("CreateProcess", EXIT_CODE, start_and_wait())?;
    let processes = PROCESSES * round.times_as_long();
    round.trial_of(&context, || {
        let begin = clock.now();
        for _ in 0..processes {
            verify("CreateProcess", EXIT_CODE, start_and_wait())?;
        }
        let took = clock.between(begin, clock.now()).get();
        let took = Duration::from_nanos(took as u64);
        Ok(Timed { value: (), operations: u64::from(processes), took })
    })?;
    Ok(())
}

fn takes(_params: &Params) -> Duration {
    const ONE: Duration = Duration::from_millis(20);
    ONE * PROCESSES
}
