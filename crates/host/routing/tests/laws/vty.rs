//! A daemon that takes commands as FRR 8.4.4 was seen to: what it refuses, replaces, ignores and takes away along.
//!
//! It is stricter where FRR only goes wrong later: it refuses to remove what is in use, to make instances by importing from
//! them, and to take what it has already.

use std::collections::BTreeSet;

use netloom_routing::{Command, RoutingConfig};

/// A line with the opening lines of its blocks before it.
type Path = Vec<String>;

/// The daemon. A block's own line is there as long as it is in a path.
pub(crate) struct Vty {
    paths: BTreeSet<Path>,
}

const OFF: &str = "no bgp default ipv4-unicast";

impl Vty {
    pub(crate) fn new(config: &RoutingConfig) -> Self {
        let paths = config.lines().map(|(context, line)| [context, &[line.to_owned()]].concat());
        Self { paths: paths.collect() }
    }

    pub(crate) fn running_config(&self) -> RoutingConfig {
        let mut config = RoutingConfig::default();
        for path in &self.paths {
            let (line, context) = path.split_last().unwrap();
            let context: Vec<&str> = context.iter().map(String::as_str).collect();
            config.add(&context, line).unwrap();
        }
        config
    }

    pub(crate) fn run(&mut self, command: &Command) -> Result<(), String> {
        for at in 0..command.context.len() {
            let opening = &command.context[..=at];
            if opening[at].starts_with("address-family ") {
                continue;
            }
            if !self.paths.contains(opening) {
                return Err(format!("{} is not there", opening[at]));
            }
        }
        let line = command.line.as_str();
        let context = &command.context;
        match line.strip_prefix("no ") {
            Some(_) if line == OFF => self.set_default_activation(context, true),
            Some(positive) if positive.starts_with("neighbor ") && positive.ends_with(" activate") => {
                self.activate(context, line);
            }
            Some(positive) if ["bgp ebgp-requires-policy"].contains(&positive) => self.insert(context, line),
            Some(positive) => self.remove(context, positive)?,
            None if self.paths.remove(&path(context, &format!("no {line}"))) => {
                if OFF == format!("no {line}") {
                    self.set_default_activation(context, false);
                }
            }
            None if self.paths.contains(&path(context, line)) => return Err("it is there already".to_owned()),
            None if line.ends_with(" activate") => self.activate(context, line),
            None => self.set(context, line)?,
        }
        self.forget_empty_families();
        Ok(())
    }

    /// That no filter in use passes everything by an entry without a condition that neither side has.
    pub(crate) fn passes_no_more_than(&self, now: &RoutingConfig, wanted: &RoutingConfig) -> Result<(), String> {
        let open = |paths: &BTreeSet<Path>| -> BTreeSet<String> {
            let is_open = |opening: &str| {
                opening.starts_with("route-map ")
                    && opening.contains(" permit ")
                    && !paths.iter().any(|path| {
                        path.len() == 2
                            && path[0] == opening
                            && ["match ", "call "].iter().any(|start| path[1].starts_with(start))
                    })
            };
            paths.iter().filter(|path| path.len() == 1 && is_open(&path[0])).map(|path| path[0].clone()).collect()
        };
        let map_of = |opening: &str| opening.split(' ').nth(1).unwrap().to_owned();
        let open_before = open(&Self::new(now).paths);
        let open_after = open(&Self::new(wanted).paths);
        for opening in open(&self.paths) {
            let closed = self.is_closed_before(&opening);
            if !open_before.contains(&opening)
                && !open_after.contains(&opening)
                && !closed
                && self.is_used(&map_of(&opening))
            {
                return Err(format!("{opening} passes everything while it is in use"));
            }
        }
        let has_map = |vty: &Self, map: &str| vty.lines(&[]).any(|line| line.starts_with(&format!("route-map {map} ")));
        let (before, after) = (Self::new(now), Self::new(wanted));
        for map in ["m1", "m2", "m3"] {
            let never_there = after.is_used(map) && !has_map(&after, map);
            if has_map(&before, map) && !has_map(self, map) && self.is_used(map) && !never_there {
                return Err(format!("route map {map} is gone while it is in use"));
            }
        }
        let used_list =
            |list: &str| self.paths.iter().any(|path| path.last().unwrap().ends_with(&format!("prefix-list {list}")));
        for list in ["p1", "p2"] {
            let has = |config: &RoutingConfig| {
                config.lines().any(|(_, line)| line.starts_with(&format!("ip prefix-list {list} seq ")))
            };
            if has(now) && has(wanted) && !has(&self.running_config()) && used_list(list) {
                return Err(format!("prefix list {list} is empty while it is in use"));
            }
        }
        Ok(())
    }

