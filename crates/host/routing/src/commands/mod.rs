//! The commands that lead from one configuration to another, in an order in which FRR takes them.
//!
//! ```text
//!   retire     imports, VNIs, VRF instances, the default instance: what others need goes after what needs it
//!   EVPN       advertise-all-vni: bgpd must not see a tunnel device without it
//!   filters    lists, then route maps that may name them, those that others call first
//!   devices    BFD profiles, interfaces, VRFs with their VNIs and static routes
//!   instances  the default one, then those of VRFs
//!   imports    once every instance is there
//!   activation once every filter is there; then the ranges from which groups take neighbours
//!   leftovers  filters that are attached no more, profiles, route maps, lists, `advertise-all-vni`, VRFs
//! ```
//!
//! Each phase compares what there is by then with what is wanted: what an earlier command took away along with its own
//! line ([`crate::effect`]) is sent again in the phase that it belongs to.

mod filters;
mod instances;
mod lists;
mod phases;

use crate::{
    command::Command,
    config::{Context, RoutingConfig},
    effect,
    order::{self, Groups},
    syntax::{self, Place},
};

/// The commands that lead from one configuration to the other, both of them whole: what `now` has and `wanted` has not is
/// removed, whoever configured it.
///
/// Nothing that is in both is sent. `commands(wanted, now)` is the way back. A configuration that FRR cannot have (two
/// entries of one list that say the same, two values of one setting) is not reached.
pub fn commands(now: &RoutingConfig, wanted: &RoutingConfig) -> Vec<Command> {
    let mut planner = Planner { state: now.closed(), wanted: wanted.closed(), commands: Vec::new() };
    planner.retire();
    planner.announce_evpn();
    planner.set_lists();
    planner.set_route_maps();
    planner.set_devices();
    planner.set_instances();
    planner.set_imports();
    planner.activate();
    planner.clear();
    planner.commands
}

/// A configuration on its way to another.
struct Planner {
    /// What there is after the commands so far.
    state: RoutingConfig,
    /// What there shall be.
    wanted: RoutingConfig,
    /// What is to be sent.
    commands: Vec<Command>,
}

impl Planner {
    /// Sends one line.
    fn send(&mut self, context: &[String], line: &str) {
        effect::apply(&mut self.state, context, line);
        self.commands.push(Command::new(context.to_vec(), line.to_owned()));
    }

    /// Sends a line that is not there, and before it the removal of an old value that FRR would not replace.
    fn put(&mut self, context: &[String], line: &str) {
        if self.state.has(context, line) {
            return;
        }
        if let Some(setting) = syntax::setting(context, line) {
            let old = syntax::of_setting(&self.state, context, &setting)
                .find(|old| syntax::needs_two_steps(context, old, line));
            if let Some(old) = old.map(str::to_owned) {
                self.take(context, &old);
            }
        }
        self.send(context, line);
    }

    /// Removes a line, if it is still there.
    fn take(&mut self, context: &[String], line: &str) {
        if self.state.has(context, line) {
            let removal = syntax::removal(context, line).into_owned();
            self.send(context, &removal);
        }
    }

    /// Removes all lines of a block that are not wanted and pass, the last ones first; values that are replaced stay.
    fn take_others(&mut self, context: &[String], passes: impl Fn(&str) -> bool) {
        let mut others: Vec<String> = self.plain_lines(&self.state, context);
        others.retain(|line| passes(line) && !self.wanted.has(context, line) && !self.is_replaced(context, line));
        for line in others.iter().rev() {
            self.take(context, line);
        }
    }

    /// Sends all wanted lines of a block that are not there and pass.
    fn put_wanted(&mut self, context: &[String], passes: impl Fn(&str) -> bool) {
        for line in self.plain_lines(&self.wanted, context) {
            if passes(&line) {
                self.put(context, &line);
            }
        }
    }

    /// Whether the line is the old value of a setting that is wanted with another one.
    fn is_replaced(&self, context: &[String], line: &str) -> bool {
        syntax::setting(context, line)
            .is_some_and(|setting| syntax::of_setting(&self.wanted, context, &setting).next().is_some())
    }

    /// The lines of a block that open no other, in order.
    fn plain_lines(&self, config: &RoutingConfig, context: &[String]) -> Vec<String> {
        self.ordered(config, context, |line| !syntax::opens(context, line) && !config.opens(context, line))
    }

    /// The lines of a block that open another one of which this crate knows when it is there, in order.
    fn openings(&self, config: &RoutingConfig, context: &[String]) -> Vec<String> {
        self.ordered(config, context, |line| syntax::opens(context, line) || config.opens(context, line))
    }

    /// Lines of a block in order.
    fn ordered(&self, config: &RoutingConfig, context: &[String], passes: impl Fn(&str) -> bool) -> Vec<String> {
        let groups = Groups::of(&self.state, context).and(Groups::of(&self.wanted, context));
        let place = Place::of(context);
        let mut lines: Vec<String> = config.lines_of(context).filter(|line| passes(line)).map(str::to_owned).collect();
        lines.sort_by(|one, other| order::compare(place, &groups, one, other));
        lines
    }

    /// Settles a block and all in it: makes it if it is not there, removes what is not wanted, adds what is.
    fn settle(&mut self, context: &Context) {
        if let Some((opening, outer)) = context.split_last()
            && !syntax::is_place(outer, opening)
        {
            self.put(outer, opening);
        }
        self.take_others(context, |_| true);
        self.put_wanted(context, |_| true);
        for opening in self.openings(&self.state, context) {
            self.take_unwanted_block(context, &opening);
        }
        for opening in self.openings(&self.wanted, context) {
            self.settle(&syntax::inner(context, &opening));
        }
    }

    /// Removes a block that is not wanted; of a place, which cannot be removed, its lines.
    fn take_unwanted_block(&mut self, context: &[String], opening: &str) {
        if self.wanted.has(context, opening) {
            return;
        }
        if !syntax::is_place(context, opening) {
            self.take(context, opening);
            return;
        }
        let inner = syntax::inner(context, opening);
        self.take_others(&inner, |_| true);
        for opening in self.openings(&self.state, &inner) {
            self.take_unwanted_block(&inner, &opening);
        }
    }
}
