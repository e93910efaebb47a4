//! Text of a running configuration: read and printed.
//!
//! FRR indents the lines of a block by one space more than the line that opens it, so indentation alone says which block a
//! line is in; `exit` and its siblings are read over. They are printed, because a person may paste the text into `vtysh`,
//! and for the same reason lines are printed in an order in which FRR takes them.

use std::fmt;

use crate::{
    config::{Context, RoutingConfig},
    line::{HEADINGS, LineError, canonical},
    order::{self, Groups},
    syntax::{self, Place},
};

/// Why a text is no running configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A line is not one.
    #[error("cannot read line {number} of the running configuration: {source}")]
    Line {
        /// Counted from 1.
        number: usize,
        /// What is wrong with it.
        #[source]
        source: LineError,
    },
    /// The daemon answered something else than its configuration.
    #[error("line {number} is a message of the daemon and no configuration: {text}; ask it again")]
    Message {
        /// Counted from 1.
        number: usize,
        /// What it says, without passwords.
        text: String,
    },
    /// A line is indented, and nothing is before it that it could be in.
    #[error(
        "line {number} of the running configuration is indented and in no block; the text before it may be missing"
    )]
    NoBlock {
        /// Counted from 1.
        number: usize,
    },
}

impl ParseError {
    /// A stable name, for conditions and events.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Line { source, .. } => source.reason(),
            Self::Message { .. } => "DaemonMessage",
            Self::NoBlock { .. } => "LineInNoBlock",
        }
    }
}

impl RoutingConfig {
    /// Reads what a daemon prints for `show running-config`.
    ///
    /// All lines are kept, also those of other programs and people: `frr version`, `hostname` and their like are lines of
    /// the top level.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut config = Self::default();
        // Indentation and text of the line before, and of the lines around it.
        let mut around: Vec<(usize, String)> = Vec::new();
        for (index, raw) in text.lines().enumerate() {
            let number = index + 1;
            let raw = raw.trim_end();
            let text = raw.trim_start_matches(' ');
            if is_no_setting(text) {
                continue;
            }
            if text.starts_with('%') {
                return Err(ParseError::Message { number, text: crate::masked(text).into_owned() });
            }
            let line = canonical(text).map_err(|source| ParseError::Line { number, source })?;
            let indentation = raw.len() - text.len();
            while around.last().is_some_and(|(outer, _)| *outer >= indentation) {
                around.pop();
            }
            if around.is_empty() && indentation > 0 {
                return Err(ParseError::NoBlock { number });
            }
            let context: Context = around.iter().map(|(_, opening)| opening.clone()).collect();
            config.insert_closed(context, line.clone());
            around.push((indentation, line));
        }
        Ok(config)
    }
}

/// Separators, headings and ends of blocks.
fn is_no_setting(content: &str) -> bool {
    let ends = |end: &str| content == end || (end == "exit" && content.starts_with("exit-"));
    content.is_empty()
        || content.starts_with(['!', '#'])
        || HEADINGS.contains(&content)
        || ["exit", "end"].into_iter().any(ends)
}

impl fmt::Display for RoutingConfig {
    /// As `show running-config` prints it, with passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut config = self.clone();
        for (context, _) in self.blocks() {
            if let Some((opening, outer)) = context.split_last() {
                config.insert_closed(outer.to_vec(), opening.clone());
            }
        }
        print(&config, &mut Vec::new(), f)
    }
}

/// Prints one block and all that are in it.
fn print(config: &RoutingConfig, context: &mut Context, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let indentation = context.len();
    let place = Place::of(context);
    let groups = Groups::of(config, context);
    let mut lines: Vec<&str> = config.lines_of(context).collect();
    lines.sort_by(|one, other| order::compare(place, &groups, one, other));
    for line in lines {
        let is_block = syntax::opens(context, line) || config.opens(context, line);
        if is_block && context.len() == 1 {
            writeln!(f, " !")?;
        }
        writeln!(f, "{:indentation$}{line}", "")?;
        if is_block {
            context.push(line.to_owned());
            print(config, context, f)?;
            context.pop();
            writeln!(f, "{:indentation$}{}", "", syntax::exit(line))?;
            if context.is_empty() {
                writeln!(f, "!")?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_by_indentation() {
        let text = "Building configuration...\n\nCurrent configuration:\n!\nfrr version 8.4.4\nfrr defaults traditional\n\
                    hostname node1\n!\nvrf blue\n vni 10100\nexit-vrf\n!\nvrf green\nexit-vrf\n!\nrouter bgp 65001\n \
                    bgp router-id 10.0.0.1\n !\n address-family l2vpn evpn\n  advertise-all-vni\n  vni 5\n   rd 1:1\n  \
                    exit-vni\n  advertise-svi-ip\n exit-address-family\n!\nexit\n!\nend\n";
        let config = RoutingConfig::parse(text).unwrap();
        for (context, line) in [
            (&[][..], "frr version 8.4.4"),
            (&[], "hostname node1"),
            (&[], "vrf green"),
            (&["vrf blue"], "vni 10100"),
            (&["router bgp 65001"], "bgp router-id 10.0.0.1"),
            (&["router bgp 65001", "address-family l2vpn evpn"], "advertise-svi-ip"),
            (&["router bgp 65001", "address-family l2vpn evpn", "vni 5"], "rd 1:1"),
        ] {
            assert!(config.contains(context, line), "{context:?} {line}");
        }
        assert_eq!(config.len(), 13);
        assert_eq!(config.version(), Some("8.4.4"));
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for (text, reason) in [
            ("% Unknown command: show running-config\n", "DaemonMessage"),
            (" vni 5\n", "LineInNoBlock"),
            ("vrf blue\n vni\t5\n", "ControlCharacter"),
        ] {
            assert_eq!(RoutingConfig::parse(text).unwrap_err().reason(), reason, "{text:?}");
        }
    }

    #[test]
    fn text_is_in_an_order_that_daemons_take_and_has_all_exits() {
        let mut config = RoutingConfig::default();
        let bgp = "router bgp 65001 vrf blue";
        for (context, line) in [
            (&[bgp, "address-family ipv4 unicast"][..], "neighbor G activate"),
            (&[bgp, "address-family ipv4 unicast"], "import vrf red"),
            (&[bgp], "neighbor 10.0.0.1 description x"),
            (&[bgp], "neighbor 10.0.0.1 remote-as 65010"),
            (&[bgp], "neighbor G peer-group"),
            (&[bgp], "bgp router-id 10.0.0.9"),
            (&["vrf blue"], "vni 7"),
            (&["route-map m permit 100"], "match community c"),
            (&[], "route-map m permit 20"),
            (&[], "ip prefix-list p seq 5 permit any"),
            (&["bfd", "profile fast"], "detect-multiplier 5"),
        ] {
            config.add(context, line).unwrap();
        }
        assert_eq!(
            config.to_string(),
            "ip prefix-list p seq 5 permit any\nroute-map m permit 20\nexit\n!\nroute-map m permit 100\n match community \
             c\nexit\n!\nbfd\n !\n profile fast\n  detect-multiplier 5\n exit\nexit\n!\nvrf blue\n vni 7\nexit-vrf\n!\n\
             router bgp 65001 vrf blue\n bgp router-id 10.0.0.9\n neighbor G peer-group\n neighbor 10.0.0.1 remote-as \
             65010\n neighbor 10.0.0.1 description x\n !\n address-family ipv4 unicast\n  import vrf red\n  neighbor G \
             activate\n exit-address-family\nexit\n!\n"
        );
    }
}
