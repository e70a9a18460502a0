//! Files of other tools. The first octet says of which tool; the files of a folder have a NUL between them.
#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use libfuzzer_sys::fuzz_target;
use results::{TOOL_FORMATS, parse_document, to_json};

/// A folder in criterion's layout.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("oscost-fuzz-{}", std::process::id()));
    fs::create_dir_all(folder.join("group/new")).expect("a folder");
    folder
});

fuzz_target!(|data: &[u8]| {
    let Some((tool, bytes)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let format = &TOOL_FORMATS[usize::from(*tool) % TOOL_FORMATS.len()];
    let mut path = Path::new("file");
    if format.is_folder() {
        let files = ["benchmark.json", "estimates.json", "sample.json"];
        for (file, text) in files.iter().zip(text.split('\0').chain([""; 3])) {
            fs::write(FOLDER.join("group/new").join(file), text).expect("written");
        }
        path = &FOLDER;
    }
    match format.document(path, text, SystemTime::UNIX_EPOCH) {
        Ok((document, _)) => {
            let written = to_json(&document);
            let again = parse_document(&written).expect("a run of another tool is a document");
            assert_eq!(to_json(&again), written);
        }
        Err(error) => assert!(!error.error.message.contains(char::is_control), "{error:?}"),
    }
});
