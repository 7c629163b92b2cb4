//! `tesson completions` and `tesson man`: what shells and `man` know of the command, made from the declaration of its options.

use std::path::Path;

use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::option_rules;
use crate::output::Output;

/// Prints the script that completes commands and options in a shell.
pub(crate) fn completions(shell: Shell, out: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut option_rules::declaration(), "tesson", &mut script);
    Ok(out.bytes(&script)?)
}

/// Prints the page about the command, or writes it and a page about each of its commands into a folder.
pub(crate) fn man(folder: Option<&Path>, out: &mut Output) -> Result<(), Failure> {
    let mut declared = option_rules::declaration().disable_help_subcommand(true);
    let Some(folder) = folder else {
        return Ok(out.bytes(&page(declared)?)?);
    };
    declared.build();
    let commands: Vec<_> = declared.get_subcommands().cloned().collect();
    let of_command = commands.into_iter().map(|command| {
        // Pages are found by `man tesson-read`, and say `tesson read`.
        (format!("tesson-{}.1", command.get_name()), command)
    });
    for (name, command) in std::iter::once(("tesson.1".to_owned(), declared.clone())).chain(of_command) {
        let path = folder.join(&name);
        tesson_engine::atomic_file::write(&path, &page(command)?).map_err(|e| Failure::file(&path, e))?;
        out.line(&path.to_string_lossy())?;
    }
    Ok(())
}

fn page(command: clap::Command) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    Man::new(command).render(&mut text)?;
    Ok(text)
}
