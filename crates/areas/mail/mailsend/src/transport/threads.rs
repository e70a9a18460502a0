//! The transport with a thread for each connection.

use std::sync::mpsc;
use std::time::Duration;

use super::blocking::{Call, run_session};
use crate::delivery::Delivery;
use crate::dispatcher::{Assignment, Request, Work};
use crate::error::SendError;
use crate::stats::TransportStats;
use crate::transactions::TransactionBuilder;

/// Pause after a thread could not be started.
const PAUSE: Duration = Duration::from_millis(50);
/// Stack size of a connection's thread, in bytes.
const STACK: usize = 256 * 1024;

/// Carries out a delivery.
pub fn run(delivery: &Delivery) -> Result<TransportStats, SendError> {
    let options = delivery.options();
    let same = TransactionBuilder::same(options)?;
    let (ends, ended) = mpsc::channel::<Result<TransportStats, SendError>>();
    let mut all = TransportStats::default();
    let (mut open, mut made) = (0_usize, 0_usize);
    std::thread::scope(|scope| {
        loop {
            let work = delivery.dispatcher().work(options);
            match work {
                Work::Connect(assignment) => {
                    let call = Call::new(&assignment, options.source(made, assignment.address));
                    let (same, ends) = (same.clone(), ends.clone());
                    let mut kept = assignment.clone();
                    let body = move || {
                        let builder = TransactionBuilder::new(options, same);
                        // An error means that the delivery has ended, and nobody receives the result.
                        let _ = ends.send(serve(delivery, assignment, &call, builder));
                    };
                    let thread = std::thread::Builder::new().stack_size(STACK);
                    match thread.spawn_scoped(scope, body) {
                        Ok(_) => {
                            open += 1;
                            made += 1;
                        }
                        Err(_) => {
                            // A local shortage is not a failure of the server.
                            all.shortages += 1;
                            delivery.request(&mut kept, Request::Closed)?;
                            std::thread::sleep(PAUSE);
                        }
                    }
                }
                Work::Wait(wait) => delivery.wait(wait),
                Work::Done if open == 0 => break,
                Work::Done => delivery.wait(PAUSE),
            }
            while let Ok(stats) = ended.try_recv() {
                open -= 1;
                all = all.plus(stats.inspect_err(|_| delivery.signals().stop())?);
            }
        }
        Ok(all)
    })
}

/// Serves one connection.
fn serve(
    delivery: &Delivery,
    mut assignment: Assignment,
    call: &Call,
    mut builder: TransactionBuilder,
) -> Result<TransportStats, SendError> {
    let mut stats = TransportStats::default();
    let request = |request| delivery.request(&mut assignment, request);
    let is_stopped = || delivery.is_stopped();
    run_session(delivery.options(), call, &mut builder, &mut stats, is_stopped, request)?;
    Ok(stats)
}
