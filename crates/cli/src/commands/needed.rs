//! New runs of the points that claims or a study need, on this system or on several in turn.

use std::collections::BTreeMap;
use std::time::Duration;

use analysis::claim::Claim;
use command::interrupt::stop_on_interrupt;
use command::measure::{NOTHING_SAVED, best_clock, how_to_resume, plan_of, watched};
use command::options::StoreArg;
use command::output::note;
use command::store::store_to_write;
use report::quantity::format_duration;
use results::Document;
use runner::{On, Options, Plan, Questions, Request};
use systems::System;

use super::further_systems;
use super::on::{measure_on, note_if_stopped, systems_of};
use crate::args::OnSystems;

/// Points that claims or a study need.
pub struct Needed<'a> {
    /// Name of their user in messages: `study locks`.
    pub by: String,
    /// Selection and precision of the points. The budget is that of all systems together.
    pub options: &'a Options,
    /// The claims that the points are needed for.
    pub claims: &'a [Claim],
    /// Questions to be answered, which decide how many rounds the points get.
    pub questions: Questions<'a>,
    /// Options to be stored with each run.
    pub asked: BTreeMap<String, String>,
    /// Names that claims use for an operating system, each with that system.
    pub roles: Vec<(String, String)>,
    /// The systems; this one if none is named.
    pub on: &'a OnSystems,
    /// Names of systems whose documents are there already.
    pub present: &'a [&'a str],
    /// Store of the runs.
    pub store: &'a StoreArg,
}

impl Needed<'_> {
    /// Measures the points in a new run on each system, and returns the runs: an empty list if no points are needed, `None` if
    /// the run was stopped. `again` gives the command that uses the run with an id.
    ///
    /// # Errors
    /// An error if the points cannot be planned, or the runs not begun or stored.
    pub fn measure(self, again: impl Fn(&str) -> String) -> anyhow::Result<Option<Vec<Document>>> {
        let systems = systems_of(self.on)?;
        let on = if systems.is_empty() { On::This } else { On::All };
        let plan = plan_of(&Options { on, ..self.options.clone() })?;
        if plan.points.is_empty() {
            return Ok(Some(Vec::new()));
        }
        self.announce(&plan, &systems);
        let stop = stop_on_interrupt()?;
        if systems.is_empty() {
            runner::check_directories(&plan)?;
        }
        let mut store = store_to_write(self.store)?;
        let (ended, took) = match systems.is_empty() {
            true => {
                let clock = best_clock()?;
                let (asked, tags) = (self.asked, BTreeMap::new());
                let questions = Some(self.questions);
                let request = Request { plan: &plan, asked, tags, clock: &clock, questions };
                let (ended, took) =
                    watched(|watch| runner::begin(request, &mut store, stop, watch))?;
                (vec![ended], took)
            }
            false => {
                let (asked, tags) = (self.asked, BTreeMap::new());
                let questions = Some(self.questions);
                measure_on(&systems, self.options, asked, tags, questions, &mut store, stop)?
            }
        };
        let first_saved = ended.iter().find(|one| one.unsaved.is_none()).unwrap_or(&ended[0]);
        let again = again(&first_saved.id);
        match (systems.is_empty(), &ended[..]) {
            (true, [one]) if one.ending == runner::Ending::Stopped => {
                let resume = how_to_resume(&one.id, self.store);
                note(&format!("stopped; to continue: {resume}, then `{again}`"));
                return Ok(None);
            }
            (false, ended) if note_if_stopped(ended) => return Ok(None),
            _ => {}
        }
        let saved = ended.iter().filter(|one| one.unsaved.is_none());
        let ids: Vec<&str> = saved.map(|one| one.id.as_str()).collect();
        let (all, took) = (ids.join(", "), format_duration(took));
        match ids.len() {
            0 => note(NOTHING_SAVED),
            1 => note(&format!("saved as run {all} in {took}; to print this again: {again}")),
            _ => note(&format!("saved as runs {all} in {took}; to print this again: {again}")),
        }
        Ok(Some(ended.iter().map(|one| one.document(&store)).collect::<Result<_, _>>()?))
    }

    /// Prints the number of measurements, their duration, the systems that claims lack, and the limits of this machine that
    /// bound the measurements.
    fn announce(&self, plan: &Plan, on: &[System]) {
        let systems = on.len();
        let points = plan.points.len();
        let points = format!("{points} point{}", if points == 1 { "" } else { "s" });
        let several = match systems {
            0 | 1 => String::new(),
            n => format!(" on {n} systems"),
        };
        let of_all = || Duration::from_millis(plan.budget_ms * systems.max(1) as u64);
        let longest = format_duration(self.options.budget.unwrap_or_else(of_all));
        note(&format!("{}: {points}{several}, up to {longest}", self.by));
        let lacking = further_systems::line(self.claims, on, &self.roles, self.on, self.present);
        lacking.iter().for_each(|line| note(line));
        let points = plan.points.iter().map(|point| (point.case.as_str(), &point.params));
        let points: Vec<_> = points.collect();
        catalog::limits(&points).iter().for_each(|line| note(line));
    }
}
