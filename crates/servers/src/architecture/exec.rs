//! A process for each connection, which starts a program anew with the connection as its standard input and
//! output, as inetd(8) does. The program is this one: [`answer`].

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::children;

use crate::accepting::{Blocking, PAUSE};
use crate::conversation::converse;
use crate::server::{Server, Terms};

/// How much longer than clients may take their programs may.
const GRACE: Duration = Duration::from_secs(1);

/// What the program is called with, before anything else that it would look at.
pub const ANSWER: &str = "answer-on-stdio";

pub(super) fn serve(server: &Server) -> io::Result<()> {
    children::reap_by_handler()?;
    let program = std::env::current_exe()?;
    for stream in Blocking::new(server) {
        start(server, &program, stream?)?;
    }
    // The programs do not know that the server stops. What remains after a while ends with this process, where
    // the system can do that.
    let until = Instant::now() + server.terms.timeout + GRACE;
    while children::running() > 0 && Instant::now() < until {
        sleep(PAUSE / 10);
    }
    Ok(())
}

/// Starts the program for a connection; where no process is to be had, the client waits for it.
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
            // It will not start for the next client either.
            Err(e) if is_of_program(&e) => return Err(e),
            Err(_) => server.terms.counters.note_no_process(),
        }
        sleep(PAUSE);
    }
}

/// Whether the program cannot be started by us, however much there is of all else.
fn is_of_program(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// The program's part: talks with the client on standard input and output, if `arguments` (without the
/// program's own name) ask for that. Says whether they did.
///
/// # Errors
/// `Failed` where the arguments are not those that a server gives.
pub fn answer(mut arguments: impl Iterator<Item = String>) -> Result<bool, CaseError> {
    if arguments.next().as_deref() != Some(ANSWER) {
        return Ok(false);
    }
    let wrong =
        || CaseError::Failed(format!("{ANSWER} is for servers, which know what to give it"));
    let mut next = || arguments.next().ok_or_else(wrong);
    let protocol = next()?.parse().map_err(|_| wrong())?;
    let timeout_ms = next()?.parse().map_err(|_| wrong())?;
    children::end_with(next()?.parse().map_err(|_| wrong())?);
    let terms = Terms::new(protocol, Duration::from_millis(timeout_ms))?;
    converse(stdin_as_stream().map_err(|e| CaseError::from_io("standard input", &e))?, &terms);
    Ok(true)
}

/// Input and output are one and the same connection.
fn stdin_as_stream() -> io::Result<TcpStream> {
    use std::os::fd::AsFd;
    Ok(TcpStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}
