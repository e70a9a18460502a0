//! A shared library with the functions that `include/oscost.h` declares.

use std::ffi::{CStr, c_char, c_double, c_int};
use std::path::Path;

use measure::CaseError;
use measure::user_code::UserLibrary;

use super::loading::Library;

/// The version of `include/oscost.h` that this program reads: its `OSCOST_VERSION`.
pub const VERSION: u32 = 1;
/// Maximum length of a name in bytes.
const NAME_AT_MOST: usize = 64;

// The types are `C-unwind`, so that an exception that escapes ends the process in a defined way.
type VersionFn = unsafe extern "C-unwind" fn() -> u32;
type NameFn = unsafe extern "C-unwind" fn() -> *const c_char;
type SetupFn = unsafe extern "C-unwind" fn() -> c_int;
type OperationFn = unsafe extern "C-unwind" fn(u64) -> c_int;
type TeardownFn = unsafe extern "C-unwind" fn();
type ExpectedFn = unsafe extern "C-unwind" fn() -> c_double;

/// What is between the name of a function and that of its file, where several builds of it are measured.
pub const OF: &str = " of ";

/// A loaded library of the user.
pub struct OpLibrary {
    path: String,
    name: String,
    setup: Option<SetupFn>,
    operation: OperationFn,
    teardown: Option<TeardownFn>,
    expected_syscalls: Option<ExpectedFn>,
}

impl OpLibrary {
    /// Loads the library.
    ///
    /// # Errors
    /// `Unsupported` in a static build; an error if the file cannot be loaded, has changed, is of another version of the header,
    /// or lacks a function.
    pub fn load(file: &UserLibrary) -> Result<Self, CaseError> {
        let path = file.path.as_str();
        let failed = |problem: &str| CaseError::Failed(format!("{path}: {problem}"));
        let now = checksum(Path::new(path)).map_err(|e| failed(&e.to_string()))?;
        if now != file.checksum {
            return Err(failed("it was changed while it was measured"));
        }
        // SAFETY: the user asks for this library to be run.
        let library = unsafe { Library::load(Path::new(path)) }.map_err(|error| match error {
            CaseError::Failed(reason) if !reason.contains(path) => failed(&reason),
            CaseError::Unsupported(reason) => CaseError::Unsupported(format!("{path}: {reason}")),
            other => other,
        })?;
        let lacks = |name: &str| {
            failed(&format!("it has no function {name}, which include/oscost.h declares"))
        };
        // SAFETY: all types are those of the header, which the library is built with; the version is checked before any
        // other function is used.
        unsafe {
            let version = library.function::<VersionFn>("oscost_version");
            let version = version.ok_or_else(|| lacks("oscost_version"))?();
            if version != VERSION {
                return Err(failed(&format!(
                    "it was built with version {version} of oscost.h, and this program reads version {VERSION}"
                )));
            }
            let function = |name| library.function::<NameFn>(name);
            let name = function("oscost_name").ok_or_else(|| lacks("oscost_name"))?();
            let operation = library.function::<OperationFn>("oscost_operation");
            Ok(Self {
                path: path.to_owned(),
                name: name_in(name).map_err(|problem| failed(&problem))?,
                setup: library.function("oscost_setup"),
                operation: operation.ok_or_else(|| lacks("oscost_operation"))?,
                teardown: library.function("oscost_teardown"),
                expected_syscalls: library.function("oscost_expected_syscalls"),
            })
        }
    }

