//! `oscost agent`.

use std::io::{Read, Write};
use std::path::Path;

use command::ending::Ending;
use command::output::note;
use platform::process::init;
use runner::agent::{AgentOptions, serve};

use crate::args::Agent;

/// Name of the variable by which the environment of a kernel's first process gives the device to the coordinator.
const CHANNEL: &str = "OSCOST_CHANNEL";

/// Runs an agent, which makes the rounds that are ordered on standard input.
pub fn agent(args: &Agent) -> anyhow::Result<Ending> {
    let options = AgentOptions { one_process: args.one_process };
    if !args.init {
        serve(Box::new(std::io::stdin()), Box::new(std::io::stdout()), options)?;
        return Ok(Ending::Done);
    }
    init::set_up().iter().for_each(|problem| note(problem));
    let path = std::env::var_os(CHANNEL);
    let (input, output): (Box<dyn Read + Send>, Box<dyn Write + Send>) =
        match init::open_port(path.as_deref().map(Path::new)) {
            Some(port) => (Box::new(port.try_clone()?), Box::new(port)),
            None => (Box::new(std::io::stdin()), Box::new(std::io::stdout())),
        };
    let served = serve(input, output, options);
    init::power_off();
    served?;
    Ok(Ending::Done)
}
