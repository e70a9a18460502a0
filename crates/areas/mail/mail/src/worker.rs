//! Workers that run an SMTP sink.

use std::net::SocketAddr;

use mailsink::hosted::tell_refusal;
use mailsink::{Latency, Sink, SinkOptions};
use measure::CaseError;
use platform::process::limits::raise_descriptors;
use serde::{Deserialize, Serialize};

use catalog::worker::{Task, keep_to, read_order};

/// Runs an SMTP sink. Prints its address, then its resource usage whenever it reads a line from standard input, until the end of
/// standard input.
pub const SINK: Task = Task { name: "sink", run: |order| sink(&read_order(order)?) };

/// The sink to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SinkOrder {
    /// Addresses to listen at; port 0 is any free one.
    pub listen: Vec<SocketAddr>,
    /// Delays of the sink's replies.
    pub latencies: Vec<Latency>,
    /// CPUs that the sink may use.
    pub cpus: Vec<usize>,
    /// Tracepoint that counts the sink's system calls; `None` if they are not counted.
    pub tracepoint: Option<u64>,
}

fn sink(order: &SinkOrder) -> Result<(), CaseError> {
    raise_descriptors();
    keep_to(&order.cpus)?;
    let options = SinkOptions {
        listen: order.listen.clone(),
        latencies: order.latencies.clone(),
        ..SinkOptions::default()
    };
    let sink = Sink::bind(&options).map_err(CaseError::from).inspect_err(tell_refusal)?;
    mailsink::hosted::host(sink, order.tracepoint)
        .map(drop)
        .map_err(|e| CaseError::from_io("the sink failed", &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalog::worker::worker_arguments;

    #[test]
    fn an_order_reads_back_from_its_argument() {
        let address = |text: &str| text.parse().expect("an address");
        let latency = |text: &str| text.parse().expect("a latency");
        let order = SinkOrder {
            listen: vec![address("127.0.0.1:0"), address("[::1]:25")],
            latencies: vec![latency("rcpt=1ms..2.5ms"), latency("exp:10ms")],
            cpus: Vec::new(),
            tracepoint: None,
        };
        let [_, _, text] = worker_arguments(SINK.name, &order);
        assert_eq!(read_order::<SinkOrder>(&text).expect("an order"), order);
    }
}
