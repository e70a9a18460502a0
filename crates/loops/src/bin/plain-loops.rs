//! Runs plain loops.
//!
//!     plain-loops OPERATION [--ms N] [--warm-up-ms N] [--awake]
//!     plain-loops agent
//!
//! The first prints the result of one loop (`loops::answer`); the second reads requests from standard input, a line each, and
//! prints a line for each (`loops::agent`).

use std::process::ExitCode;

#[cfg(windows)]
use loops::agent::serve;
#[cfg(target_os = "linux")]
use loops::init::serve;

#[cfg(any(target_os = "linux", windows))]
fn run(arguments: &[String]) -> Result<(), String> {
    use std::time::Duration;

    let usage = || "usage: plain-loops agent | OPERATION [--ms N] [--warm-up-ms N] [--awake]";
    let mut ask = loops::Ask {
        operation: arguments.first().ok_or_else(usage)?.clone(),
        length: Duration::from_millis(500),
        warm_up: Duration::from_millis(50),
        awake: false,
    };
    if ask.operation == "agent" {
        let served = serve(std::io::stdin(), std::io::stdout());
        return served.map_err(|error| error.to_string());
    }
    let mut rest = arguments[1..].iter();
    while let Some(option) = rest.next() {
        let mut time = || {
            let ms = rest.next().and_then(|ms| ms.parse().ok());
            ms.map(Duration::from_millis).ok_or_else(usage)
        };
        match option.as_str() {
            "--ms" => ask.length = time()?,
            "--warm-up-ms" => ask.warm_up = time()?,
            "--awake" => ask.awake = true,
            _ => return Err(usage().to_owned()),
        }
    }
    let program = loops::agent::this_program().map_err(|error| error.to_string())?;
    let answer = loops::run(&ask, program).map_err(|error| format!("{error:#}"))?;
    println!("{answer}");
    Ok(())
}

#[cfg(not(any(target_os = "linux", windows)))]
fn run(_: &[String]) -> Result<(), String> {
    Err("the plain loops are calls of Linux and Windows".to_owned())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("plain-loops: {reason}");
            ExitCode::FAILURE
        }
    }
}
