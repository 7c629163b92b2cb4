//! How many processes work together, and which of them this one is, from the variables that launchers set.

use std::fmt;

use tesson_core::{ConfigError, Spelling};

/// The environment: the value of a variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The rank of a process, from 0, the number of processes, and their source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// The rank.
    pub rank: u64,
    /// Number of processes.
    pub size: u64,
    /// Their source in words.
    pub origin: String,
}

/// The number of processes that is given apart from a launcher: some set a rank alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenSize {
    number: u64,
    origin: &'static str,
}

/// The variable for the number of processes, for launchers that do not set one.
const SIZE_VARIABLE: &str = "TESSON_WORLD_SIZE";

/// The first step of Slurm that is none of `srun`, but a batch script, an interactive shell and the like.
const SPECIAL_STEPS: u64 = 0xffff_fff0;

/// A program that starts processes, and the variables in which it numbers them.
#[derive(Debug)]
struct Launcher {
    name: &'static str,
    rank: &'static str,
    /// `None`: the launcher does not set a number of processes.
    size: Option<&'static str>,
}

const fn launcher(name: &'static str, rank: &'static str, size: Option<&'static str>) -> Launcher {
    Launcher { name, rank, size }
}

/// The innermost first: a torchrun inside a Slurm job starts several processes for each task of Slurm.
static LAUNCHERS: [Launcher; 8] = [
    launcher("torchrun", "RANK", Some("WORLD_SIZE")),
    launcher("openmpi", "OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    launcher("pmix", "PMIX_RANK", None),
    launcher("pmi", "PMI_RANK", Some("PMI_SIZE")),
    launcher("flux", "FLUX_TASK_RANK", Some("FLUX_JOB_SIZE")),
    launcher("pals", "PALS_RANKID", None),
    launcher("slurm", "SLURM_PROCID", Some("SLURM_NTASKS")),
    launcher("kubernetes", "JOB_COMPLETION_INDEX", None),
];

/// The remedy that always helps, in the words of the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair;

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match Spelling::current() {
            Spelling::Keywords => "world=(rank, size)",
            Spelling::Configurations => "rank and number of ranks themselves",
        })
    }
}

/// A text that was found, in the quotes of the caller's language.
#[derive(Clone, Debug, PartialEq)]
pub struct Word(String);

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Spelling::current() {
            Spelling::Keywords => write!(f, "'{}'", self.0),
            Spelling::Configurations => write!(f, "`{}`", self.0),
        }
    }
}

/// The choice of a launcher by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice(&'static str);

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Spelling::current() {
            Spelling::Keywords => write!(f, "world='{}'", self.0),
            Spelling::Configurations => write!(f, "`{}`", self.0),
        }
    }
}

const PAIR: Pair = Pair;

