//! `netloom gen`: completions, man pages and reference pages, all from the program's own tables.

use std::{fs, io, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::{Command, CommandFactory};
use netloom_api::generate::{self, Reached};

use crate::{
    args::{Args, GenArgs, GenVerb, WebhookArgs},
    commands::kubeconfig,
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
        GenVerb::Kubeconfig(args) => return kubeconfig::run(args),
        GenVerb::Crds { dir } => {
            manifests(dir.as_deref(), &below("deploy/crds/", &generate::manifests()))?;
        }
        GenVerb::Rbac { dir } => {
            let files = [("rbac.yaml", generate::rbac()), ("node-restriction.yaml", generate::node_restriction())];
            manifests(dir.as_deref(), &files.map(|(name, text)| (name.to_owned(), text)))?;
        }
        GenVerb::Webhook(WebhookArgs { ca, url, dir }) => {
            let authority = ca.as_deref().map(authority).transpose()?;
            let reached =
                Reached { address: url.as_deref().map(address).transpose()?, authority: authority.as_deref() };
            manifests(dir.as_deref(), &[("webhook.yaml".to_owned(), generate::webhook(reached))])?;
        }
        GenVerb::Docs { dir } => {
            write_all(dir, &reference::pages())?;
            write_all(&dir.join("kinds"), &below("docs/reference/kinds/", &generate::reference()))?;
        }
    }
    Ok(Exit::Done)
}

/// Prints manifests as one stream, or writes them to `dir`.
fn manifests(dir: Option<&Path>, files: &[(String, String)]) -> Result<(), Failure> {
    if let Some(dir) = dir {
        return write_all(dir, files);
    }
    let texts: Vec<&str> = files.iter().map(|(_, text)| text.as_str()).collect();
    Ok(output::data(&texts.join("---\n"))?)
}

/// The authority of a file, in the form that manifests have. A wrong file would show only when the
/// API server refuses everything, so it is looked into here.
fn authority(file: &Path) -> Result<String, Failure> {
    let text =
        fs::read(file).map_err(|error| Failure::usage(format_args!("cannot read {}: {error}", file.display())))?;
    if !String::from_utf8_lossy(&text).contains("-----BEGIN CERTIFICATE-----") {
        return Err(Failure::usage(format_args!("{} holds no certificate in PEM", file.display())));
    }
    Ok(STANDARD.encode(text))
}

/// An API server takes no other addresses.
fn address(url: &str) -> Result<&str, Failure> {
    let path = url.strip_prefix("https://").map(|rest| rest.trim_end_matches('/'));
    match path {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@']) => Ok(url),
        Some(_) | None => Err(Failure::usage(format_args!("{url:?} is not https://HOST:PORT"))),
    }
}

/// The files right below a folder, by their names.
fn below(folder: &str, files: &[generate::File]) -> Vec<(String, String)> {
    let name = |path: &str| path.strip_prefix(folder).filter(|name| !name.contains('/')).map(str::to_owned);
    files.iter().filter_map(|file| Some((name(&file.path)?, file.content.clone()))).collect()
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
