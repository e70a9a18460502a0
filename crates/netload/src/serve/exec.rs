//! A process for each connection, which starts a program anew with the connection as its standard input and
//! output, as inetd(8) does. The program is this one, with arguments that have it call [`serve_stdio`].

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::children;

use super::accepting::PAUSE;
use super::conversation::converse;
use super::{Server, Terms};
use crate::protocol::Protocol;

/// How much longer than clients may take their programs may.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn serve(server: &Server) -> io::Result<()> {
    children::reap_by_handler()?;
    let program = std::env::current_exe()?;
    for stream in server.connections() {
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
                .args(&server.stdio_arguments)
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

/// The program's part: serves the client on standard input and output, and ends with the process `server`.
///
/// # Errors
/// If standard input cannot be used.
pub fn serve_stdio(protocol: Protocol, timeout: Duration, server: u32) -> Result<(), CaseError> {
    children::end_with(server);
    let terms = Terms::new(protocol, timeout)?;
    converse(stdin_as_stream().map_err(|e| CaseError::from_io("standard input", &e))?, &terms);
    Ok(())
}

/// Input and output are one and the same connection.
fn stdin_as_stream() -> io::Result<TcpStream> {
    use std::os::fd::AsFd;
    Ok(TcpStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}
