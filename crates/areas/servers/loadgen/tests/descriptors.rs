//! Tests of the generator with few descriptors, and with ten thousand connections.
//!
//! Both need child processes with other limits, which execute this program, so there is no default test harness.

#[cfg(unix)]
mod support;

#[cfg(not(unix))]
fn main() {
    println!("this system has no limit of descriptors: nothing to test");
}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(tests::FEW) => tests::with_few_descriptors(),
        Some(tests::SERVER) => support::echo_server_of_thousands(),
        _ => {
            return testing::alone(testing::tests![
                tests::goes_on_with_few_descriptors,
                tests::ten_thousand_connections,
            ]);
        }
    }
    std::process::ExitCode::SUCCESS
}

#[cfg(unix)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::time::Duration;

    use loadgen::{ErrorKind, Generator, Load};

    use crate::support::echoing;

    /// The argument with which this program is a client with few descriptors.
    pub const FEW: &str = "part-with-few-descriptors";
    /// The argument with which this program is an echo server.
    pub const SERVER: &str = "part-echo-server";

    fn load(to: std::net::SocketAddr) -> Load {
        let protocol = "echo".parse().expect("a protocol");
        Load { timeout: Duration::from_secs(20), ..Load::new(to, protocol) }
    }

    /// Starts a part of a test in a child process with a limit of descriptors; its standard input is open until the result
    /// is dropped.
    fn start(part: &str, descriptors: u64) -> Child {
        let program = std::env::current_exe().expect("this program");
        let script = format!("ulimit -n {descriptors} && exec \"$0\" {part}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("sh")
    }

    pub fn goes_on_with_few_descriptors() {
        assert!(start(FEW, 60).wait().expect("a child process").success());
    }

    pub fn with_few_descriptors() {
        let to = echoing(Arc::default());
        // Half of the descriptors are the server's, which may have none left to accept with.
        let scarce = Load { timeout: Duration::from_secs(1), ..load(to) };
        let mut generator = Generator::new(scarce).expect("a generator");
        let step = generator.step(100, Duration::from_millis(300)).expect("a step");
        assert!(step.errors.count(ErrorKind::NoDescriptor) > 0, "{step:?}");
        assert!(step.errors.total() < 100, "it pauses: {:?}", step.errors);
        assert!(step.open > 5 && step.open < 60 && step.replies > 0, "{step:?}");
    }

    pub fn ten_thousand_connections() {
        const MANY: usize = 10_000;
        let limit = platform::process::limits::raise_descriptors().expect("a limit of descriptors");
        let is_enough = limit >= MANY as u64 + 100;
        if testing::skip_unless(is_enough, &format!("only {limit} descriptors are allowed")) {
            return;
        }
        let mut server = start(SERVER, limit);
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        let port = output.lines().map_while(Result::ok).find_map(|line| {
            line.split_once("port ").and_then(|(_, port)| port.parse::<u16>().ok())
        });
        let to = ([127, 0, 0, 1], port.expect("the server's port")).into();
        let mut generator = Generator::new(load(to)).expect("a generator");
        let held = generator.hold(MANY).expect("held");
        // When other tests ran, one of so many connections was reset while it was being established, and made again.
        let resets = held.errors.count(ErrorKind::Reset);
        assert_eq!((held.open, held.errors.total()), (MANY, resets), "{held:?}");
        assert!(resets <= MANY as u64 / 1_000, "{held:?}");
        let step = generator.step(MANY, Duration::from_secs(1)).expect("a step");
        assert_eq!((step.open, step.errors.total(), step.connections), (MANY, 0, 0), "{step:?}");
        assert!(step.replies > 0);
        drop(server.stdin.take());
        server.wait().expect("a child process");
    }
}
