//! The store: every run and its workers' output, in one SQLite file, or in a database that several machines share.
//!
//! Several processes may read and write the store at the same time. A kill loses nothing: each round is in the file's log
//! when [`Store::add_round`] returns.
//!
//! All reading and writing is here, once, over the few operations of [`Engine`]: SQLite is one, and another crate has
//! PostgreSQL.

mod engine;
mod error;
mod figures;
mod journal;
mod location;
mod naming;
mod open;
mod opened;
mod packing;
mod reading;
mod rows;
mod sending;
mod sqlite;
mod thinning;
mod writing;

pub use engine::{Engine, PointRow, Row, Value};
pub use error::StoreError;
pub use figures::{Figures, MetricSeries, RunFigure, StoredPrediction};
pub use journal::Sent;
pub use opened::{Sending, Store};
pub use rows::{Imported, MAX_LINES_BYTES, RoundRow, RunSummary};
pub use thinning::Thinned;

/// The packed forms of the store, for the fuzz targets.
#[cfg(fuzzing)]
pub mod fuzzing {
    use super::figures::RunFigure;
    use super::packing;
    use crate::document::CaseResult;

    /// Results as text, packed and unpacked; `None` if they are refused.
    pub fn results_again(text: &str) -> Option<Vec<CaseResult>> {
        packing::unpack_results(&packing::pack(text), text.len() as u64).ok()
    }

    /// Packed results that are said to have this length as text; `None` if they are refused.
    pub fn unpacked_results(packed: &[u8], bytes: u64) -> Option<Vec<CaseResult>> {
        packing::unpack_results(packed, bytes).ok()
    }

    /// Lines of a round packed and unpacked.
    pub fn lines_again(lines: &str) -> String {
        let (packed, crc) = packing::pack_lines(lines);
        packing::unpack_lines(&packed, crc).expect("what was packed is whole")
    }

    /// Packed lines of a round with this checksum; `None` if they are damaged.
    pub fn unpacked_lines(packed: &[u8], crc: u32) -> Option<String> {
        packing::unpack_lines(packed, crc).ok()
    }

    /// The figures of a run's body packed anew, each with its identity; `None` if the body is cut short.
    pub fn repacked(mut body: &[u8]) -> Option<Vec<u8>> {
        let mut again = Vec::new();
        while !body.is_empty() {
            let (identity, record, after) = RunFigure::split(body)?;
            let (of_unpacked, figure, rest) = RunFigure::unpack(record)?;
            assert!(of_unpacked == identity && rest.is_empty());
            figure.pack(identity, &mut again);
            body = after;
        }
        Some(again)
    }
}

#[cfg(test)]
mod tests;
