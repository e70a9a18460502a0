//! Tests of claims as a whole: files with mistakes, verdicts on runs, and simulations.

mod files;
mod ranks;
mod runs;
mod simulation;
