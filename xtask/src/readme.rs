//! Checks of the commands in README.md and the manual: jobs exist, commands run, Python runs, the demo runs.

use std::fs;
use std::iter;
use std::path::Path;

use crate::run::{built_tesson, program, root, target, tee};
use crate::source_text::files;
use crate::tally::Tally;
use crate::{demo, job_names, python};

/// A fenced block of a Markdown file.
struct Block {
    language: String,
    /// Line of its first line, from 1.
    line: usize,
    text: String,
}

/// Checks every command and every block of Python, and runs the demo.
pub(crate) fn check() -> Tally {
    // The command that the tests have built: the demo's own would be built once more.
    let demo = Tally::one(demo::run(&[]));
    let pages: Tally = iter::once(blocks_of_readme()).chain(manual()).map(|page| run_page(&page)).sum();
    demo + jobs_exist() + pages
}

/// Runs the commands of a page, and its Python as one script.
fn run_page(blocks: &[Block]) -> Tally {
    let commands: Tally = commands(blocks).map(|(_, command)| run_command(&command)).sum();
    commands + run_python(blocks)
}

/// The blocks of the manual's pages.
fn manual() -> impl Iterator<Item = Vec<Block>> {
    let is_page = |path: &str| path == "docs/README.md" || path.starts_with("docs/manual/");
    let pages = files().into_iter().filter(move |f| is_page(&f.path) && f.path.ends_with(".md"));
    pages.map(|page| blocks(&page.text))
}

/// Runs every block of Python with an interpreter that has the package.
pub(crate) fn run_all_python(python: &Path) -> Tally {
    run_script(&script_of(&blocks_of_readme()), python)
}

fn blocks_of_readme() -> Vec<Block> {
    blocks(&fs::read_to_string(root().join("README.md")).unwrap_or_default())
}

/// The commands of the blocks of shell, with their lines.
fn commands(blocks: &[Block]) -> impl Iterator<Item = (usize, String)> {
    let shell = blocks.iter().filter(|b| b.language == "sh");
    shell.flat_map(|b| b.text.lines().enumerate().map(|(i, l)| (b.line + i, command_of(l))))
}

/// A line without prompt and comment.
fn command_of(line: &str) -> String {
    let line = line.split(" #").next().unwrap_or(line).trim();
    line.strip_prefix("$ ").unwrap_or(line).to_owned()
}

/// Runs a command of ours; others (installing, cloning) are not for a test to run.
fn run_command(command: &str) -> Tally {
    let Some(arguments) = command.strip_prefix("tesson ") else { return Tally::default() };
    let tesson = built_tesson();
    if !tesson.exists() {
        println!("FAIL {command}: {} is not built; run the step `rust` first", tesson.display());
        return Tally::one(false);
    }
    let absent = |argument: &&str| !argument.starts_with('-') && !root().join(argument).exists();
    let absent: Vec<&str> = arguments.split_whitespace().filter(absent).collect();
    let outcome = tee(program(tesson).args(arguments.split_whitespace()));
    // The files that the command has written would stop it the next time.
    absent.iter().for_each(|name| drop(fs::remove_file(root().join(name))));
    Tally::one(outcome.success)
}

/// Every `cargo xtask JOB` in any document is a job.
fn jobs_exist() -> Tally {
    let mut unknown = Vec::new();
    for file in files().iter().filter(|f| f.path.ends_with(".md")) {
        let named = file.text.split("cargo xtask ").skip(1).filter_map(first_word);
        unknown.extend(
            named.filter(|w| !job_names().any(|job| job == *w)).map(|w| format!("{}: `{w}`", file.path)),
        );
    }
    for name in &unknown {
        println!("FAIL no such job, {name}");
    }
    Tally::one(unknown.is_empty())
}

fn first_word(text: &str) -> Option<&str> {
    text.split(|c: char| !c.is_ascii_lowercase()).next().filter(|word| !word.is_empty())
}

fn run_python(blocks: &[Block]) -> Tally {
    let script = script_of(blocks);
    if script.is_empty() {
        return Tally::default();
    }
    python::with_python(|python| run_script(&script, python))
}

/// The blocks of Python in turn, as one script: a later block may use what an earlier one made.
fn script_of(blocks: &[Block]) -> String {
    blocks.iter().filter(|b| b.language == "python").map(|b| b.text.as_str()).collect()
}

fn run_script(text: &str, python: &Path) -> Tally {
    let script = target().join("readme.py");
    let written = write(&script, text);
    Tally::one(written && tee(program(python).arg(&script)).success)
}

fn write(path: &Path, text: &str) -> bool {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, text)).is_ok()
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (i, line) in markdown.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(language), false) => {
                found.push(Block { language: language.to_owned(), line: i + 2, text: String::new() });
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => found.last_mut().expect("a block is open").text.push_str(&format!("{line}\n")),
            (None, false) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n```sh\n$ tesson info x  # look\ncargo build\n```\ntext\n```python\na = 1\n```\n";

    #[test]
    fn blocks_are_found_with_language_and_line() {
        let found: Vec<_> = blocks(PAGE).into_iter().map(|b| (b.language, b.line, b.text)).collect();
        let shell = "$ tesson info x  # look\ncargo build\n";
        assert_eq!(found, [("sh".into(), 3, shell.into()), ("python".into(), 8, "a = 1\n".into())]);
    }

    #[test]
    fn commands_lose_prompt_and_comment() {
        let found: Vec<_> = commands(&blocks(PAGE)).collect();
        assert_eq!(found, [(3, "tesson info x".into()), (4, "cargo build".into())]);
    }

    #[test]
    fn commands_of_others_are_not_run() {
        assert_eq!(run_command("cargo build"), Tally::default());
    }
}
