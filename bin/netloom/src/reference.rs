//! Reference pages in Markdown: the command line from its definitions, the document's properties
//! from the model's table. Pure; `netloom gen docs` writes them.

use clap::{Arg, Command, CommandFactory};
use netloom_model::{Attr, Change, LinkKind, Section, Shape};

use crate::{args::Args, text::push};

const MADE: &str = "<!-- Made by `scripts/generated`; edits here are lost. -->\n\n";

/// The pages, as file name and text.
pub(crate) fn pages() -> Vec<(String, String)> {
    vec![
        ("README.md".to_owned(), index()),
        ("cli.md".to_owned(), command_line()),
        ("document.md".to_owned(), document()),
    ]
}

fn index() -> String {
    format!(
        "{MADE}# Reference\n\n- [Command line](cli.md): every verb with its options\n- [Document](document.md): the \
         properties of every kind of link\n- [Kinds](kinds/README.md): every kind of object, field by field\n"
    )
}

fn command_line() -> String {
    let mut root = Args::command().disable_help_subcommand(true);
    root.build();
    let mut text = format!("{MADE}# Command line\n");
    describe(&root, &mut text);
    text
}

fn describe(command: &Command, text: &mut String) {
    let mut usage = command.clone();
    let path = usage.render_usage().to_string().replace("Usage: ", "");
    let title = command.get_bin_name().unwrap_or_else(|| command.get_name());
    push(text, format_args!("\n## {title}\n\n"));
    if let Some(about) = command.get_long_about().or(command.get_about()) {
        push(text, format_args!("{about}\n\n"));
    }
    push(text, format_args!("```text\n{}\n```\n", path.trim()));
    let options: Vec<&Arg> =
        command.get_arguments().filter(|arg| !arg.is_hide_set() && is_described(arg, command)).collect();
    if !options.is_empty() {
        text.push_str("\n| argument | meaning |\n|---|---|\n");
        for arg in options {
            push(text, format_args!("| {} | {} |\n", spelling(arg), meaning(arg)));
        }
    }
    if let Some(after) = command.get_after_help() {
        push(text, format_args!("\n```text\n{after}\n```\n"));
    }
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).for_each(|sub| describe(sub, text));
}

/// Help and version are the same everywhere; what all verbs of `state` share is listed there once.
fn is_described(arg: &Arg, command: &Command) -> bool {
    let reported_above = arg.is_global_set() && command.get_name() != "state";
    !reported_above && !matches!(arg.get_id().as_str(), "help" | "version")
}

fn spelling(arg: &Arg) -> String {
    let value =
        arg.get_value_names().and_then(|names| names.first()).map(clap::builder::Str::as_str).unwrap_or_default();
    let takes_value = arg.get_action().takes_values();
    match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) if takes_value => format!("`-{short}`, `--{long} {value}`"),
        (Some(short), Some(long)) => format!("`-{short}`, `--{long}`"),
        (None, Some(long)) if takes_value => format!("`--{long} {value}`"),
        (None, Some(long)) => format!("`--{long}`"),
        (_, None) => format!("`{value}`"),
    }
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    text = text.replace("\n\n", ". ").replace('\n', " ").replace('|', "\\|");
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if arg.get_action().takes_values() && !values.is_empty() {
        push(&mut text, format_args!(": {}", values.join(", ")));
    }
    if let Some(variable) = arg.get_env() {
        push(&mut text, format_args!(" (variable `{}`)", variable.to_string_lossy()));
    }
    if let [default] = arg.get_default_values()
        && arg.get_action().takes_values()
    {
        push(&mut text, format_args!("; `{}` by default", default.to_string_lossy()));
    }
    text
}

fn document() -> String {
    let mut text = format!(
        "{MADE}# Properties of an interface\n\n\
         Every single-valued property that a document can give to a link, from the table that the reader, the planner\n\
         and the kernel engine share. Lists (addresses, ports, VLANs, forwarding entries, mirrors, routes, rules) and the\n\
         rules of merging are described in [node-state.md](../node-state.md).\n\n\
         *Change*: `live` in place; `down` the link is taken down for a moment; `no ports` its ports are released for a\n\
         moment; `recreated` the link is deleted and created again, and what stood on it is put back.\n"
    );
    for (section, place, about) in SECTIONS {
        push(&mut text, format_args!("\n## {about}\n\n{place}\n\n"));
        match section {
            Section::Kind => kinds(&mut text),
            _ => rows(&mut text, |attr| attr.section() == *section),
        }
    }
    text
}

