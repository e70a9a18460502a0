//! A process for each connection, which executes a program with the connection as its standard input and output, as
//! inetd(8) does. The program is this one: [`answer`].

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::children;
use serving::PAUSE;

use crate::conversation::converse;
use crate::server::{Server, Terms};

/// How long the programs may run after the timeout of their clients.
const GRACE: Duration = Duration::from_secs(1);

/// The first argument of the program.
pub const ANSWER: &str = "answer-on-stdio";

pub(super) fn serve(server: &Server) -> io::Result<()> {
    children::reap_by_handler()?;
    let program = std::env::current_exe()?;
    for stream in server.accept_blocking() {
        start(server, &program, stream?)?;
    }
    // The programs do not notice the stop. Those that remain after a while end with this process, where the system
    // supports that.
    let until = Instant::now() + server.terms.timeout + GRACE;
    while children::running() > 0 && Instant::now() < until {
        sleep(PAUSE / 10);
    }
    Ok(())
}

/// Starts the program for a connection; retries while no process can be started.
fn start(server: &Server, program: &Path, stream: TcpStream) -> io::Result<()> {
    let stream = OwnedFd::from(stream);
    loop {
        let started = stream.try_clone().and_then(|output| {
            let input = stream.try_clone()?;
            Command::new(program)
                .arg(ANSWER)
                .arg(server.terms.protocol.to_string())
                .arg(server.terms.timeout.as_millis().to_string())
                .arg(std::process::id().to_string())
                .stdin(Stdio::from(input))
                .stdout(Stdio::from(output))
                .spawn()
        });
        match started {
            Ok(_reaped_by_the_handler) => {
                children::started();
                return Ok(());
            }
            // It cannot be started for the next client either.
            Err(e) if is_of_program(&e) => return Err(e),
            Err(_) => server.terms.counters.note_no_process(),
        }
        sleep(PAUSE);
    }
}

/// Whether the error concerns the program, and not a shortage.
fn is_of_program(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// Called by the program: serves the client on standard input and output, if `arguments` (without the program's name)
/// request that. Returns whether they did.
///
/// # Errors
/// `Failed` if the arguments are not those of a server.
pub fn answer(mut arguments: impl Iterator<Item = String>) -> Result<bool, CaseError> {
    if arguments.next().as_deref() != Some(ANSWER) {
        return Ok(false);
    }
    let wrong = || CaseError::Failed(format!("{ANSWER} is an internal command of servers"));
    let mut next = || arguments.next().ok_or_else(wrong);
    let protocol = next()?.parse().map_err(|_| wrong())?;
    let timeout_ms = next()?.parse().map_err(|_| wrong())?;
    children::end_with(next()?.parse().map_err(|_| wrong())?);
    let terms = Terms::new(protocol, Duration::from_millis(timeout_ms))?;
    converse(stdin_as_stream().map_err(|e| CaseError::from_io("standard input", &e))?, &terms);
    Ok(true)
}

/// Standard input and output are the same connection.
fn stdin_as_stream() -> io::Result<TcpStream> {
    use std::os::fd::AsFd;
    Ok(TcpStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}
