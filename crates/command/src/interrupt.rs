//! Ctrl-C and requests to terminate.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use platform::process::on_termination;

/// A flag that is set on Ctrl-C and on requests to terminate: the program stops after the round in progress.
///
/// # Errors
/// The error of installing the handler.
pub fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    ctrlc::set_handler(move || set.store(true, Ordering::Relaxed))
        .context("catching Ctrl-C failed")?;
    Ok(stop)
}

/// Calls `stop` on Ctrl-C and on requests to terminate.
///
/// # Errors
/// The error of installing the handler.
pub fn on_request_to_stop(stop: impl FnMut() + Clone + Send + 'static) -> anyhow::Result<()> {
    if on_termination(stop.clone()).is_err() {
        ctrlc::set_handler(stop).context("cannot handle Ctrl-C")?;
    }
    Ok(())
}
