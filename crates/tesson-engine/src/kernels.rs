//! Which kernels are used: the environment variable `TESSON_KERNELS`.

use std::env;
use std::sync::OnceLock;

use tesson_core::{ConfigError, Kernels};

/// Keeps the kernels of this process to what `TESSON_KERNELS` says (`plain`, `portable`, `sse42`, `avx2` or `avx512`);
/// without it they use what the machine has. The variable is read once, before the first file is opened.
///
/// Results do not depend on it, which it is there to show.
///
/// # Errors
/// A value that is none of these, or one that the machine lacks.
pub fn kernels_from_environment() -> Result<(), ConfigError> {
    static OUTCOME: OnceLock<Result<(), ConfigError>> = OnceLock::new();
    let choose = || match env::var_os("TESSON_KERNELS").filter(|name| !name.is_empty()) {
        Some(name) => Kernels::choose(&name.to_string_lossy()),
        None => Ok(()),
    };
    OUTCOME.get_or_init(choose).clone()
}
