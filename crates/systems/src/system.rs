//! Systems that `--on` names.

use std::path::Path;
use std::time::Duration;

use crate::binary;
use crate::error::SystemError;
use crate::file::SystemsFile;
use crate::launcher::{Launcher, Runs, Starting, command, qemu};
use crate::launchers::{self, LAUNCHERS};
use crate::options::{FREE, ONE_CPU, PLACEMENT, Settings, Value, ValueKind, is_name};
use crate::running::Running;
use crate::state::{self, StateDirectory};

/// Default time limit for an agent's answer; the option `boot-timeout` changes it.
const BOOT_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the helpers of a system run: threads and processes besides the measured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// On all CPUs of the run, as they do in use.
    Free,
    /// All of the system is on one CPU, as in a container with one.
    OneCpu,
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Free => "helpers free",
            Self::OneCpu => "one CPU",
        })
    }
}

/// A system: its launcher and settings, and the name that the user sees.
#[derive(Debug, Clone)]
pub struct System {
    name: String,
    launcher: &'static Launcher,
    settings: Settings,
}

impl System {
    /// The system that `text` names: one of `file`, a launcher (`native`, `gvisor`), a launcher with its argument
    /// (`qemu:KERNEL`, `wine=PROGRAM.exe`), any of these with a new name (`again=native`), or a new name with a command
    /// line (`mine=./boot.sh {oscost} agent`). `@one-cpu` or `@free` after the name or the launcher with its argument places it;
    /// the name of a system on one CPU ends with `@one-cpu`.
    ///
    /// # Errors
    /// If `text` names no system; the message lists similar ones.
    pub fn parse(text: &str, file: &SystemsFile) -> Result<Self, SystemError> {
        let (before, rest) = text.split_once('=').unzip();
        let (placed, placement) = placement_after(before.unwrap_or(text));
        let mut system = match rest {
            Some(rest) => Self::parse_placed(&format!("{placed}={rest}"), file),
            None => Self::parse_placed(placed, file),
        }?;
        if let Some(placement) = placement {
            system.settings.set(PLACEMENT, Value::Text(placement.to_owned()));
        }
        if system.placement() == Some(Placement::OneCpu) {
            system.name = format!("{}@{ONE_CPU}", system.name);
        }
        Ok(system)
    }

    /// The system that `text`, without a placement, names.
    fn parse_placed(text: &str, file: &SystemsFile) -> Result<Self, SystemError> {
        if let Some(system) = named(text, file) {
            return system;
        }
        match text.split_once('=') {
            Some((name, rest)) if is_name(name) => {
                // The text `wine=PROGRAM.exe` means `wine:PROGRAM.exe`; a command line contains the program to run.
                let is_argument =
                    named(rest, file).is_none() && !rest.contains(command::PLACEHOLDER);
                let takes_argument = launchers::find(name)
                    .filter(|launcher| launcher.argument.is_some() && is_argument);
                let system = match takes_argument {
                    Some(launcher) => of_launcher(launcher, Some(rest)),
                    None => named(rest, file).unwrap_or_else(|| command_line(rest, file)),
                };
                Ok(Self { name: name.to_owned(), ..system? })
            }
            Some((name, _)) if !text.contains(' ') => Err(SystemError::Usage(format!(
                "{name:?} cannot be the name of a system: letters, digits, '-', '_', '.' and '+' can"
            ))),
            _ => Err(unknown(text, file)),
        }
    }

    /// The systems that `texts` name, all with different names.
    ///
    /// # Errors
    /// If a text names none, or two have the same name.
    pub fn parse_all(texts: &[String], file: &SystemsFile) -> Result<Vec<Self>, SystemError> {
        let systems =
            texts.iter().map(|text| Self::parse(text, file)).collect::<Result<Vec<_>, _>>()?;
        for (at, system) in systems.iter().enumerate() {
            if systems[..at].iter().any(|other| other.name == system.name) {
                let (name, text) = (&system.name, &texts[at]);
                return Err(SystemError::Usage(format!(
                    "two systems are named {name}: give one another name, as in again={text}"
                )));
            }
        }
        Ok(systems)
    }

