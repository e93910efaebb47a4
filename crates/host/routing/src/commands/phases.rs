//! The phases that are about what instances and filters stand on, and what goes first and last.

use std::collections::BTreeSet;

use super::Planner;
use crate::{
    config::Context,
    syntax::{self, Place},
};

/// Where EVPN is configured for the whole daemon.
const EVPN: &str = "address-family l2vpn evpn";
/// The line that makes bgpd look at tunnel devices.
const ALL_VNI: &str = "advertise-all-vni";

impl Planner {
    /// Removes instances that are not wanted or have another AS number, and before them what needs them: imports, and the
    /// VNI of the VRF.
    pub(super) fn retire(&mut self) {
        let gone = self.gone_instances();
        let vrfs: BTreeSet<String> = gone
            .iter()
            .filter_map(|opening| syntax::instance(opening))
            .map(|found| found.vrf.unwrap_or("default").to_owned())
            .collect();
        self.take_imports(&vrfs);
        for context in self.blocks_of(Place::Vrf) {
            let vrf = context.first().and_then(|opening| opening.strip_prefix("vrf ")).unwrap_or_default();
            let unwanted = |line: &str| vrfs.contains(vrf) || !self.wanted.has(&context, line);
            let old: Vec<String> = self
                .state
                .lines_of(&context)
                .filter(|line| line.starts_with("vni ") && unwanted(line))
                .map(str::to_owned)
                .collect();
            for line in old {
                self.take(&context, &line);
            }
        }
        for opening in gone {
            self.take(&[], &opening);
        }
    }

    /// Opening lines of instances that must go, the default one last. It needs all others gone: bgpd refuses otherwise.
    fn gone_instances(&self) -> Vec<String> {
        let mut openings: Vec<&str> =
            self.state.lines_of(&[]).filter(|line| syntax::instance(line).is_some()).collect();
        let is_default = |line: &str| syntax::instance(line).is_some_and(|found| found.vrf.is_none());
        let default_goes = openings.iter().any(|line| is_default(line) && !self.wanted.has(&[], line));
        openings.retain(|line| default_goes || !self.wanted.has(&[], line));
        openings.sort_by_key(|line| is_default(line));
        openings.into_iter().map(str::to_owned).collect()
    }

    /// Removes what instances import and shall not, or import from an instance that goes. Also what an instance imports
    /// that goes itself: bgpd otherwise leaves traces of it in the others.
    fn take_imports(&mut self, gone: &BTreeSet<String>) {
        for context in self.blocks_of(Place::Family) {
            let unwanted = |line: &&str| {
                syntax::imported(&context, line)
                    .is_some_and(|vrf| gone.contains(vrf) || !self.wanted.has(&context, line))
            };
            let old: Vec<String> = self.state.lines_of(&context).filter(unwanted).map(str::to_owned).collect();
            for line in old {
                self.take(&context, &line);
            }
        }
    }

    /// Blocks of a kind that there are.
    pub(super) fn blocks_of(&self, place: Place) -> Vec<Context> {
        self.state
            .blocks()
            .map(|(context, _)| context)
            .filter(|context| Place::of(context) == place)
            .map(<[String]>::to_vec)
            .collect()
    }

    /// Makes bgpd look at tunnel devices, before anything else.
    pub(super) fn announce_evpn(&mut self) {
        let wanted: Vec<Context> = self
            .wanted
            .blocks()
            .filter(|(context, lines)| {
                matches!(context, [instance, family] if family == EVPN && lines.contains(ALL_VNI)
                    && syntax::instance(instance).is_some())
            })
            .map(|(context, _)| context.to_vec())
            .collect();
        for context in wanted {
            if let Some(instance) = context.first().filter(|_| !self.state.has(&context, ALL_VNI)).cloned() {
                self.put(&[], &instance);
                self.put(&context, ALL_VNI);
            }
        }
    }

    /// Global settings, BFD, interfaces and blocks that this crate does not know, then VRFs.
    pub(super) fn set_devices(&mut self) {
        let is_list = |line: &str| syntax::LISTS.iter().any(|start| line.starts_with(start));
        let is_heading = |line: &str| line.starts_with("frr ");
        self.take_conflicting_routes(&[]);
        self.put_wanted(&[], |line| !is_list(line) && !is_heading(line));
        self.take_others(&[], |line| !is_list(line) && !is_heading(line));
        for opening in self.openings(&self.wanted, &[]) {
            let context = vec![opening];
            match Place::of(&context) {
                Place::Bfd => self.set_bfd(&context),
                Place::Interface | Place::Other => self.settle(&context),
                Place::Vrf => self.set_vrf(&context),
                Place::Top | Place::RouteMap | Place::Bgp | Place::Family | Place::EvpnVni | Place::BfdProfile => {}
            }
        }
        for opening in self.openings(&self.state, &[]) {
            let context = vec![opening.clone()];
            match Place::of(&context) {
                Place::Interface | Place::Other => self.take_unwanted_block(&[], &opening),
                Place::Vrf => self.take_others(&context, |_| true),
                Place::Top
                | Place::RouteMap
                | Place::Bgp
                | Place::Family
                | Place::EvpnVni
                | Place::Bfd
                | Place::BfdProfile => {}
            }
        }
    }

    /// Profiles that go are removed at the end: neighbours may still name them.
    fn set_bfd(&mut self, context: &Context) {
        self.put(&[], "bfd");
        self.put_wanted(context, |_| true);
        self.take_others(context, |_| true);
        for opening in self.openings(&self.wanted, context) {
            self.settle(&[context.as_slice(), &[opening]].concat());
        }
    }

    /// Routes that are new come before old ones go, so that a changed next hop leaves no gap.
    fn set_vrf(&mut self, context: &Context) {
        if let Some(opening) = context.first() {
            self.put(&[], opening);
        }
        self.take_conflicting_routes(context);
        self.put_wanted(context, |_| true);
        self.take_others(context, |_| true);
    }

    /// Removes routes that drop packets where others to the same destination are wanted, and the other way round: FRR has
    /// either the one or the other.
    fn take_conflicting_routes(&mut self, context: &[String]) {
        let wanted: Vec<_> = self.wanted.lines_of(context).filter_map(syntax::static_route).collect();
        let old: Vec<String> = self
            .state
            .lines_of(context)
            .filter(|line| {
                syntax::static_route(line)
                    .is_some_and(|old| wanted.iter().any(|new| new.path == old.path && new.drops != old.drops))
            })
            .map(str::to_owned)
            .collect();
        for line in old {
            self.take(context, &line);
        }
    }

    /// What others no longer need: filters that are attached no more, profiles, route maps, lists, and VRFs last.
    pub(super) fn clear(&mut self) {
        for place in [Place::Family, Place::Bgp] {
            for context in self.blocks_of(place) {
                self.take_others(&context, |_| true);
            }
        }
        self.clear_bfd();
        self.clear_route_maps();
        self.clear_lists();
        for opening in self.openings(&self.state, &[]).into_iter().rev() {
            if Place::of(std::slice::from_ref(&opening)) == Place::Vrf {
                self.take_unwanted_block(&[], &opening);
            }
        }
    }

    fn clear_bfd(&mut self) {
        let bfd = "bfd".to_owned();
        if self.state.has(&[], &bfd) && !self.wanted.has(&[], &bfd) {
            self.take(&[], &bfd);
        }
        let context = [bfd];
        for opening in self.openings(&self.state, &context) {
            self.take_unwanted_block(&context, &opening);
        }
    }
}
