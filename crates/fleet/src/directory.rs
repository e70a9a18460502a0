//! The coordinator's directory of jobs.

use std::path::{Path, PathBuf};

use results::Store;

use crate::error::FleetError;

/// The directory of jobs: `fleet` in the [folder of this program's data](Store::data_folder).
///
/// # Errors
/// If there is no such folder.
pub fn directory_of_jobs() -> Result<PathBuf, FleetError> {
    let data = Store::data_folder().ok_or_else(|| {
        FleetError::Usage("there is no place for jobs: set HOME or XDG_DATA_HOME".to_owned())
    })?;
    Ok(data.join("fleet"))
}

/// The directory of the job called `name`: its id or the beginning of it; the latest job without a name.
///
/// # Errors
/// If there is no such job, or more than one.
pub fn find_job(jobs: &Path, name: Option<&str>) -> Result<PathBuf, FleetError> {
    let entries = std::fs::read_dir(jobs).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut ids: Vec<String> =
        names.filter(|id| jobs.join(id).join("job.json").is_file()).collect();
    ids.sort();
    let found: Vec<&String> = match name {
        None => ids.last().into_iter().collect(),
        Some(name) if ids.iter().any(|id| id == name) => {
            ids.iter().filter(|id| *id == name).collect()
        }
        Some(name) => ids.iter().filter(|id| !name.is_empty() && id.starts_with(name)).collect(),
    };
    match (&found[..], name) {
        ([only], _) => Ok(jobs.join(only)),
        ([], None) => Err(FleetError::Usage(format!(
            "there is no job in {}: fleet run begins one",
            jobs.display()
        ))),
        ([], Some(name)) => {
            Err(FleetError::Usage(format!("there is no job {name:?} in {}", jobs.display())))
        }
        (several, _) => {
            let several: Vec<&str> = several.iter().map(|id| id.as_str()).collect();
            Err(FleetError::Usage(format!("several jobs begin like that: {}", several.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_have_ids_beginnings_and_a_latest() {
        let jobs = tempfile::tempdir().unwrap();
        let find = |name| find_job(jobs.path(), name).map_err(|error| error.to_string());
        assert!(find(None).unwrap_err().contains("there is no job in"));
        for id in ["20261126-1", "20261127-1", "20261127-12"] {
            std::fs::create_dir(jobs.path().join(id)).unwrap();
            std::fs::write(jobs.path().join(id).join("job.json"), "{}").unwrap();
        }
        // A directory whose job was never written is none.
        std::fs::create_dir(jobs.path().join("20261128-1")).unwrap();
        assert_eq!(find(None).unwrap(), jobs.path().join("20261127-12"));
        assert_eq!(find(Some("20261127-1")).unwrap(), jobs.path().join("20261127-1"));
        assert_eq!(find(Some("20261126")).unwrap(), jobs.path().join("20261126-1"));
        assert!(find(Some("20261127")).unwrap_err().contains("20261127-1, 20261127-12"));
        assert!(find(Some("x")).unwrap_err().contains("no job \"x\""));
    }
}
