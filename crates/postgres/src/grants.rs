//! Who may read and who may add runs.

use results::StoreError;

use crate::connection::{Postgres, SCHEMA};

/// Roles that the owner lets use the store. They must exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants {
    /// Roles that may add runs, and change their own.
    pub writers: Vec<String>,
    /// Roles that may read.
    pub readers: Vec<String>,
}

impl Grants {
    pub(crate) fn apply(&self, postgres: &Postgres) -> Result<(), StoreError> {
        for role in self.readers.iter().chain(&self.writers) {
            let role = quoted(role);
            postgres.batch(&format!(
                "GRANT USAGE ON SCHEMA {SCHEMA} TO {role};
                 GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {role}"
            ))?;
        }
        for role in &self.writers {
            let role = quoted(role);
            postgres.batch(&format!(
                "GRANT INSERT, UPDATE, DELETE
                     ON runs, tags, packed_rounds, packed_results, packed_figures, points, multiplication_cycles, accepted_events
                     TO {role};
                 GRANT INSERT ON texts, quiet_levels TO {role}"
            ))?;
        }
        Ok(())
    }
}

/// A name of PostgreSQL, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
