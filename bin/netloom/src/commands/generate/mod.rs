//! `netloom gen`: completions, man pages and reference pages, all from the program's own tables.

#[cfg(feature = "cluster")]
mod cluster;

use std::{fs, io, path::Path};

use clap::{Command, CommandFactory};

use crate::{
    args::{Args, GenArgs, GenVerb},
    failure::{Exit, Failure},
    output, reference,
};

pub(crate) fn run(args: &GenArgs) -> Result<Exit, Failure> {
    let GenArgs { what } = args;
    match what {
        GenVerb::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "netloom", &mut text);
            output::data(&String::from_utf8_lossy(&text))?;
        }
        GenVerb::Man { dir } => write_all(dir, &man_pages()?)?,
        GenVerb::Docs { dir } => {
            write_all(dir, &reference::pages())?;
            #[cfg(feature = "cluster")]
            write_all(&dir.join("kinds"), &cluster::kind_pages())?;
        }
        #[cfg(feature = "cluster")]
        GenVerb::Cluster(what) => return cluster::run(what),
    }
    Ok(Exit::Done)
}

/// One page for each command, named like `netloom-state-set.1`.
fn man_pages() -> Result<Vec<(String, String)>, Failure> {
    let mut root = Args::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    collect(&root, &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    pages.push((format!("{name}.1"), String::from_utf8_lossy(&page).into_owned()));
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).try_for_each(|sub| collect(sub, pages))
}

fn write_all(dir: &Path, pages: &[(String, String)]) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|error| Failure::usage(format_args!("cannot make {}: {error}", dir.display())))?;
    for (name, text) in pages {
        let path = dir.join(name);
        fs::write(&path, text)
            .map_err(|error| Failure::usage(format_args!("cannot write {}: {error}", path.display())))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visible_verb_has_a_man_page() {
        let names: Vec<String> = man_pages().unwrap().into_iter().map(|(name, _)| name).collect();
        for page in
            ["netloom.1", "netloom-state.1", "netloom-state-set.1", "netloom-state-explain.1", "netloom-gen-man.1"]
        {
            assert!(names.iter().any(|name| name == page), "{page} is not in {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("guard")), "{names:?}");
    }
}