    /// Makes systems that would run this program run the static one that the user named, if another system does: two builds
    /// of one source differ by up to a few per cent in operations within the processor, which must not appear as a difference
    /// of the systems.
    pub fn share_static_binary(systems: &mut [Self]) {
        if let Ok(Some(binary)) = binary::of_variable() {
            Self::share(systems, &binary);
        }
    }

    fn share(systems: &mut [Self], binary: &Path) {
        if systems.iter().any(|system| matches!(system.runs(), Runs::Static | Runs::Brought)) {
            for system in systems.iter_mut().filter(|system| system.runs() == Runs::ThisProgram) {
                system.settings.set("binary", Value::Path(binary.to_owned()));
            }
        }
    }

    /// Runs this program in the system in place of oscost, with oscost's argument `agent`.
    pub fn with_binary(mut self, program: &Path) -> Self {
        self.settings.set("binary", Value::Path(program.to_owned()));
        self
    }

    /// The oscost binary that the system runs.
    fn runs(&self) -> Runs {
        match self.settings.has("binary") {
            true => Runs::Named,
            false => (self.launcher.runs)(&self.settings),
        }
    }

    /// The name that the user sees.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The launcher's name.
    pub fn launcher(&self) -> &'static str {
        self.launcher.name
    }

    /// Where the system's helpers run; `None` if it has none and is not confined to one CPU.
    pub fn placement(&self) -> Option<Placement> {
        match self.settings.text(PLACEMENT) {
            Some(ONE_CPU) => Some(Placement::OneCpu),
            _ => self.launcher.has_helpers.then_some(Placement::Free),
        }
    }

    /// The CPUs of this machine on which the system's processes run if the run has `cpus`.
    pub fn cpus_of<'a>(&'a self, cpus: &'a [usize]) -> &'a [usize] {
        let own = self.settings.cpus("cpus").filter(|_| !self.launcher.is_remote);
        let cpus = own.unwrap_or(cpus);
        match self.placement() {
            Some(Placement::OneCpu) => &cpus[cpus.len().saturating_sub(1)..],
            _ => cpus,
        }
    }

    /// The share by which each operation of the system is slowed down, to test comparisons.
    pub fn slow_down(&self) -> f64 {
        self.settings.share("slow-down").unwrap_or_default()
    }

    /// Time limit for the agent's answer.
    pub fn boot_timeout(&self) -> Duration {
        self.settings.duration("boot-timeout").unwrap_or(BOOT_TIMEOUT)
    }

    /// Why the system's processor is emulated, so that its figures count instructions instead of time; `None` if it is not, or only
    /// a start can tell.
    pub fn emulated(&self) -> Option<String> {
        (self.launcher.emulated)(&self.settings)
    }

    /// Whether the system's processor is emulated where KVM does not work.
    pub fn needs_kvm(&self) -> bool {
        self.launcher.name == qemu::QEMU.name
    }

    /// Checks that the programs and files that the system requires exist.
    ///
    /// # Errors
    /// If one is missing; the message says what to install.
    pub fn check(&self) -> Result<(), SystemError> {
        (self.launcher.check)(&self.settings)?;
        match (self.launcher.runs)(&self.settings) {
            Runs::Brought => binary::with_libraries(&self.settings).map(drop),
            Runs::Static => binary::without_libraries(&self.settings).map(drop),
            Runs::ThisProgram => binary::own(&self.settings).map(drop),
            Runs::Named => Ok(()),
        }
    }

    /// Checks all systems.
    ///
    /// # Errors
    /// If programs or files are missing; the message names the systems that lack them.
    pub fn check_all(systems: &[Self]) -> Result<(), SystemError> {
        let failed = systems.iter().filter_map(|system| {
            let error = system.check().err()?;
            Some((system.name.clone(), error.to_string()))
        });
        let failed: Vec<(String, String)> = failed.collect();
        match failed.is_empty() {
            true => Ok(()),
            false => Err(SystemError::Usage(by_reason(&failed))),
        }
    }

    /// Starts an agent in the system. The system's processes on this machine run on [`System::cpus_of`] `cpus` only. Before that, everything that killed processes left is removed. `counted`: whether to count the
    /// system's work on this machine, where possible ([`Running::is_counted`]).
    ///
    /// # Errors
    /// If a requirement is missing, or the system cannot be started. An agent that starts and then fails is no error here:
    /// its output ends.
    pub fn start(&self, cpus: &[usize], counted: bool) -> Result<Running, SystemError> {
        state::sweep();
        self.check()?;
        let failed = |e| SystemError::from_io("a directory for the system's files", &e);
        let mut state = StateDirectory::new().map_err(failed)?;
        let cpus = self.cpus_of(cpus);
        let mut start = Starting { settings: &self.settings, cpus, state: &mut state };
        let mut launch = (self.launcher.launch)(&mut start)?;
        launch.command.envs(self.settings.variables("env"));
        let counted = match self.launcher.elsewhere {
            _ if !counted => Err("it was not asked for".to_owned()),
            Some(reason) => Err(reason.to_owned()),
            None => Ok(()),
        };
        Running::start(launch, cpus, state, counted)
    }
}

