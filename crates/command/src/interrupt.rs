//! Ctrl-C and requests to terminate.

use std::sync::atomic::AtomicBool;

use anyhow::Context;
use platform::process::inherited::stop_flag;
use platform::process::on_termination;

/// A flag that is set on Ctrl-C and on requests to terminate: the program stops after the round in progress.
///
/// # Errors
/// The error of installing the handler.
pub fn stop_on_interrupt() -> anyhow::Result<&'static AtomicBool> {
    stop_flag().context("catching Ctrl-C failed")
}

/// Calls `stop` on Ctrl-C and on requests to terminate.
///
/// # Errors
/// The error of installing the handler, or of starting its thread.
pub fn on_request_to_stop(stop: impl FnMut() + Clone + Send + 'static) -> anyhow::Result<()> {
    match platform::IS_WINDOWS {
        true => ctrlc::set_handler(stop).context("cannot handle Ctrl-C"),
        false => on_termination(stop).context("cannot handle Ctrl-C"),
    }
}
