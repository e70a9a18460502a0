//! `systems.toml`: systems with names and options.
//!
//! ```toml
//! [old]
//! launcher = "qemu"
//! kernel = "vmlinuz-6.1"
//! memory = "1G"
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::error::SystemError;
use crate::launcher::Launcher;
use crate::launchers::{self, LAUNCHERS};
use crate::options::{Settings, Value, ValueKind, is_name};

/// The name of the file.
const NAME: &str = "systems.toml";
/// Maximum size of the file, in bytes.
const LONGEST: u64 = 1 << 20;
/// Maximum number of a CPU: more than a machine has.
const MOST_CPUS: u64 = 8_192;

/// The systems of a file, by name.
#[derive(Debug, Clone, Default)]
pub struct SystemsFile {
    systems: BTreeMap<String, (&'static Launcher, Settings)>,
    path: PathBuf,
}

impl SystemsFile {
    /// Reads the `named` file (`--systems`), else `systems.toml` in the working directory, else the one in the user's
    /// configuration directory. Without any file there are no systems.
    ///
    /// # Errors
    /// If the named file does not exist, or a file has an error, with line and column. If the file in the working directory is
    /// another user's, or others can write to it: it has commands, which nobody asked for who is only in that directory.
    pub fn find(named: Option<&Path>) -> Result<Self, SystemError> {
        if let Some(path) = named {
            return Self::read(path);
        }
        let here = Path::new(NAME);
        if fs::symlink_metadata(here).is_ok() {
            return match only_this_user_writes(here) {
                Ok(()) => Self::read(here),
                Err(why) => Err(SystemError::Usage(format!(
                    "{NAME} in this directory is not used: {why}; --systems ./{NAME} uses it all the same"
                ))),
            };
        }
        match in_configuration().filter(|path| path.is_file()) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the file cannot be read, or has an error, with line and column.
    pub fn read(path: &Path) -> Result<Self, SystemError> {
        let failed = |e| SystemError::from_io(path.display().to_string(), &e);
        if fs::metadata(path).map_err(failed)?.len() > LONGEST {
            let error = format!("{}: more than {LONGEST} bytes", path.display());
            return Err(SystemError::Usage(error));
        }
        Self::parse(&fs::read_to_string(path).map_err(failed)?, path)
    }

    /// The systems in `text`, the content of the file `path`.
    ///
    /// # Errors
    /// If the text has an error, with line and column.
    pub fn parse(text: &str, path: &Path) -> Result<Self, SystemError> {
        let reader = Reader { text, path };
        let table = DeTable::parse(text).map_err(|e| {
            let span = e.span().unwrap_or_default();
            reader.error(&span, e.message().to_owned())
        })?;
        let mut systems = BTreeMap::new();
        for (name, value) in table.get_ref() {
            systems.insert(reader.name(name)?, reader.system(name, value)?);
        }
        Ok(Self { systems, path: path.to_owned() })
    }

    /// The file, if one of these texts, which name systems, names one of it.
    pub fn used_by(&self, texts: &[String]) -> Option<&Path> {
        let named = |text: &String| {
            let rest = text.split_once('=').map_or(text.as_str(), |(_, rest)| rest);
            self.systems.contains_key(text) || self.systems.contains_key(rest)
        };
        texts.iter().any(named).then_some(&self.path)
    }

    /// The system of that name.
    pub(crate) fn get(&self, name: &str) -> Option<(&'static Launcher, &Settings)> {
        self.systems.get(name).map(|(launcher, settings)| (*launcher, settings))
    }

    /// The names of all systems.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.systems.keys().map(String::as_str)
    }
}

/// The file in the user's configuration directory.
fn in_configuration() -> Option<PathBuf> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let directory = match platform::IS_WINDOWS {
        true => variable("APPDATA"),
        false => variable("XDG_CONFIG_HOME")
            .or_else(|| variable("HOME").map(|home| home.join(".config"))),
    };
    directory.map(|directory| directory.join("oscost").join(NAME))
}

/// Checks that a file, its link if it is one, and the link's directory are this user's or root's and that nobody else can write to
/// the file.
///
/// # Errors
/// The reason in words.
#[cfg(unix)]
fn only_this_user_writes(path: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    use platform::user::own_user;

    let facts = [fs::symlink_metadata(path), fs::metadata(path)];
    let [link, file] = facts.map(|facts| facts.map_err(|error| error.to_string()));
    let (link, file) = (link?, file?);
    let others = [&link, &file].into_iter().map(MetadataExt::uid);
    if let Some(user) = others.into_iter().find(|&user| user != 0 && user != own_user()) {
        return Err(format!("it belongs to the user {user}"));
    }
    if file.mode() & 0o022 != 0 {
        return Err(format!("others can write to it (mode {:o})", file.mode() & 0o7777));
    }
    Ok(())
}