tesson_core::error_kinds! {
    /// Why rank and number of processes cannot be taken from the environment.
    pub enum WorldRefusal {
        /// One of the two variables of a launcher is missing.
        OneVariable { missing: &'static str = "WORLD_SIZE", set: &'static str = "RANK" }
            = "world.one-variable": "{missing} is not set, but {set} is"; "set both, or give {PAIR}"
            => "Set both variables of the launcher, or give rank and number of ranks.",
        /// A variable of a launcher is no number.
        NoNumber { variable: &'static str = "PMI_RANK", found: Word = Word("-1".into()) }
            = "world.no-number": "{variable} is {found}, not a number from 0"; "correct it, or give {PAIR}"
            => "Correct the variable, or give rank and number of ranks.",
        /// A rank is not below the number of processes.
        RankBeyond { variable: &'static str = "RANK", rank: u64 = 4, size: u64 = 4 }
            = "world.rank-beyond": "{variable}: rank {rank} is not below the number of processes, {size}"
            => in manual "Correct the variables of the launcher, or give rank and number of ranks.",
        /// A launcher sets a rank, and nothing the number of processes.
        NoSize { variable: &'static str = "PMIX_RANK", rank: u64 = 0 }
            = "world.no-size": "{variable} is {rank}, but nothing says how many processes there are"; "set {SIZE_VARIABLE} to their \
                number, or give {PAIR}"
            => "Set `TESSON_WORLD_SIZE` to the number of processes, or give rank and number of ranks.",
        /// The number of processes is given, and no launcher sets a rank.
        NoRank { origin: &'static str = SIZE_VARIABLE, size: u64 = 3 }
            = "world.no-rank": "{origin} is {size}, but no launcher says which rank this process has"; "give {PAIR}"
            => "Give rank and number of ranks.",
        /// The number of processes that is given is not the launcher's.
        OtherSize { origin: &'static str = SIZE_VARIABLE, size: u64 = 2, found: String = "RANK and WORLD_SIZE says rank 5 of 8".into() }
            = "world.other-size": "{origin} is {size}, but {found}"; "correct one, or give {PAIR}"
            => "Correct one of the two numbers, or give rank and number of ranks.",
        /// Two launchers say different things, of which one at most is right.
        Disagree {
            reports: String = "RANK and WORLD_SIZE say 0 of 1, but SLURM_PROCID and SLURM_NTASKS say 3 of 8".into(),
            one: Choice = Choice("torchrun"),
            other: Choice = Choice("slurm"),
        }
            = "world.disagree": "{reports}"; "choose {one} or {other}, or give {PAIR}"
            => "Choose one of the two launchers by its name, or give rank and number of ranks.",
        /// The process looks like a task of Slurm that srun has not started.
        NoStep { rank: Word = Word("1".into()) }
            = "world.no-step": "SLURM_PROCID is {rank}, but SLURM_STEP_ID, which srun sets, is not set"; "start the program with srun, or \
                give {PAIR}"
            => "Start the program with srun, or give rank and number of ranks.",
        /// The launcher that is named has not started this process.
        NotStarted { name: Word = Word("flux".into()), variable: &'static str = "FLUX_TASK_RANK" }
            = "world.not-started": "found {name}, which has not started this process, by {variable}"; ("use {}, or give {PAIR}", Word("auto".into()))
            => "Find the launcher out by `auto`, or give rank and number of ranks.",
        /// There is no such launcher.
        UnknownLauncher { name: Word = Word("none".into()), known: String = "`auto`, `torchrun`, `slurm`".into() }
            = "world.unknown-launcher": "found {name}, expected one of {known}"
            => in manual "Name a launcher that the message names, or give rank and number of ranks.",
    }
}

fn refused(reason: &WorldRefusal) -> ConfigError {
    ConfigError::refused("world", reason)
}

/// The refusal of a variable, which its own text begins with.
fn refused_variable(reason: &WorldRefusal) -> ConfigError {
    ConfigError::refused("", reason)
}

impl GivenSize {
    /// The number of processes by an argument, or else by the variable `TESSON_WORLD_SIZE`.
    ///
    /// # Errors
    /// A variable that is no number.
    pub fn find(
        argument: Option<u64>,
        environment: Environment<'_>,
    ) -> Result<Option<GivenSize>, ConfigError> {
        if let Some(number) = argument {
            return Ok(Some(GivenSize { number, origin: "world_size" }));
        }
        let Some(text) = environment(SIZE_VARIABLE) else { return Ok(None) };
        Ok(Some(GivenSize { number: number(SIZE_VARIABLE, &text)?, origin: SIZE_VARIABLE }))
    }
}

impl World {
    /// A world that something else than a launcher says.
    pub fn new(rank: u64, size: u64, origin: impl Into<String>) -> World {
        World { rank, size, origin: origin.into() }
    }

    /// The world of a process that works alone.
    fn alone() -> World {
        World::new(0, 1, "no launcher")
    }

    /// A world whose rank is below its size; `variable` says where the rank is from.
    fn checked(variable: &'static str, rank: u64, size: u64, origin: String) -> Result<World, ConfigError> {
        if rank >= size {
            return Err(refused_variable(&WorldRefusal::RankBeyond { variable, rank, size }));
        }
        Ok(World { rank, size, origin })
    }

    /// The report of the innermost launcher that sets both numbers; with a given number, of the innermost one that sets the
    /// rank. `None` if no launcher has started this process.
    ///
    /// # Errors
    /// Launchers that disagree, unless one may have started the other; a rank without a number of processes; a variable that is not
    /// a number or lacks its partner; a rank that is not below the size.
    pub fn launched(
        environment: Environment<'_>,
        size: Option<GivenSize>,
    ) -> Result<Option<World>, ConfigError> {
        let reports = reports(environment)?;
        let Some(first) = reports.first() else { return Ok(None) };
        let inner_at = reports.iter().position(|report| report.size.is_some()).unwrap_or(0);
        let inner = reports.get(inner_at).unwrap_or(first);
        let mut found = inner.sized(size)?;
        for (at, report) in reports.iter().enumerate() {
            if report.rank == inner.rank && (report.size.is_none() || report.size == inner.size) {
                continue;
            }
            if at < inner_at || !report.may_have_started(inner) {
                return Err(refused(&WorldRefusal::Disagree {
                    reports: format!("{inner}, but {report}"),
                    one: Choice(inner.launcher.name),
                    other: Choice(report.launcher.name),
                }));
            }
            found.origin.push_str(&format!("; not from {}, which {}", report.variables(), report.numbers()));
        }
        found.of_size(size).map(Some)
    }

    /// The report of one launcher.
    ///
    /// # Errors
    /// A launcher that there is not, or that has not started this process; `others` are more words that the caller knows.
    pub fn by_name(
        name: &str,
        environment: Environment<'_>,
        size: Option<GivenSize>,
        others: &[&str],
    ) -> Result<World, ConfigError> {
        let Some(launcher) = LAUNCHERS.iter().find(|launcher| launcher.name == name) else {
            let all = ["auto"].iter().chain(others).copied().chain(LAUNCHERS.iter().map(|other| other.name));
            let known: Vec<String> = all.map(|name| Word(name.into()).to_string()).collect();
            let (name, known) = (Word(name.into()), known.join(", "));
            return Err(refused(&WorldRefusal::UnknownLauncher { name, known }));
        };
        let Some(report) = Report::of(launcher, environment)? else {
            let (name, variable) = (Word(name.into()), launcher.rank);
            return Err(refused(&WorldRefusal::NotStarted { name, variable }));
        };
        report.sized(size)?.of_size(size)
    }

    /// The only process, if nothing reports several.
    ///
    /// # Errors
    /// A given number of processes that is not 1.
    pub fn without_launcher(
        environment: Environment<'_>,
        size: Option<GivenSize>,
    ) -> Result<World, ConfigError> {
        if let Some(GivenSize { number, origin }) = size.filter(|size| size.number != 1) {
            return Err(refused_variable(&WorldRefusal::NoRank { origin, size: number }));
        }
        let mut world = World::alone();
        if let Some(tasks) = environment("SLURM_NTASKS").filter(|tasks| tasks != "1") {
            world.origin.push_str(&format!(
                ": srun has not started this process, whatever SLURM_NTASKS={tasks} says"
            ));
        }
        Ok(world)
    }

    /// This world, if a given number of processes is its own.
    ///
    /// # Errors
    /// Another number.
    pub fn of_size(self, size: Option<GivenSize>) -> Result<World, ConfigError> {
        match size {
            Some(GivenSize { number, origin }) if number != self.size => {
                let found = format!("{} says rank {} of {}", self.origin, self.rank, self.size);
                Err(refused_variable(&WorldRefusal::OtherSize { origin, size: number, found }))
            }
            _ => Ok(self),
        }
    }
}

/// The rank and number of processes that a launcher sets.
struct Report {
    launcher: &'static Launcher,
    rank: u64,
    size: Option<u64>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.variables(), self.numbers())
    }
}

impl Report {
    /// The report of a launcher; `None` if it has not started this process.
    fn of(launcher: &'static Launcher, environment: Environment<'_>) -> Result<Option<Report>, ConfigError> {
        let (rank, size) = (environment(launcher.rank), launcher.size.and_then(environment));
        if rank.is_none() && size.is_none() || launcher.name == "slurm" && !is_step(environment)? {
            return Ok(None);
        }
        match (&rank, &size, launcher.size) {
            (None, _, Some(set)) => {
                Err(refused_variable(&WorldRefusal::OneVariable { missing: launcher.rank, set }))
            }
            (Some(_), None, Some(missing)) => {
                Err(refused_variable(&WorldRefusal::OneVariable { missing, set: launcher.rank }))
            }
            _ => {
                let rank = number(launcher.rank, &rank.unwrap_or_default())?;
                let of_size = |variable| number(variable, size.as_deref().unwrap_or_default());
                Ok(Some(Report { launcher, rank, size: launcher.size.map(of_size).transpose()? }))
            }
        }
    }

    fn variables(&self) -> String {
        match self.launcher.size {
            None => self.launcher.rank.into(),
            Some(size) => format!("{} and {size}", self.launcher.rank),
        }
    }

    fn numbers(&self) -> String {
        match self.size {
            None => format!("says {}", self.rank),
            Some(size) => format!("say {} of {size}", self.rank),
        }
    }

    /// True if this launcher may have started another one in each of its processes, which are fewer then.
    fn may_have_started(&self, inner: &Report) -> bool {
        inner.size.is_some_and(|inner| self.size.unwrap_or(self.rank) < inner)
    }

    /// The report as a world; the size comes from another source if the launcher sets none.
    fn sized(&self, size: Option<GivenSize>) -> Result<World, ConfigError> {
        let Report { launcher, rank, .. } = *self;
        match (self.size, size) {
            (Some(size), _) => World::checked(launcher.rank, rank, size, self.variables()),
            (None, Some(GivenSize { number, origin })) => {
                World::checked(launcher.rank, rank, number, format!("{} and {origin}", launcher.rank))
            }
            (None, None) => Err(refused_variable(&WorldRefusal::NoSize { variable: launcher.rank, rank })),
        }
    }
}

/// The reports of the launchers that have started this process, the innermost first.
fn reports(environment: Environment<'_>) -> Result<Vec<Report>, ConfigError> {
    let mut reports: Vec<Report> = Vec::new();
    for launcher in &LAUNCHERS {
        match Report::of(launcher, environment) {
            Ok(report) => reports.extend(report),
            // Variables of no meaning are left over where another launcher has answered.
            Err(_) if reports.iter().any(|report| report.size.is_some()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(reports)
}

/// True if `srun` has started this process: in batch scripts and allocated shells Slurm sets the same variables for steps that
/// it could start.
fn is_step(environment: Environment<'_>) -> Result<bool, ConfigError> {
    match environment("SLURM_STEP_ID") {
        Some(step) => Ok(number("SLURM_STEP_ID", &step)? < SPECIAL_STEPS),
        None => match environment("SLURM_PROCID") {
            Some(rank) if rank != "0" => Err(refused_variable(&WorldRefusal::NoStep { rank: Word(rank) })),
            _ => Ok(false),
        },
    }
}

fn number(variable: &'static str, text: &str) -> Result<u64, ConfigError> {
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| refused_variable(&WorldRefusal::NoNumber { variable, found: Word(text.into()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The world that variables describe, written as in a shell, or why there is none.
    fn found(environment: &str) -> Result<String, String> {
        let get = |name: &str| {
            let assigned =
                environment.split(' ').find_map(|word| word.split_once('=').filter(|(n, _)| *n == name));
            assigned.map(|(_, value)| value.to_owned())
        };
        let size = GivenSize::find(None, &get).map_err(|e| e.to_string())?;
        let world = match World::launched(&get, size).map_err(|e| e.to_string())? {
            Some(world) => world,
            None => World::without_launcher(&get, size).map_err(|e| e.to_string())?,
        };
        Ok(format!("{} of {} from {}", world.rank, world.size, world.origin))
    }

    #[test]
    fn the_innermost_launcher_says_who_this_process_is() {
        for (environment, world) in [
            ("", "0 of 1 from no launcher"),
            ("RANK=2 WORLD_SIZE=5", "2 of 5 from RANK and WORLD_SIZE"),
            ("PALS_RANKID=2 TESSON_WORLD_SIZE=5", "2 of 5 from PALS_RANKID and TESSON_WORLD_SIZE"),
            (
                "RANK=5 WORLD_SIZE=8 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_STEP_ID=0",
                "5 of 8 from RANK and WORLD_SIZE; not from SLURM_PROCID and SLURM_NTASKS, which say 1 of 2",
            ),
            (
                "SLURM_PROCID=0 SLURM_NTASKS=8",
                "0 of 1 from no launcher: srun has not started this process, whatever SLURM_NTASKS=8 says",
            ),
        ] {
            assert_eq!(found(environment).as_deref(), Ok(world), "{environment}");
        }
    }

    #[test]
    fn an_environment_of_no_single_meaning_is_refused_with_a_remedy_in_the_words_of_the_caller() {
        let text = "RANK is not set, but WORLD_SIZE is; set both, or give";
        assert_eq!(found("WORLD_SIZE=2"), Err(format!("{text} rank and number of ranks themselves")));
        let python = Spelling::Keywords.within(|| found("RANK=1 WORLD_SIZE=2 PMIX_RANK=7").unwrap_err());
        let expected = "world: RANK and WORLD_SIZE say 1 of 2, but PMIX_RANK says 7; choose world='torchrun' or world='pmix', or give \
                        world=(rank, size)";
        assert_eq!(python, expected);
        for (environment, beginning) in [
            ("TESSON_WORLD_SIZE=three", "TESSON_WORLD_SIZE is `three`, not a number from 0"),
            (
                "TESSON_WORLD_SIZE=3",
                "TESSON_WORLD_SIZE is 3, but no launcher says which rank this process has",
            ),
            ("JOB_COMPLETION_INDEX=3 TESSON_WORLD_SIZE=3", "JOB_COMPLETION_INDEX: rank 3 is not below"),
            ("PMI_RANK=99999999999999999999 PMI_SIZE=2", "PMI_RANK is `99999999999999999999`, not a number"),
        ] {
            let error = found(environment).unwrap_err();
            assert!(error.starts_with(beginning), "{error}");
        }
    }
}
