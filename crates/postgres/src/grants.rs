//! Who may read and who may add runs.

use results::StoreError;
use results::store::{Engine, Row, Value};

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
        let all = self.readers.iter().map(|role| (role, "SELECT"));
        let all = all.chain(self.writers.iter().map(|role| (role, "INSERT")));
        all.into_iter().try_for_each(|(role, right)| may(postgres, role, right))
    }
}

/// Checks that a role has a right: PostgreSQL only warns if a user grants what is not the user's own.
fn may(postgres: &Postgres, role: &str, right: &str) -> Result<(), StoreError> {
    let values = [role, right].map(Value::from);
    let sql = "SELECT has_table_privilege(?1::name, 'oscost.runs', ?2::text)";
    match postgres.query(sql, &values)?.as_slice() {
        [Row(values)] if values == &[Value::Integer(1)] => Ok(()),
        _ => Err(StoreError::Server {
            store: postgres.name().to_owned(),
            what: format!(
                "the role {role:?} was not let in: only the owner of the tables can do that; name the owner in the URL"
            ),
        }),
    }
}

/// A name of PostgreSQL, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