    /// Whether an entry before this one denies everything.
    fn is_closed_before(&self, opening: &str) -> bool {
        let number = |opening: &str| opening.rsplit(' ').next().and_then(|sequence| sequence.parse::<u32>().ok());
        let denies = opening.split(" permit ").next().map(|map| format!("{map} deny ")).unwrap_or_default();
        self.lines(&[]).any(|line| {
            line.starts_with(&denies)
                && number(line) < number(opening)
                && self.lines(&[line.to_owned()]).next().is_none()
        })
    }

    fn is_used(&self, word: &str) -> bool {
        self.paths.iter().any(|path| {
            let line = path.last().unwrap();
            !line.starts_with("route-map ")
                && !line.starts_with("ip prefix-list ")
                && line.split(' ').any(|found| found == word)
        })
    }

    fn lines<'a>(&'a self, context: &'a [String]) -> impl Iterator<Item = &'a str> {
        self.paths
            .iter()
            .filter(move |path| path.len() == context.len() + 1 && path.starts_with(context))
            .map(|path| path.last().unwrap().as_str())
    }

    fn insert(&mut self, context: &[String], line: &str) {
        for at in 0..context.len() {
            self.paths.insert(context[..=at].to_vec());
        }
        self.paths.insert(path(context, line));
    }

    fn set(&mut self, context: &[String], line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split(' ').collect();
        let others: Vec<String> = self.lines(context).map(str::to_owned).collect();
        let slot = slot(&words);
        let old: Vec<&String> =
            others.iter().filter(|other| self::slot(&other.split(' ').collect::<Vec<_>>()) == slot).collect();
        self.refuse(context, &words, &others, &old)?;
        if entry(line).is_some() && others.iter().any(|other| entry(other) == entry(line)) {
            return Err("FRR ignores what another entry says".to_owned());
        }
        if let ["route-map", map, _, sequence] = words.as_slice() {
            let flipped = [format!("route-map {map} permit {sequence}"), format!("route-map {map} deny {sequence}")];
            let moved: Vec<Path> = self.paths.iter().filter(|path| flipped.contains(&path[0])).cloned().collect();
            for old in moved {
                self.paths.remove(&old);
                self.paths.insert([&[line.to_owned()], &old[1..]].concat());
            }
        }
        for old in old {
            self.paths.remove(&path(context, old));
        }
        if let ["neighbor", name, "remote-as" | "interface", ..] = words.as_slice() {
            let number = context[0].split(' ').nth(2).unwrap();
            let is_inside = |line: &str| line.ends_with(&format!("remote-as {number}"));
            if others.iter().any(|other| {
                other.starts_with(&format!("neighbor {name} remote-as")) && is_inside(other) != is_inside(line)
            }) {
                // What only one kind of neighbour has is dropped without a word.
                self.paths.retain(|path| {
                    !path.starts_with(context)
                        || !["ebgp-multihop", "ttl-security"]
                            .iter()
                            .any(|of| path.last().unwrap().starts_with(&format!("neighbor {name} {of}")))
                });
            }
        }
        if let ["neighbor", name, "bfd", "profile", _] = words.as_slice() {
            self.insert(context, &format!("neighbor {name} bfd"));
        }
        self.insert(context, line);
        Ok(())
    }