    /// Name that the library gives its function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Checks that the library has the planned name: its own, also with that of one of several files, or that of the file if its own was
    /// not known.
    ///
    /// # Errors
    /// `Failed` if it has another one.
    pub fn check_is(&self, planned: &str, file: &UserLibrary) -> Result<(), CaseError> {
        let of_file = planned.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with(OF));
        if planned == self.name || of_file || planned == file_name(&file.path) {
            return Ok(());
        }
        Err(CaseError::Failed(format!("{}: it is named {:?} now", self.path, self.name)))
    }

    /// Calls `oscost_setup`, if the library has it.
    ///
    /// # Errors
    /// The error that the return value stands for.
    pub fn set_up(&self) -> Result<(), CaseError> {
        // SAFETY: the library's own function, of the type that the header declares.
        self.setup.map_or(Ok(()), |setup| self.check("oscost_setup", unsafe { setup() }))
    }

    /// Calls `oscost_operation` for `n` operations.
    ///
    /// # Errors
    /// The error that the return value stands for.
    #[inline]
    pub fn operate(&self, n: u64) -> Result<(), CaseError> {
        // SAFETY: the library's own function, of the type that the header declares, called after `set_up`.
        match unsafe { (self.operation)(n) } {
            0 => Ok(()),
            code => self.check("oscost_operation", code),
        }
    }

    /// Calls `oscost_teardown`, if the library has it.
    pub fn tear_down(&self) {
        if let Some(teardown) = self.teardown {
            // SAFETY: the library's own function, of the type that the header declares, called once after `set_up`.
            unsafe { teardown() };
        }
    }

    /// Number of system calls that one operation makes, if the library declares it.
    pub fn expected_syscalls(&self) -> Option<f64> {
        // SAFETY: the library's own function, of the type that the header declares.
        let calls = unsafe { self.expected_syscalls?() };
        (calls.is_finite() && calls >= 0.0).then_some(calls)
    }

    /// Converts a return value: 0 is success; anything else is an error number of the system.
    fn check(&self, function: &str, code: c_int) -> Result<(), CaseError> {
        let what = format!("{}: {function} returned {code}", self.path);
        match code {
            0 => Ok(()),
            code => Err(CaseError::from_io(&what, &std::io::Error::from_raw_os_error(code))),
        }
    }
}

/// CRC-32 of a file's contents.
///
/// # Errors
/// Errors of reading the file.
pub fn checksum(path: &Path) -> std::io::Result<u32> {
    std::fs::read(path).map(|bytes| crc32fast::hash(&bytes))
}

/// File name of a library, which is shown if the library gives its function no name.
pub fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The name as a string.
///
/// # Safety
/// `name` is null or a string that ends with NUL.
unsafe fn name_in(name: *const c_char) -> Result<String, String> {
    let wrong = || format!("oscost_name must be 1 to {NAME_AT_MOST} bytes of printable UTF-8");
    if name.is_null() {
        return Err(wrong());
    }
    // SAFETY: the caller promises a string that ends with NUL.
    let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| wrong())?;
    let is_printable = !name.is_empty() && !name.chars().any(char::is_control);
    if is_printable && name.len() <= NAME_AT_MOST { Ok(name.to_owned()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_printable() {
        // SAFETY: the texts are literals that end with NUL.
        let name = |text: &CStr| unsafe { name_in(text.as_ptr()) };
        assert_eq!(name(c"sort 1k"), Ok("sort 1k".to_owned()));
        for wrong in [
            c"",
            c"a\nb",
            c"\xff",
            c"0123456789012345678901234567890123456789012345678901234567890123x",
        ] {
            assert!(name(wrong).is_err(), "{wrong:?}");
        }
        // SAFETY: null is allowed.
        assert!(unsafe { name_in(std::ptr::null()) }.is_err());
    }

    #[test]
    fn a_file_that_was_changed_is_not_loaded() {
        let path = std::env::temp_dir().join(format!("oscost-op-{}", std::process::id()));
        std::fs::write(&path, "no library").unwrap();
        let load = |checksum| {
            let file = UserLibrary { path: path.display().to_string(), checksum, memory: 1 << 20 };
            OpLibrary::load(&file).err().unwrap().to_string()
        };
        assert!(load(0).contains("was changed"), "{}", load(0));
        let error = load(checksum(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains("oscost-op-") && !error.contains("changed"), "{error}");
    }

    #[test]
    fn the_header_has_this_version() {
        let header = include_str!("../../../../../include/oscost.h");
        assert!(header.contains(&format!("#define OSCOST_VERSION {VERSION}\n")));
    }
}