/// Windows' directories keep other users from writing by their own rules.
#[cfg(not(unix))]
fn only_this_user_writes(_path: &Path) -> Result<(), String> {
    Ok(())
}

/// Reads one file.
struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

impl Reader<'_> {
    fn error(&self, span: &Range<usize>, message: String) -> SystemError {
        let mut before = span.start.min(self.text.len());
        while !self.text.is_char_boundary(before) {
            before -= 1;
        }
        let before = &self.text[..before];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        SystemError::File { path: self.path.to_owned(), line, column, message }
    }

    fn name(&self, name: &Spanned<DeString>) -> Result<String, SystemError> {
        if is_name(name.get_ref()) {
            return Ok(name.get_ref().to_string());
        }
        let message = format!("{:?} cannot be the name of a system", name.get_ref());
        Err(self.error(&name.span(), message))
    }

    fn system(
        &self,
        name: &Spanned<DeString>,
        value: &Spanned<DeValue>,
    ) -> Result<(&'static Launcher, Settings), SystemError> {
        let DeValue::Table(table) = value.get_ref() else {
            let message = format!("a system is a table: [{}]", name.get_ref());
            return Err(self.error(&name.span(), message));
        };
        let launcher = self.launcher(name, table)?;
        // A name without a file means the same system with one; only options of a launcher may be set under its name.
        let built_in = launchers::find(name.get_ref()).map(|of_name| of_name.name);
        if built_in.is_some_and(|own| own == Launcher::NATIVE.name || own != launcher.name) {
            let own = name.get_ref();
            let message = format!("{own} is built in: another name is needed, as in [my-{own}]");
            return Err(self.error(&name.span(), message));
        }
        let mut settings = Settings::default();
        for (key, value) in table.iter().filter(|(key, _)| key.get_ref() != "launcher") {
            let mut options = launchers::options_of(launcher);
            let Some(option) = options.find(|option| option.name == key.get_ref().as_ref()) else {
                let known: Vec<&str> = launchers::options_of(launcher).map(|o| o.name).collect();
                let (key_name, launcher, known) = (key.get_ref(), launcher.name, known.join(", "));
                let message = format!("{launcher} has no option {key_name:?}; it has {known}");
                return Err(self.error(&key.span(), message));
            };
            let value = self.value(option.kind, value).map_err(|span| {
                self.error(&span, format!("{} is {}", option.name, option.kind.expected()))
            })?;
            settings.set(option.name, value);
        }
        match launcher.argument {
            Some(argument) if argument.required && !settings.has(argument.option) => {
                let (launcher, option) = (launcher.name, argument.option);
                Err(self.error(&name.span(), format!("{launcher} needs the option {option:?}")))
            }
            _ => Ok((launcher, settings)),
        }
    }

    fn launcher(
        &self,
        name: &Spanned<DeString>,
        table: &DeTable,
    ) -> Result<&'static Launcher, SystemError> {
        let known = || LAUNCHERS.iter().map(|one| one.name).collect::<Vec<_>>().join(", ");
        let given = table.iter().find(|(key, _)| key.get_ref() == "launcher");
        let Some((_, value)) = given else {
            // A misspelt key is the cause, rather than the one that is missing.
            let is_known = |key: &Spanned<DeString>| {
                let mut options = LAUNCHERS.iter().flat_map(launchers::options_of);
                options.any(|option| option.name == key.get_ref().as_ref())
            };
            if let Some((key, _)) = table.iter().find(|(key, _)| !is_known(key)) {
                let message = format!(
                    "no launcher has an option {:?}; `launcher` is one of {}",
                    key.get_ref(),
                    known()
                );
                return Err(self.error(&key.span(), message));
            }
            let message =
                format!("{}: the launcher is missing: one of {}", name.get_ref(), known());
            return Err(self.error(&name.span(), message));
        };
        let launcher = value.get_ref().as_str().and_then(launchers::find);
        launcher
            .ok_or_else(|| self.error(&value.span(), format!("the launcher is one of {}", known())))
    }

    /// Reads the value of an option of this kind. The error is the place of the wrong part.
    fn value(&self, kind: ValueKind, value: &Spanned<DeValue>) -> Result<Value, Range<usize>> {
        let wrong = || value.span();
        let text = |value: &Spanned<DeValue>| match value.get_ref() {
            DeValue::String(text) if !text.contains('\0') => Ok(text.to_string()),
            _ => Err(value.span()),
        };
        match (kind, value.get_ref()) {
            (ValueKind::Path, DeValue::String(_)) => {
                let path = text(value).ok().filter(|path| !path.is_empty()).ok_or_else(wrong)?;
                let directory = self.path.parent().unwrap_or(Path::new(""));
                Ok(Value::Path(directory.join(path)))
            }
            (
                ValueKind::Text | ValueKind::Choice(_) | ValueKind::Duration,
                DeValue::String(text),
            ) => kind.parse(text).ok_or_else(wrong),
            (ValueKind::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
            (ValueKind::Count(least, most), _) => {
                let count = whole(value).filter(|count| (least..=most).contains(count));
                count.map(Value::Count).ok_or_else(wrong)
            }
            (ValueKind::Share, DeValue::Integer(_)) => {
                let share = whole(value).filter(|&share| share <= 1).ok_or_else(wrong)?;
                Ok(Value::Share(share as f64))
            }
            (ValueKind::Share, DeValue::Float(share)) => {
                let share = share.as_str().parse().ok();
                let share = share.filter(|share: &f64| (0.0..=1.0).contains(share));
                share.map(Value::Share).ok_or_else(wrong)
            }
            (ValueKind::Words, DeValue::Array(words)) => {
                words.iter().map(text).collect::<Result<_, _>>().map(Value::Words)
            }
            (ValueKind::Cpus, DeValue::Array(cpus)) if !cpus.is_empty() => {
                let cpu = |value| {
                    let cpu = whole(value).filter(|&cpu| cpu < MOST_CPUS);
                    cpu.map(|cpu| cpu as usize).ok_or_else(|| value.span())
                };
                let mut cpus = cpus.iter().map(cpu).collect::<Result<Vec<_>, _>>()?;
                cpus.sort_unstable();
                cpus.dedup();
                Ok(Value::Cpus(cpus))
            }
            (ValueKind::Variables, DeValue::Table(table)) => {
                let variable = |(name, value): (&Spanned<DeString>, &Spanned<DeValue>)| {
                    let plain = !name.get_ref().is_empty() && !name.get_ref().contains(['=', '\0']);
                    let name =
                        plain.then(|| name.get_ref().to_string()).ok_or_else(|| name.span())?;
                    Ok((name, text(value)?))
                };
                table.iter().map(variable).collect::<Result<_, _>>().map(Value::Variables)
            }
            _ => Err(wrong()),
        }
    }
}