    fn refuse(&self, context: &[String], words: &[&str], others: &[String], old: &[&String]) -> Result<(), String> {
        let has = |start: String| others.iter().any(|other| other.starts_with(&start));
        let refused = match words {
            ["vni", ..] => !old.is_empty(),
            ["bgp", "listen", "range", _, _, group] => !old.is_empty() || !has(format!("neighbor {group} peer-group")),
            ["on-match", ..] => context[0].contains(" deny "),
            ["redistribute", _, new @ ..] => {
                old.iter().any(|old| ["route-map", "metric"].iter().any(|of| old.contains(of) && !new.contains(of)))
            }
            ["ip", "route", prefix, next, ..] => {
                let drops = |next: &str| ["blackhole", "reject"].contains(&next);
                has(format!("ip route {prefix} "))
                    && others.iter().any(|other| {
                        let other: Vec<&str> = other.split(' ').collect();
                        other[..2] == ["ip", "route"] && other[2] == *prefix && drops(other[3]) != drops(next)
                    })
            }
            ["import", "vrf", vrf] => !self.instances().any(|(of, _)| of.as_deref().unwrap_or("default") == *vrf),
            ["router", "bgp", ..] => {
                let of = instance(&words.join(" ")).unwrap().0;
                self.instances().any(|(other, _)| other == of)
            }
            ["neighbor", name, "peer-group", group] => {
                !has(format!("neighbor {group} peer-group"))
                    || has(format!("neighbor {name} peer-group"))
                    || has(format!("neighbor {name} remote-as"))
            }
            ["neighbor", name, "remote-as", ..] => has(format!("neighbor {name} peer-group ")),
            ["neighbor", _, "interface" | "peer-group", ..] => false,
            ["neighbor", name, attribute @ ..] => {
                let excluded = match attribute {
                    ["ebgp-multihop", ..] => "ttl-security",
                    ["ttl-security", ..] => "ebgp-multihop",
                    ["prefix-list", ..] => "distribute-list",
                    ["distribute-list", ..] => "prefix-list",
                    ["shutdown"] => "shutdown message",
                    _ => "-",
                };
                !self.is_defined(context, name) || has(format!("neighbor {name} {excluded}"))
            }
            _ => false,
        };
        if refused { Err(format!("refused, there is {old:?}")) } else { Ok(()) }
    }

    fn instances(&self) -> impl Iterator<Item = (Option<String>, String)> {
        self.paths.iter().filter(|path| path.len() == 1).filter_map(|path| instance(&path[0]))
    }

    fn is_defined(&self, context: &[String], name: &str) -> bool {
        self.lines(&context[..1]).any(|line| {
            ["remote-as ", "interface ", "peer-group"]
                .iter()
                .any(|of| line.starts_with(&format!("neighbor {name} {of}")))
        })
    }

    fn remove(&mut self, context: &[String], positive: &str) -> Result<(), String> {
        let words: Vec<&str> = positive.split(' ').collect();
        match words.as_slice() {
            ["neighbor", name] | ["neighbor", name, "peer-group" | "interface" | "remote-as", ..] => {
                if !self.is_defined(context, name) {
                    return Err("there is no such neighbour".to_owned());
                }
                self.undefine(context, name);
                return Ok(());
            }
            ["router", ..] => self.refuse_removal_of_instance(positive)?,
            ["vrf", _] if self.lines(&[positive.to_owned()]).next().is_some() => {
                return Err("its lines are still there".to_owned());
            }
            ["neighbor", name, "bfd"] => {
                let profile = path(context, &format!("neighbor {name} bfd profile "));
                let is_profile = |path: &Path| {
                    path.starts_with(context) && path.last().unwrap().starts_with(&profile[context.len()])
                };
                self.paths.retain(|path| !is_profile(path));
            }
            _ => {}
        }
        let short = match words.as_slice() {
            ["description"] => Some("description "),
            ["on-match", "goto"] => Some("on-match goto "),
            ["set", "as-path", "prepend"] => Some("set as-path prepend "),
            _ => None,
        };
        let full = ["on-match goto ", "set as-path prepend "].iter().any(|start| positive.starts_with(start))
            || (positive.starts_with("description ") && context[0].starts_with("route-map "));
        let gone = short.map_or_else(
            || Some(positive.to_owned()),
            |start| self.lines(context).find(|line| line.starts_with(start)).map(str::to_owned),
        );
        let Some(gone) =
            gone.filter(|_| !full).map(|line| path(context, &line)).filter(|gone| self.paths.contains(gone))
        else {
            return Err("unknown command".to_owned());
        };
        self.paths.retain(|path| !path.starts_with(&gone));
        Ok(())
    }

    fn refuse_removal_of_instance(&self, opening: &str) -> Result<(), String> {
        let (vrf, _) = instance(opening).unwrap();
        let name = vrf.clone().unwrap_or_else(|| "default".to_owned());
        let import = format!("import vrf {name}");
        if self.paths.iter().any(|path| path.last() == Some(&import) && path[0] != opening) {
            return Err("others import from it".to_owned());
        }
        if vrf.is_none() && self.instances().any(|(of, _)| of.is_some()) {
            return Err("other instances depend on it".to_owned());
        }
        if self.lines(&[format!("vrf {name}")]).any(|line| line.starts_with("vni ")) {
            return Err("its VNI is still there".to_owned());
        }
        Ok(())
    }

