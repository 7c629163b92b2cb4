//! Rank and number of processes from the environment.

use tesson_config::GivenSize;
pub use tesson_config::World;
use tesson_core::ConfigError;

/// Finds the rank of this process and the number of processes in the variables of launchers: torchrun, Open MPI, PMIx, PMI, Flux,
/// PALS, Slurm (in steps that `srun` starts) and indexed jobs of Kubernetes.
///
/// `auto` takes the innermost one that has started this process, or else one process that works alone. The names `torchrun`,
/// `openmpi`, `pmix`, `pmi`, `flux`, `pals`, `slurm` and `kubernetes` choose one if several disagree. PMIx, PALS and Kubernetes
/// set a rank alone: the variable `TESSON_WORLD_SIZE` has the number of processes then.
///
/// # Errors
/// Launchers that disagree, unless one may have started the other; a rank without a number of processes; a variable that is no
/// number or lacks its partner; a rank that is not below the size; the name of no launcher.
pub fn world(launcher: &str) -> Result<World, ConfigError> {
    let environment = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let size = GivenSize::find(None, &environment)?;
    if launcher != "auto" {
        return World::by_name(launcher, &environment, size, &[]);
    }
    World::launched(&environment, size)?.map_or_else(|| World::without_launcher(&environment, size), Ok)
}