/// Why systems cannot be started, each reason once with the systems' names: `cannot start gvisor, uml: it is missing`.
pub fn by_reason(failed: &[(String, String)]) -> String {
    let mut names_of: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, reason) in failed {
        match names_of.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(name),
            None => names_of.push((reason, vec![name])),
        }
    }
    let said = names_of.iter().map(|(reason, names)| format!("{}: {reason}", names.join(", ")));
    format!("cannot start {}", said.collect::<Vec<_>>().join("; cannot start "))
}

/// Splits a placement, such as `@one-cpu`, from a text.
fn placement_after(text: &str) -> (&str, Option<&'static str>) {
    let placed = [FREE, ONE_CPU]
        .into_iter()
        .find_map(|placement| Some((text.strip_suffix(placement)?.strip_suffix('@')?, placement)));
    placed.map_or((text, None), |(text, placement)| (text, Some(placement)))
}

/// The system of `file`, or of a launcher with or without an argument, that `text` names; `None` if it names none.
fn named(text: &str, file: &SystemsFile) -> Option<Result<System, SystemError>> {
    if let Some((launcher, settings)) = file.get(text) {
        return Some(Ok(System { name: text.to_owned(), launcher, settings: settings.clone() }));
    }
    let (name, argument) = match text.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (text, None),
    };
    launchers::find(name).map(|launcher| of_launcher(launcher, argument))
}

fn of_launcher(launcher: &'static Launcher, argument: Option<&str>) -> Result<System, SystemError> {
    let mut name = launcher.name.to_owned();
    let mut settings = Settings::default();
    match (launcher.argument, argument) {
        (None, Some(argument)) => {
            return Err(SystemError::Usage(format!("{name} takes no argument, not {argument:?}")));
        }
        (Some(takes), None) if takes.required => {
            return Err(SystemError::Usage(format!(
                "{name} needs an argument: {name}:{}",
                takes.syntax
            )));
        }
        (Some(takes), Some(argument)) => {
            let option = launchers::options_of(launcher).find(|option| option.name == takes.option);
            let kind = option.map_or(ValueKind::Text, |option| option.kind);
            let value = kind.parse(argument).ok_or_else(|| {
                let expected = kind.expected();
                SystemError::Usage(format!(
                    "{name}:{}: {argument:?} is not {expected}",
                    takes.syntax
                ))
            })?;
            // A path's directories are too long for a column heading.
            let short = match &value {
                Value::Path(path) => {
                    path.file_name().map(|file| file.to_string_lossy().into_owned())
                }
                _ => None,
            };
            name = format!("{name}:{}", short.as_deref().unwrap_or(argument));
            settings.set(takes.option, value);
        }
        (_, None) => {}
    }
    Ok(System { name, launcher, settings })
}

/// A system from a name and a command line. One word without a slash is more likely a misspelt system.
fn command_line(line: &str, file: &SystemsFile) -> Result<System, SystemError> {
    if !line.contains(['/', '\\']) && !line.trim().contains(' ') {
        return Err(unknown(line, file));
    }
    match launchers::find("command") {
        Some(launcher) => of_launcher(launcher, Some(line)),
        None => Err(unknown(line, file)),
    }
}

