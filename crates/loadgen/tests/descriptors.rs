//! The generator with few descriptors, and with as many connections as ten thousand of them.
//!
//! Both need processes with limits of their own: this program, started anew with the name of a part. Hence no test harness.

#[cfg(unix)]
mod support;

#[cfg(not(unix))]
fn main() {
    println!("there is no limit of descriptors here: nothing to test");
}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    let argument = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    match argument.as_deref() {
        Some(tests::FEW) => tests::with_few_descriptors(),
        Some(tests::SERVER) => support::echo_server_of_thousands(),
        wanted => {
            let mut failed = 0;
            let is_wanted = |name: &str| wanted.is_none_or(|wanted| name.contains(wanted));
            for (name, test) in tests::ALL.into_iter().filter(|(name, _)| is_wanted(name)) {
                let passed = std::panic::catch_unwind(test).is_ok();
                println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
                failed += u8::from(!passed);
            }
            if failed > 0 {
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

#[cfg(unix)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::sync::Arc;
    use std::time::Duration;

    use loadgen::{ErrorKind, Generator, Load};

    use crate::support::echoing;

    /// What this program does with this argument: a part of a test.
    pub const FEW: &str = "part-with-few-descriptors";
    /// Another part.
    pub const SERVER: &str = "part-echo-server";

    pub const ALL: [(&str, fn()); 2] = [
        ("with_few_descriptors_it_goes_on_with_what_there_are", goes_on_with_few_descriptors),
        ("ten_thousand_connections", ten_thousand_connections),
    ];

    fn load(to: std::net::SocketAddr) -> Load {
        let protocol = "echo".parse().expect("a protocol");
        Load { timeout: Duration::from_secs(20), ..Load::new(to, protocol) }
    }

    /// Starts a part in a process of its own, with so many descriptors; its standard input is open until the answer
    /// is dropped.
    fn start(part: &str, descriptors: u64) -> Child {
        let program = std::env::current_exe().expect("this program");
        let script = format!("ulimit -n {descriptors} && exec \"$0\" {part}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("sh")
    }

    fn goes_on_with_few_descriptors() {
        assert!(start(FEW, 60).wait().expect("our own child").success());
    }

    pub fn with_few_descriptors() {
        let to = echoing(Arc::default());
        // Half of them are the server's, which may have none left to accept with.
        let scarce = Load { timeout: Duration::from_secs(1), ..load(to) };
        let mut generator = Generator::new(scarce).expect("a generator");
        let step = generator.step(100, Duration::from_millis(300)).expect("a step");
        assert!(step.errors.count(ErrorKind::NoDescriptor) > 0, "{step:?}");
        assert!(step.errors.total() < 100, "it pauses: {:?}", step.errors);
        assert!(step.open > 5 && step.open < 60 && step.replies > 0, "{step:?}");
    }

    fn ten_thousand_connections() {
        const MANY: usize = 10_000;
        let limit = platform::limits::raise_descriptors().expect("a limit of descriptors");
        let is_enough = limit >= MANY as u64 + 100;
        if testing::skip_unless(is_enough, &format!("only {limit} descriptors are allowed")) {
            return;
        }
        let mut server = start(SERVER, limit);
        let said = BufReader::new(server.stdout.take().expect("a pipe"));
        let port = said.lines().map_while(Result::ok).find_map(|line| {
            line.split_once("port ").and_then(|(_, port)| port.parse::<u16>().ok())
        });
        let to = ([127, 0, 0, 1], port.expect("the server's port")).into();
        let mut generator = Generator::new(load(to)).expect("a generator");
        let held = generator.hold(MANY).expect("held");
        assert_eq!((held.open, held.errors.total()), (MANY, 0), "{held:?}");
        let step = generator.step(MANY, Duration::from_secs(1)).expect("a step");
        assert_eq!((step.open, step.errors.total(), step.connections), (MANY, 0, 0), "{step:?}");
        assert!(step.replies > 0);
        drop(server.stdin.take());
        server.wait().expect("our own child");
    }
}
