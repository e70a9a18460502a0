//! Ends what a job started on its nodes.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use platform::process::spawn_scoped;

use crate::attempt::execute;
use crate::coordinate::order_of;
use crate::error::FleetError;
use crate::exchange::Halt;
use crate::failure::Failure;
use crate::journal::{Journal, Row, Step};
use crate::nodes::Node;
use crate::order::{Act, Message};
use crate::request::Request;
use crate::transport::{Attempt, Transport};

/// Ends what runs on the nodes of these rows, some at once. Returns all rows: those of nodes where it did not end have failed.
pub fn end_all(
    request: &Request,
    directory: &Path,
    transport: &dyn Transport,
    journal: Journal,
    started: Vec<Row>,
) -> Result<Vec<Row>, FleetError> {
    let (journal, next) = (Mutex::new(journal), AtomicUsize::new(0));
    let lock = || journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let first_error = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..request.effort.at_once.min(started.len()) {
            let work = || {
                while let Some(row) = started.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(node) = request.nodes.iter().find(|node| node.name == row.node) else {
                        continue;
                    };
                    let ended = end(request, transport, node);
                    let step = match ended {
                        // Why it failed stays known; nothing runs there.
                        Ok(()) if row.state == crate::State::Failed => continue,
                        Ok(()) => Step::Stopped,
                        Err(failure) => Step::Failed(Failure {
                            reason: format!("it may still run there: {}", failure.reason),
                            ..failure
                        }),
                    };
                    if let Err(error) = lock().record(&node.name, step) {
                        first_error
                            .lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner)
                            .get_or_insert(error);
                    }
                }
            };
            // A thread that cannot be started is done without: the caller's takes all nodes then.
            if spawn_scoped(scope, "a thread for a node", work).is_err() {
                work();
                break;
            }
        }
    });
    match first_error.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some(error) => {
            Err(FleetError::file(format!("the journal in {}", directory.display()))(error))
        }
        None => Ok(lock().rows(&request.nodes)),
    }
}

fn end(request: &Request, transport: &dyn Transport, node: &Node) -> Result<(), Failure> {
    if transport.end(&request.id, &node.name)? {
        return Ok(());
    }
    let mut attempt = Attempt {
        job: &request.id,
        node: &node.name,
        document: None,
        effort: &request.effort,
        record: &mut |_| Ok(()),
        is_stopped: &|| false,
    };
    let order = order_of(request, node, Act::End);
    match execute(transport, &request.binary, &order, &mut attempt, "") {
        // Without the program nothing was started there.
        Ok(None | Some(Message::Ended)) => Ok(()),
        Ok(Some(Message::Failed(failure))) | Err(Halt::Failed(failure)) => Err(failure),
        Ok(Some(_)) | Err(Halt::Stopped) => Err(Failure::passing(
            "the node gave no answer to the request to stop",
            "fleet stop again",
        )),
    }
}