fn unknown(text: &str, file: &SystemsFile) -> SystemError {
    let known: Vec<&str> =
        file.names().chain(LAUNCHERS.iter().map(|launcher| launcher.name)).collect();
    let word = text.split([':', '=']).next().unwrap_or_default();
    let near = known.iter().map(|name| (strsim::damerau_levenshtein(word, name), name)).min();
    let hint = match near {
        _ if word.contains('@') => format!("a placement is @{FREE} or @{ONE_CPU}, after a name"),
        Some((distance, name)) if distance <= 2 => format!("did you mean {name}?"),
        _ => format!(
            "known are {}; NAME='COMMAND {{oscost}} agent' starts it by a command",
            known.join(", ")
        ),
    };
    SystemError::Usage(format!("no system is named {text:?}: {hint}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file() -> SystemsFile {
        let text = "[fast]\nlauncher = 'native'\nslow-down = 0.01\nboot-timeout = '5s'\n";
        SystemsFile::parse(text, Path::new("systems.toml")).unwrap()
    }

    fn parsed(text: &str) -> (String, &'static str) {
        let system = System::parse(text, &file()).unwrap();
        (system.name, system.launcher.name)
    }

    fn error(text: &str) -> String {
        System::parse(text, &file()).unwrap_err().to_string()
    }

    #[test]
    fn systems_are_named_in_several_ways() {
        for (text, name, launcher) in [
            ("native", "native", "native"),
            ("again=native", "again", "native"),
            ("fast", "fast", "native"),
            ("same=fast", "same", "native"),
            ("mine=./boot.sh {oscost} agent", "mine", "command"),
            ("mine={oscost} agent", "mine", "command"),
            ("bwrap=bwrap --ro-bind / / {oscost} agent", "bwrap", "command"),
            ("bwrap=/", "bwrap", "bwrap"),
            ("mine=command:env A=b {oscost} agent", "mine", "command"),
        ] {
            assert_eq!(parsed(text), (name.to_owned(), launcher), "{text}");
        }
    }

    #[test]
    fn a_placement_follows_the_name_and_is_part_of_it() {
        let file = "[small]\nlauncher = 'gvisor'\nplacement = 'one-cpu'\ncpus = [4, 6]\n";
        let file = SystemsFile::parse(file, Path::new("systems.toml")).unwrap();
        let (free, one) = (Some(Placement::Free), Some(Placement::OneCpu));
        for (text, name, placement, cpus) in [
            ("gvisor", "gvisor", free, &[0, 1, 2][..]),
            ("gvisor@free", "gvisor", free, &[0, 1, 2]),
            ("gvisor@one-cpu", "gvisor@one-cpu", one, &[2]),
            ("gvisor:ptrace@one-cpu", "gvisor:ptrace@one-cpu", one, &[2]),
            ("mine@one-cpu=gvisor:kvm", "mine@one-cpu", one, &[2]),
            ("mine@one-cpu=./boot {oscost} agent", "mine@one-cpu", one, &[2]),
            ("mine=./boot {oscost} agent", "mine", free, &[0, 1, 2]),
            ("small", "small@one-cpu", one, &[6]),
            ("small@free", "small", free, &[4, 6]),
            ("native", "native", None, &[0, 1, 2]),
            ("native@one-cpu", "native@one-cpu", one, &[2]),
        ] {
            let system = System::parse(text, &file).unwrap();
            assert_eq!((system.name(), system.placement()), (name, placement), "{text}");
            assert_eq!(system.cpus_of(&[0, 1, 2]), cpus, "{text}");
        }
        let both = ["gvisor".to_owned(), "gvisor@one-cpu".to_owned()];
        assert_eq!(System::parse_all(&both, &file).unwrap().len(), 2);
        for text in ["gvisor@two", "gvisor@", "@one"] {
            let error = System::parse(text, &file).unwrap_err().to_string();
            assert!(error.contains("a placement is @free or @one-cpu"), "{error}");
        }
    }

    #[test]
    fn options_of_the_file_are_kept() {
        let system = System::parse("same=fast", &file()).unwrap();
        assert_eq!((system.slow_down(), system.boot_timeout().as_secs()), (0.01, 5));
        let native = System::parse("native", &file()).unwrap();
        assert_eq!((native.slow_down(), native.boot_timeout()), (0.0, BOOT_TIMEOUT));
    }

    #[test]
    fn what_names_no_system_is_explained() {
        assert!(error("natve").contains("did you mean native?"), "{}", error("natve"));
        assert!(error("again=natve").contains("did you mean native?"));
        assert!(error("zzzzzz").contains("known are fast, native, command"), "{}", error("zzzzzz"));
        assert!(error("native:x").contains("takes no argument"));
        assert!(error("command").contains("needs an argument: command:COMMAND"));
        assert!(error("a b=native").contains("no system"), "{}", error("a b=native"));
        assert!(error("a,b=native").contains("cannot be the name"));
        assert!(error("").contains("no system is named \"\""));
    }

    #[test]
    fn all_run_the_static_program_if_one_of_them_does() {
        let shared = |texts: &[&str]| {
            let file = "[own]\nlauncher = 'native'\nbinary = '/own'\n\
                        [static]\nlauncher = 'command'\nline = '{oscost} agent'\nstatic = true\n";
            let file = SystemsFile::parse(file, Path::new("systems.toml")).unwrap();
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            let mut systems = System::parse_all(&texts, &file).unwrap();
            System::share(&mut systems, Path::new("/static"));
            let path = |system: &System| {
                system.settings.path("binary").map(|path| path.display().to_string())
            };
            systems.iter().map(path).collect::<Vec<_>>()
        };
        let (of, none) = (|path: &str| Some(path.to_owned()), None);
        let mine = "mine={oscost} agent";
        assert_eq!(shared(&["native", mine, "wine=a.exe"])[..2], [none.clone(), none.clone()]);
        assert_eq!(shared(&["native", "bwrap"]), [of("/static"), none.clone()]);
        assert_eq!(shared(&["static", mine]), [none.clone(), of("/static")]);
        // A binary that the user named is kept, and a command line without `{oscost}` needs none.
        assert_eq!(shared(&["own", "x=./boot me", "gvisor"])[0], of("/own"));
        assert_eq!(shared(&["x=./boot me", "gvisor"]), [none.clone(), none]);
    }

    #[test]
    fn another_program_takes_the_place_of_oscost() {
        for text in ["gvisor", "wine=oscost.exe", "x={oscost} agent", "native@one-cpu"] {
            let system = System::parse(text, &file()).unwrap();
            let other = system.clone().with_binary(Path::new("/loops"));
            assert_eq!(other.settings.path("binary"), Some(&"/loops".into()), "{text}");
            assert_eq!(other.runs(), Runs::Named, "{text}");
            assert_eq!((other.name(), other.placement()), (system.name(), system.placement()));
        }
    }

    #[test]
    fn what_is_missing_is_said_once_for_all_systems() {
        let failed = [("a", "no x"), ("b", "no y"), ("c", "no x")];
        let failed = failed.map(|(name, reason)| (name.to_owned(), reason.to_owned()));
        assert_eq!(by_reason(&failed), "cannot start a, c: no x; cannot start b: no y");
        let systems = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            System::parse_all(&texts, &file()).unwrap()
        };
        System::check_all(&systems(&["native", "fast"])).unwrap();
        let error = System::check_all(&systems(&["native", "uml:/no/kernel"])).unwrap_err();
        assert!(error.to_string().starts_with("cannot start uml:kernel: "), "{error}");
    }

    #[test]
    fn names_are_unique() {
        let all = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
            System::parse_all(&texts, &file())
        };
        assert_eq!(all(&["native", "again=native"]).unwrap().len(), 2);
        let error = all(&["native", "native"]).unwrap_err().to_string();
        assert_eq!(
            error,
            "two systems are named native: give one another name, as in again=native"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_system_or_an_error(text in "\\PC{0,40}") {
            let _ = System::parse(&text, &file());
        }
    }
}