const SECTIONS: &[(Section, &str, &str)] = &[
    (Section::Common, "At the top of the interface.", "All links"),
    (Section::Kind, "In the block that is named with the kind.", "By kind"),
    (Section::BridgeOptions, "In `bridge.options`.", "Bridges"),
    (Section::BridgeStp, "In `bridge.options.stp`.", "Spanning tree of a bridge"),
    (Section::BridgePort, "In an entry of `bridge.port`.", "Ports of a bridge"),
    (Section::BondOptions, "In `link-aggregation.options`.", "Bonds"),
    (Section::BondPort, "In an entry of `link-aggregation.ports-config`.", "Ports of a bond"),
    (Section::Ipv4, "In `ipv4`.", "IPv4"),
    (Section::Ipv6, "In `ipv6`.", "IPv6"),
    (Section::SysctlIpv4, "In `sysctl.ipv4`.", "Kernel settings of a link, IPv4"),
    (Section::SysctlIpv6, "In `sysctl.ipv6`.", "Kernel settings of a link, IPv6"),
    (Section::Ethernet, "In `ethernet`.", "Network cards"),
    (Section::Pause, "In `ethtool.pause`.", "Pause frames"),
    (Section::Ring, "In `ethtool.ring`.", "Ring sizes"),
];

fn kinds(text: &mut String) {
    for kind in LinkKind::KNOWN {
        let has = |attr: Attr| attr.section() == Section::Kind && attr.applies_to(kind);
        if Attr::ALL.iter().any(|attr| has(*attr)) {
            push(text, format_args!("### `type: {kind}`, block `{}`\n\n", kind.block()));
            rows(text, has);
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}

fn rows(text: &mut String, wanted: impl Fn(Attr) -> bool) {
    text.push_str("| key | meaning | values | on a new link | change |\n|---|---|---|---|---|\n");
    for attr in Attr::ALL.iter().copied().filter(|attr| wanted(*attr)) {
        let usual = attr.default_value().map(|value| value.display(attr)).filter(|value| !value.is_empty());
        let usual = usual.map_or_else(|| "–".to_owned(), |value| format!("`{value}`"));
        push(
            text,
            format_args!(
                "| `{}` | {} | {} | {usual} | {} |\n",
                attr.key(),
                attr.about(),
                values(attr.shape()),
                change(attr.change())
            ),
        );
    }
}

fn values(shape: Shape) -> String {
    let words =
        |words: &[(&str, u64)]| words.iter().map(|(word, _)| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    match shape {
        Shape::Bool => "`true`, `false`".to_owned(),
        Shape::Int { min, max } => format!("{min} – {max}"),
        Shape::Enum(all) => words(all),
        Shape::Flags(all) => format!("list of {}", words(all)),
        Shape::Mac => "hardware address".to_owned(),
        Shape::Ip => "address".to_owned(),
        Shape::Ips => "addresses, separated by commas".to_owned(),
        Shape::Link => "link name".to_owned(),
        Shape::Map { from_max, to_max } => format!("list of `from` (0 – {from_max}) and `to` (0 – {to_max})"),
    }
}

fn change(change: Change) -> &'static str {
    match change {
        Change::Live => "live",
        Change::Down => "down",
        Change::NoPorts => "no ports",
        Change::Recreate => "recreated",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_is_in_the_reference() {
        let page = document();
        for attr in Attr::ALL {
            assert!(page.contains(&format!("| `{}` | {} |", attr.key(), attr.about())), "{attr:?}");
        }
        for attr in Attr::ALL {
            assert!(SECTIONS.iter().any(|(section, ..)| *section == attr.section()), "{attr:?}");
        }
    }

    #[test]
    fn every_option_is_in_the_reference() {
        let page = command_line();
        for word in ["`--whole-of NAME`", "`--no-commit`", "`-o`, `--output FORMAT`", "NETLOOM_STATE_DIR"] {
            assert!(page.contains(word), "{word}");
        }
        assert!(!page.contains("guard"));
    }
}