/// A number that is whole and not negative.
fn whole(value: &Spanned<DeValue>) -> Option<u64> {
    match value.get_ref() {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<SystemsFile, SystemError> {
        SystemsFile::parse(text, Path::new("/etc/systems.toml"))
    }

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn options_have_the_values_given() {
        let file = parse(
            "[a]\nlauncher = 'native'\ncpus = [1, 0, 1]\nenv = { LANG = 'C', X = '' }\n\
             binary = 'bin/oscost'\nslow-down = 0.01\nboot-timeout = '500ms'\n\
             [b]\nlauncher = 'command'\nline = '{oscost} agent'\nstatic = true\nslow-down = 1\n",
        )
        .unwrap();
        let (launcher, settings) = file.get("a").unwrap();
        assert_eq!(launcher.name, "native");
        assert_eq!(settings.cpus("cpus"), Some(&[0, 1][..]));
        assert_eq!(settings.variables("env").collect::<Vec<_>>(), [("LANG", "C"), ("X", "")]);
        assert_eq!(settings.path("binary"), Some(&PathBuf::from("/etc/bin/oscost")));
        assert_eq!(settings.share("slow-down"), Some(0.01));
        assert_eq!(settings.duration("boot-timeout").unwrap().as_millis(), 500);
        let (launcher, settings) = file.get("b").unwrap();
        assert_eq!((launcher.name, settings.text("line")), ("command", Some("{oscost} agent")));
        assert!(settings.flag("static") && settings.share("slow-down") == Some(1.0));
        assert_eq!(file.names().collect::<Vec<_>>(), ["a", "b"]);
        assert!(parse("[gvisor]\nlauncher = 'gvisor'\ncpus = [0]\n").is_ok());
    }

    #[test]
    fn errors_have_line_and_column() {
        for (text, message) in [
            ("[a\n", "/etc/systems.toml:1:3: "),
            (
                "\n[a]\nkernel = 'x'\n",
                "/etc/systems.toml:2:2: a: the launcher is missing: one of native",
            ),
            // The misspelt key is the first mistake, not the key that is missing for that reason.
            (
                "[a]\nlauncer = 'qemu'\nkernel = 'x'\n",
                ":2:1: no launcher has an option \"launcer\"; `launcher` is one of native",
            ),
            ("[a]\nlauncher = 'native'\nspeed = 1\nbad = 1\n", ":3:1: native has no option"),
            ("[z]\nlauncher = 1\n[a]\nlauncher = 2\n", ":2:12: the launcher is one of"),
            ("[a]\nlauncher = 'nativ'\n", ":2:12: the launcher is one of native, "),
            ("[a]\nlauncher = 7\n", ":2:12: the launcher is one of native, "),
            (
                "[a]\nlauncher = 'native'\n  speed = 1\n",
                ":3:3: native has no option \"speed\"; it has cpus, placement, env",
            ),
            (
                "[a]\nlauncher = 'native'\nslow-down = 2\n",
                ":3:13: slow-down is a number from 0 to 1",
            ),
            ("[a]\nlauncher = 'native'\nslow-down = nan\n", ":3:13: slow-down is"),
            ("[a]\nlauncher = 'native'\ncpus = []\n", ":3:8: cpus is a list of CPU numbers"),
            ("[a]\nlauncher = 'native'\ncpus = [0, -1]\n", ":3:12: cpus is a list"),
            ("[a]\nlauncher = 'native'\ncpus = [99999]\n", ":3:9: cpus is a list"),
            ("[a]\nlauncher = 'native'\nenv = { 'A=B' = 'x' }\n", ":3:9: env is a table"),
            ("[a]\nlauncher = 'native'\nenv = { A = 1 }\n", ":3:13: env is a table"),
            ("[a]\nlauncher = 'native'\nboot-timeout = '5'\n", ":3:16: boot-timeout is a time"),
            ("[a]\nlauncher = 'native'\nbinary = ''\n", ":3:10: binary is a path"),
            ("[a]\nlauncher = 'command'\n", ":1:2: command needs the option \"line\""),
            ("a = 1\n", ":1:1: a system is a table: [a]"),
            (
                "[native]\nlauncher = 'command'\nline = 'x'\n",
                ":1:2: native is built in: another name",
            ),
            ("[native]\nlauncher = 'native'\n", ":1:2: native is built in"),
            (
                "[a]\nlauncher = 'native'\n[gvisor]\nlauncher = 'command'\nline = 'x'\n",
                ":3:2: gvisor is built in",
            ),
            ("['a b']\nlauncher = 'native'\n", ":1:2: \"a b\" cannot be the name"),
            ("[a]\nlauncher = 'native'\nlauncher = 'native'\n", ":3:1: "),
        ] {
            assert!(error(text).contains(message), "{text:?}: {}", error(text));
        }
    }

    #[test]
    fn a_file_that_is_named_must_exist() {
        let error = SystemsFile::find(Some(Path::new("/nosuch/systems.toml"))).unwrap_err();
        assert!(error.to_string().starts_with("/nosuch/systems.toml: "), "{error}");
    }

    #[test]
    fn the_file_is_named_if_one_of_its_systems_is() {
        let file = parse("[a]\nlauncher = 'native'\n").unwrap();
        let used = |text: &str| file.used_by(&["gvisor".to_owned(), text.to_owned()]).is_some();
        assert!(used("a") && used("again=a"));
        assert!(!used("native") && !used("a=native") && !used("mine=./boot {oscost} agent"));
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_others_can_write_is_not_this_users() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};

        let folder = tempfile::tempdir().unwrap();
        let [path, link] = [NAME, "link"].map(|name| folder.path().join(name));
        fs::write(&path, "").unwrap();
        symlink(&path, &link).unwrap();
        let mode = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for (bits, is_fine) in [(0o644, true), (0o600, true), (0o664, false), (0o646, false)] {
            mode(bits);
            assert_eq!(only_this_user_writes(&path).is_ok(), is_fine, "{bits:o}");
        }
        mode(0o644);
        assert!(only_this_user_writes(&link).is_ok());
        assert!(only_this_user_writes(&folder.path().join("missing")).is_err());
        if testing::skip_unless(chown(&path, Some(65_534), None).is_ok(), "needs root") {
            return;
        }
        for path in [&path, &link] {
            assert_eq!(only_this_user_writes(path).unwrap_err(), "it belongs to the user 65534");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "(\\PC|\n){0,80}", key in "\\PC{1,8}", value in "\\PC{0,12}") {
            let _ = parse(&text);
            let _ = parse(&format!("[a]\nlauncher = 'native'\n{key} = {value}\n"));
        }
    }
}
