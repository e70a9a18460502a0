//! Tests of claims as a whole: files with mistakes, verdicts on runs, and simulations.

mod beside_load;
mod files;
mod ranks;
mod runs;
mod simulation;
