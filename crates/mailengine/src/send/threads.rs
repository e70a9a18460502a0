//! A thread for each connection, started for it.

use std::sync::mpsc;
use std::time::Duration;

use super::blocking::{Call, converse};
use super::desk::{Ask, Assignment, Office, Work};
use super::maker::Maker;
use super::tally::Carried;
use super::{Plan, SendError, source};

/// When no thread can be had, none is asked for so long.
const REST: Duration = Duration::from_millis(50);
/// What a thread's calls need.
const STACK: usize = 256 * 1024;

/// Carries a delivery out.
pub fn carry(plan: &Plan, office: &Office) -> Result<Carried, SendError> {
    let same = Maker::same(plan)?;
    let (ends, ended) = mpsc::channel::<Result<Carried, SendError>>();
    let mut all = Carried::default();
    let (mut open, mut made) = (0_usize, 0_usize);
    std::thread::scope(|scope| {
        loop {
            let work = office.desk().desk().work(plan);
            match work {
                Work::Connect(assignment) => {
                    let source = source(&plan.sources, made, assignment.address);
                    let (same, ends) = (same.clone(), ends.clone());
                    let mut kept = assignment.clone();
                    let body = move || {
                        let mut carried = Carried::default();
                        let mut assignment = assignment;
                        let call = call(&assignment, source);
                        let mut maker = Maker::new(plan, same);
                        let ask = |ask| office.ask(plan, &mut assignment, ask);
                        let is_stopped = || office.is_stopped();
                        let told = converse(plan, &call, &mut maker, &mut carried, is_stopped, ask);
                        // Whoever hears it counts; at the end nobody need.
                        let _ = ends.send(told.map(|()| carried));
                    };
                    let thread = std::thread::Builder::new().stack_size(STACK);
                    match thread.spawn_scoped(scope, body) {
                        Ok(_) => {
                            open += 1;
                            made += 1;
                        }
                        Err(_) => {
                            // It is our own shortage: the server is not to blame.
                            all.shortages += 1;
                            office.ask(plan, &mut kept, Ask::Closed(None))?;
                            std::thread::sleep(REST);
                        }
                    }
                }
                Work::Wait(wait) => office.wait(wait),
                Work::Done if open == 0 => break,
                Work::Done => office.wait(REST),
            }
            while let Ok(carried) = ended.try_recv() {
                open -= 1;
                all = all.plus(carried.inspect_err(|_| office.signals().stop())?);
            }
        }
        Ok(all)
    })
}

/// What a connection needs to know.
pub fn call(assignment: &Assignment, source: Option<std::net::IpAddr>) -> Call {
    Call {
        name: assignment.name.clone(),
        address: assignment.address,
        source,
        terms: assignment.terms.clone(),
    }
}
