//! Adapts the systems that `--on` names to the coordinator's interface.

use std::io::{Read, Write};
use std::time::Duration;

use platform::process::control_group::HostCounts;
use systems::{Placement, Running, System};

use super::host::{Started, Starts};

impl Starts for System {
    fn name(&self) -> &str {
        System::name(self)
    }

    fn launcher(&self) -> Option<&str> {
        Some(System::launcher(self))
    }

    fn placement(&self) -> Option<Placement> {
        System::placement(self)
    }

    fn cpus_of<'a>(&'a self, cpus: &'a [usize]) -> &'a [usize] {
        System::cpus_of(self, cpus)
    }

    fn slow_down(&self) -> f64 {
        System::slow_down(self)
    }

    fn start_timeout(&self) -> Option<Duration> {
        Some(self.boot_timeout())
    }

    fn start(&self, cpus: &[usize], counted: bool) -> Result<Box<dyn Started>, String> {
        match System::start(self, cpus, counted) {
            Ok(running) => Ok(Box::new(running)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Started for Running {
    fn take_input(&mut self) -> Box<dyn Write + Send> {
        Running::take_input(self)
    }

    fn take_output(&mut self) -> Box<dyn Read + Send> {
        Running::take_output(self)
    }

    fn last_words(&mut self) -> String {
        Running::last_words(self)
    }

    fn is_counted(&self) -> Result<(), String> {
        Running::is_counted(self)
    }

    fn host_counts(&mut self) -> Result<HostCounts, String> {
        Running::host_counts(self)
    }

    fn end_counting(&mut self) {
        Running::end_counting(self);
    }

    fn end(&mut self) {
        Running::end(self);
    }
}
