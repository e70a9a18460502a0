//! Generators of several threads, which carry out one load together.

use std::sync::Arc;
use std::time::Duration;

use platform::CaseError;
use platform::cpu::pin_thread;
use platform::process::spawn_scoped;

use crate::generator::{Generator, Offer};
use crate::load::Load;
use crate::peers::{FailsUnlessDone, Peers};
use crate::step::Step;
use crate::window::Window;

/// A generator of several threads, which share the connections, or the requests of an open loop. The calling thread is the
/// first; the others exist during each step.
#[derive(Debug)]
pub struct Generators {
    all: Vec<Generator>,
    /// The CPU of each thread.
    cpus: Vec<Option<usize>>,
}

/// The step of the thread with this number, which reads the server's CPU time.
type StepOf<'a> =
    dyn Fn(usize, &mut Generator, ServerCpu<'_>) -> Result<Step, CaseError> + Sync + 'a;
/// Returns the CPU time of the server so far.
type ServerCpu<'a> = &'a mut dyn FnMut() -> Option<Duration>;

impl Generators {
    /// A generator with a thread for each element of `cpus`, pinned if it is a CPU; with one thread if there are none.
    ///
    /// # Errors
    /// See [`Generator::new`].
    pub fn new(load: &Load, cpus: &[Option<usize>]) -> Result<Self, CaseError> {
        let first = Generator::new(Load { cpu: cpus.first().copied().flatten(), ..load.clone() })?;
        let others =
            cpus.iter().skip(1).map(|_| Generator::new(Load { cpu: None, ..load.clone() }));
        let all = std::iter::once(Ok(first)).chain(others).collect::<Result<_, _>>()?;
        Ok(Self { all, cpus: cpus.to_vec() })
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.all.len()
    }

    /// Runs a step like [`Generator::step_watched`]. With fewer connections than threads, some threads have none.
    ///
    /// # Errors
    /// See [`Generator::step_watched`].
    pub fn step_watched(
        &mut self,
        concurrency: usize,
        window: Window,
        server_cpu: &mut (dyn FnMut() -> Option<Duration> + Send),
    ) -> Result<Step, CaseError> {
        let used = self.all.len().min(concurrency).max(1);
        let share = |nth: usize| concurrency / used + usize::from(nth < concurrency % used);
        self.together(used, server_cpu, &|nth, one, server_cpu| {
            one.step_watched(share(nth), window, server_cpu)
        })
    }

    /// Runs an open loop like [`Generator::offer`].
    ///
    /// # Errors
    /// See [`Generator::offer`].
    pub fn offer(
        &mut self,
        offer: &Offer,
        server_cpu: &mut (dyn FnMut() -> Option<Duration> + Send),
    ) -> Result<Step, CaseError> {
        let used = self.all.len();
        let share = Offer {
            per_second: offer.per_second / used as f64,
            most: offer.most.div_ceil(used),
            ..*offer
        };
        self.together(used, server_cpu, &|_, one, server_cpu| one.offer(&share, server_cpu))
    }

    /// The first generator, for loads of one thread.
    pub fn first(&mut self) -> &mut Generator {
        &mut self.all[0]
    }

    /// Runs `step` in `used` threads; the first one reads the server's CPU time.
    fn together(
        &mut self,
        used: usize,
        server_cpu: &mut (dyn FnMut() -> Option<Duration> + Send),
        step: &StepOf<'_>,
    ) -> Result<Step, CaseError> {
        if used == 1 {
            return step(0, &mut self.all[0], &mut || server_cpu());
        }
        let (peers, cpus) = (&Arc::new(Peers::new(used)), &self.cpus);
        let run =
            &|nth: usize, one: &mut Generator, watch: &mut dyn FnMut() -> Option<Duration>| {
                let fails = FailsUnlessDone(peers);
                if let Some(cpu) = cpus.get(nth).copied().flatten() {
                    pin_thread(cpu)?;
                }
                one.join(Some(Arc::clone(peers)));
                let done = step(nth, one, watch);
                one.join(None);
                if done.is_ok() {
                    std::mem::forget(fails);
                }
                done
            };
        let [first, others @ ..] = &mut self.all[..used] else { unreachable!("at least one") };
        let steps = std::thread::scope(|scope| {
            let mut running = Vec::new();
            let mut steps = Vec::new();
            for (one, nth) in others.iter_mut().zip(1..) {
                let work = move || run(nth, one, &mut || None);
                match spawn_scoped(scope, "a thread of the load generator", work) {
                    Ok(thread) => running.push(thread),
                    Err(why) => {
                        // The threads that were created wait for this one.
                        drop(FailsUnlessDone(peers));
                        steps.push(Err(why));
                        break;
                    }
                }
            }
            if steps.is_empty() {
                steps.push(run(0, first, &mut || server_cpu()));
            }
            let ended = running.into_iter().map(|thread| match thread.join() {
                Ok(step) => step,
                Err(_) => Err(CaseError::Failed("a thread of the generator panicked".into())),
            });
            steps.extend(ended);
            steps
        });
        let steps = steps.into_iter().collect::<Result<Vec<_>, _>>()?;
        Step::merged(steps).ok_or_else(|| CaseError::Failed("no thread generated a load".into()))
    }
}
