//! The clock of a run, and the counting of its core's cycles.

use measure::cycles::Timebase;
use measure::survey::{ClockFacts, survey};
use results::{Store, StoreError};

use crate::machine::{Description, kind_of_cpu};

/// The clock with the cheapest reading; `None` if this system has no clock to time with.
pub fn best_clock() -> Option<ClockFacts> {
    survey().into_iter().next()
}

/// The clock named `name`, if this system still has it: the cheapest clock may differ from survey to survey.
pub(crate) fn clock_named(name: &str) -> Option<ClockFacts> {
    survey().into_iter().find(|clock| clock.name == name)
}

/// Determines how cycles are counted on `cpu`; `known` are the cycles of a multiplication, if known.
pub fn timebase_on(cpu: Option<usize>, clock: &ClockFacts, known: Option<u32>) -> Timebase {
    Timebase::on(cpu, clock.clone(), platform::machine::emulator().as_deref(), known)
}

/// Determines how cycles are counted like [`timebase_on`], with the stored cycles of a multiplication for this kind of CPU.
/// Stores new ones.
pub(crate) fn stored_timebase(
    store: &mut Store,
    cpu: Option<usize>,
    clock: &ClockFacts,
    machine: &Description,
) -> Result<Timebase, StoreError> {
    let kind = kind_of_cpu(machine);
    let known = kind
        .as_ref()
        .map(|kind| store.if_reached(store.multiplication_cycles(kind)))
        .transpose()?
        .flatten();
    let timebase = timebase_on(cpu, clock, known);
    if let (Some(kind), Some(cycles)) = (kind, timebase.latency.cycles())
        && known != Some(cycles)
    {
        store.put_multiplication_cycles(&kind, cycles)?;
    }
    Ok(timebase)
}