    fn undefine(&mut self, context: &[String], name: &str) {
        let members: Vec<String> = self
            .lines(context)
            .filter(|line| line.starts_with("neighbor ") && line.ends_with(&format!(" peer-group {name}")))
            .map(|line| line.split(' ').nth(1).unwrap().to_owned())
            .collect();
        for member in members {
            self.undefine(context, &member);
        }
        self.paths.retain(|path| {
            let line = path.last().unwrap();
            let line = line.strip_prefix("no ").unwrap_or(line);
            let about = line.starts_with(&format!("neighbor {name} "))
                || (line.starts_with("bgp listen range ") && line.ends_with(&format!(" {name}")));
            !(path.starts_with(context) && about)
        });
    }

    fn activate(&mut self, context: &[String], line: &str) {
        let is_off = self.paths.contains(&path(&context[..1], OFF));
        let (positive, is_active) = line.strip_prefix("no ").map_or((line, true), |positive| (positive, false));
        self.paths.remove(&path(context, positive));
        self.paths.remove(&path(context, &format!("no {positive}")));
        if is_active && is_off {
            self.insert(context, positive);
        } else if !is_active && !is_off {
            self.insert(context, &format!("no {positive}"));
        }
    }

    /// Neighbours stay as active as they are; what is printed about that changes.
    fn set_default_activation(&mut self, context: &[String], is_off: bool) {
        let family = path(context, "address-family ipv4 unicast");
        let names: BTreeSet<String> = self
            .lines(context)
            .filter(|line| line.contains("remote-as ") || line.ends_with(" peer-group"))
            .map(|line| line.split(' ').nth(1).unwrap().to_owned())
            .collect();
        let active = |name: &String| {
            let line = format!("neighbor {name} activate");
            if is_off {
                !self.paths.contains(&path(&family, &format!("no {line}")))
            } else {
                self.paths.contains(&path(&family, &line))
            }
        };
        let states: Vec<(String, bool)> = names.iter().map(|name| (name.clone(), active(name))).collect();
        if is_off {
            self.insert(context, OFF);
        }
        for (name, is_active) in states {
            let no = if is_active { "" } else { "no " };
            self.activate(&family, &format!("{no}neighbor {name} activate"));
        }
    }

    fn forget_empty_families(&mut self) {
        let empty: Vec<Path> = self
            .paths
            .iter()
            .filter(|path| path.last().unwrap().starts_with("address-family ") && self.lines(path).next().is_none())
            .cloned()
            .collect();
        for path in empty {
            self.paths.remove(&path);
        }
    }
}

fn path(context: &[String], line: &str) -> Path {
    [context, &[line.to_owned()]].concat()
}

/// The VRF and the AS number of an instance of BGP.
fn instance(opening: &str) -> Option<(Option<String>, String)> {
    let words: Vec<&str> = opening.split(' ').collect();
    match words.as_slice() {
        ["router", "bgp", number] => Some((None, (*number).to_owned())),
        ["router", "bgp", number, "vrf", vrf] => Some((Some((*vrf).to_owned()), (*number).to_owned())),
        _ => None,
    }
}

/// The list that an entry is in, and what it says.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (list, rest) = line.split_once(" seq ")?;
    Some((list, rest.split_once(' ')?.1))
}

/// What a line is about: the next line about the same takes its place.
fn slot(words: &[&str]) -> String {
    let key = match words {
        ["ip", "route", prefix, "blackhole" | "reject", ..] => return format!("{prefix} is dropped"),
        ["neighbor", name, kind @ ("route-map" | "prefix-list" | "distribute-list"), _, direction] => {
            return format!("{kind} of {name} {direction}");
        }
        ["bgp", "community-list", _, _, "seq", ..] => 6,
        ["ip", "prefix-list", _, "seq", ..] => 5,
        ["ip", "route", _, _, "nexthop-vrf" | "eth0", ..] => words.len(),
        ["ip", "prefix-list" | "route", ..]
        | ["match", "ip", ..]
        | ["bgp", "listen", "range", ..]
        | ["neighbor", _, "timers" | "bfd", "connect" | "profile", ..] => 4,
        ["neighbor", ..] | ["import", "vrf", "route-map", _] => 3,
        ["match" | "set" | "timers" | "redistribute" | "network", ..] | ["bgp", "router-id", _] => 2,
        ["vni" | "description" | "on-match" | "call", ..] => 1,
        _ => words.len(),
    };
    words[..key.min(words.len())].join(" ")
}
