//! The output of results: text tables with small pictures, an HTML page, and a workbook with charts.
//!
//! Everything here is a pure function from data to text for a [`Page`]; nothing measures, stores or prints. The text ends with a
//! newline and no line of it is wider than the page, down to 60 columns. Colour is optional: words and marks carry the same
//! information.

pub mod answers;
mod cards;
mod claims;
mod compare_table;
mod comparison;
mod comparison_markdown;
mod counts_table;
mod delivery;
mod env_page;
pub mod first_seen;
mod fleet;
pub mod folded;
pub mod footnotes;
pub mod grid;
pub mod groups;
mod history;
mod html;
pub mod interval;
mod junit;
pub mod labels;
mod ladder;
mod layouts;
mod load_table;
mod markdown;
mod marks;
mod matrix;
mod measured;
pub mod names;
mod noise;
mod overview;
pub mod page;
pub mod picture;
mod plot;
pub mod quantity;
mod results_markdown;
pub mod results_table;
pub mod rows;
mod runs_table;
mod study;
mod summary;
mod sweep_table;
pub mod swept;
pub mod text;
mod undecided;
mod workbook;

pub use cards::{Card, CardMetric, CardParam, cards, cards_short};
pub use claims::{claims_junit, claims_markdown, claims_text};
pub use compare_table::compare_table;
pub use comparison::{Cell, CompareCell, CompareRow, Comparison};
pub use comparison_markdown::comparison_markdown;
pub use counts_table::counts_table;
pub use delivery::{
    DomainLine, OutcomeLine, ReplyLine, ReplyTimes, counter_table, definition_list, domain_table,
    outcome_table, reply_table, reply_time_table,
};
pub use env_page::env_page;
pub use fleet::{FleetPage, fleet_check_line, fleet_comparison_text, fleet_text, is_judged};
pub use history::{HistoryOfSeries, WatchPage, history_plot, history_text, watch_text};
pub use html::{Report, ReportRun, Standings, chart_svg, fleet_html, history_html, report_html};
pub use junit::{TestCase, TestOutcome, junit};
pub use ladder::ladder_table;
pub use layouts::{
    Conclusion, Curve, CurvePoint, Layout, Plot, below_tables, conclusions, install,
};
pub use load_table::{LoadLine, load_table};
pub use marks::is_marked;
pub use matrix::{overview_text, systems_summary};
pub use noise::{detectable_text, scores_text};
pub use page::Page;
pub use plot::plots;
pub use results_markdown::MARKDOWN;
pub use results_table::{
    area_times_line, closing_line, closing_lines, failures_lines, results_tables,
};
pub use runs_table::{RunLine, runs_table};
pub use study::{StudyLine, studies_table, study_text};
pub use summary::{first_page, summary};
pub use sweep_table::{SweepLine, sweep_table};
pub use workbook::{WorkbookError, workbook};
