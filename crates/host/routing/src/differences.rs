//! What differs between two configurations, for people.

use std::fmt;

use crate::{
    command::write_in_context,
    config::{Context, RoutingConfig},
    order::{self, Groups},
    syntax::Place,
};

/// Whether a line comes or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// It is not there and is wanted.
    Added,
    /// It is there and is not wanted.
    Removed,
}

/// A line that comes or goes. A value that changes is both.
#[derive(Clone, PartialEq, Eq)]
pub struct LineChange {
    /// Which of the two.
    pub change: Change,
    /// Opening lines from the outermost to the innermost block; empty for the top level.
    pub context: Vec<String>,
    /// The line, with its password.
    pub line: String,
}

impl fmt::Display for LineChange {
    /// On one line, without passwords and without the direction: `router bgp 65001 vrf blue: neighbor 10.0.0.1 remote-as
    /// 65010`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_in_context(&self.context, &self.line, f)
    }
}

impl fmt::Debug for LineChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.change, self.to_string())
    }
}

/// Every line that comes or goes, in the order of the text. The opening line of a block is named only where the block has
/// no other line: each line names its blocks.
pub fn differences(now: &RoutingConfig, wanted: &RoutingConfig) -> Vec<LineChange> {
    let (now, wanted) = (now.closed(), wanted.closed());
    let both = now.union(&wanted);
    let mut changes = Vec::new();
    collect(&both, &[], &mut |context, line| {
        let sides = [(Change::Removed, &now, &wanted), (Change::Added, &wanted, &now)];
        for (change, there, not_there) in sides {
            if there.has(context, line) && !not_there.has(context, line) && !there.opens(context, line) {
                changes.push(LineChange { change, context: context.to_vec(), line: line.to_owned() });
            }
        }
    });
    changes
}

/// Calls for each line in the order of the text.
fn collect(config: &RoutingConfig, context: &[String], each: &mut impl FnMut(&[String], &str)) {
    let place = Place::of(context);
    let groups = Groups::of(config, context);
    let mut lines: Vec<&str> = config.lines_of(context).collect();
    lines.sort_by(|one, other| order::compare(place, &groups, one, other));
    for line in lines {
        each(context, line);
        let inner: Context = crate::syntax::inner(context, line);
        collect(config, &inner, each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_names_its_blocks_and_no_password() {
        let bgp = "router bgp 65001 vrf blue";
        let mut now = RoutingConfig::default();
        now.add(&[bgp], "neighbor 10.0.0.1 remote-as 65010").unwrap();
        now.add(&["vrf blue"], "vni 5").unwrap();
        let mut wanted = now.clone();
        wanted.add(&[bgp], "neighbor 10.0.0.1 password secret").unwrap();
        wanted.add(&[bgp, "address-family ipv4 unicast"], "import vrf red").unwrap();
        wanted.add(&[], "vrf red").unwrap();
        let mut now = now.filter(|_, line| line != "vni 5");
        now.add(&["vrf blue"], "vni 6").unwrap();
        let shown: Vec<String> =
            differences(&now, &wanted).iter().map(|change| format!("{:?} {change}", change.change)).collect();
        assert_eq!(
            shown,
            [
                "Added vrf blue: vni 5",
                "Removed vrf blue: vni 6",
                "Added vrf red",
                "Added router bgp 65001 vrf blue: neighbor 10.0.0.1 password ***",
                "Added router bgp 65001 vrf blue, address-family ipv4 unicast: import vrf red",
            ]
        );
        assert!(differences(&wanted, &wanted).is_empty());
    }
}
