//! A process for each connection, which executes a program with the connection as its standard input and output, as
//! inetd(8) does. The program is this one; its arguments make it call [`serve_stdio`].

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use platform::CaseError;
use platform::process::children;
use serving::{PAUSE, Protocol};

use crate::conversation::converse;
use crate::server::{Server, Terms};
use crate::work::Task;

/// Time that the programs may run after the timeout of their clients.
const GRACE: Duration = Duration::from_secs(1);

pub(super) fn serve(server: &Server) -> io::Result<()> {
    children::reap_by_handler()?;
    let program = std::env::current_exe()?;
    for stream in server.accept_blocking() {
        start(server, &program, stream?)?;
    }
    // The programs do not notice the stop. Programs that remain after a while end with this process, where the system
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
            // The program cannot be started for the next client either.
            Err(e) if is_of_program(&e) => return Err(e),
            Err(_) => server.terms.counters.note_no_process(),
        }
        sleep(PAUSE);
    }
}

/// Whether the error concerns the program rather than a shortage.
fn is_of_program(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied)
}

/// Serves the client on standard input and output, and ends with the process `server`: the program's main function.
///
/// # Errors
/// If standard input cannot be used.
pub fn serve_stdio(
    protocol: Protocol,
    timeout: Duration,
    task: Task,
    server: u32,
) -> Result<(), CaseError> {
    children::end_with(server);
    let terms = Terms::new(protocol, timeout, task)?;
    converse(stdin_as_stream().map_err(|e| CaseError::from_io("standard input", &e))?, &terms);
    Ok(())
}

/// The connection that is both standard input and output.
fn stdin_as_stream() -> io::Result<TcpStream> {
    use std::os::fd::AsFd;
    Ok(TcpStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}
