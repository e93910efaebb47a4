//! What is to be known of a step beside what it does, in one place.
//!
//! A new step states all of it here, or does not compile. Whoever decides by one of these traits (which links lose their
//! carrier, what is sent before a link is cut, which undo must be rehearsed, what a file keeps over a reboot) asks for it.

use std::fmt;

use netloom_types::IfName;

use crate::{Route, Step};

/// Where a step acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Medium {
    /// The kernel: gone with a reboot.
    Kernel,
    /// A file: still there after a reboot.
    File,
    /// A program that holds its configuration itself, such as a routing daemon: gone when it ends.
    Daemon,
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::File => "file",
            Self::Daemon => "daemon",
        })
    }
}

/// What a step does to its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepKind {
    /// It was not there before.
    Add,
    /// It is another one afterwards.
    Change,
    /// It is gone afterwards; finding it gone is as good as removing it.
    Remove,
}

/// What the kernel may change beside what a step asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SideEffects {
    /// Nothing that the step does not say.
    None,
    /// Routes over the link, where there are any.
    RoutesOver,
    /// The hardware address of the link's controller, where it has one.
    OfPort,
    /// Anything that stands on the link or is below it.
    Any,
}

/// The traits of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traits {
    /// Where it acts.
    pub medium: Medium,
    /// What it does to its object.
    pub kind: StepKind,
    /// The link that it is about.
    pub link: Option<IfName>,
    /// Whether the link may lose its carrier. Names, addresses and entries of tables are nothing that a card or a switch
    /// notices.
    pub takes_carrier: bool,
    /// Whether packets that passed the link may not pass it afterwards.
    pub cuts: bool,
    /// What goes along with it.
    pub side_effects: SideEffects,
}

impl Traits {
    /// A quiet step on a link.
    fn on(link: IfName, kind: StepKind) -> Self {
        Self { link: Some(link), ..Self::of_host(Medium::Kernel, kind) }
    }

    /// A step that is about no link.
    fn of_host(medium: Medium, kind: StepKind) -> Self {
        let side_effects = SideEffects::None;
        Self { medium, kind, link: None, takes_carrier: false, cuts: false, side_effects }
    }

    fn takes_carrier(self) -> Self {
        Self { takes_carrier: true, ..self }
    }

    fn cuts(self) -> Self {
        Self { cuts: true, ..self }
    }

    fn with(self, side_effects: SideEffects) -> Self {
        Self { side_effects, ..self }
    }
}

impl Step {
    /// The traits of the step.
    pub fn traits(&self) -> Traits {
        use StepKind::{Add, Change, Remove};
        match self {
            Self::CreateLink { name, .. } => Traits::on(*name, Add).takes_carrier().cuts(),
            Self::DeleteLink { name } => Traits::on(*name, Remove).takes_carrier().cuts().with(SideEffects::OfPort),
            Self::SetAttrs { name, .. } | Self::SetUp { name, up: true } => {
                Traits::on(*name, Change).takes_carrier().with(SideEffects::Any)
            }
            Self::SetUp { name, up: false } | Self::SetController { name, .. } => {
                Traits::on(*name, Change).takes_carrier().cuts().with(SideEffects::Any)
            }
            Self::SetFeatures { name, .. } => Traits::on(*name, Change).takes_carrier(),
            Self::SetVlans { name, .. } => Traits::on(*name, Change).cuts(),
            Self::SetAlias { name, .. } => Traits::on(*name, Change),
            Self::AddAltName { name, .. }
            | Self::AddAddress { name, .. }
            | Self::AddFdb { name, .. }
            | Self::AddNeighbour { name, .. }
            | Self::AddMirror { name, .. } => Traits::on(*name, Add),
            Self::RemoveAddress { name, .. } => Traits::on(*name, Remove).with(SideEffects::RoutesOver),
            Self::RemoveAltName { name, .. }
            | Self::RemoveFdb { name, .. }
            | Self::RemoveNeighbour { name, .. }
            | Self::RemoveMirror { name, .. } => Traits::on(*name, Remove),
            Self::AddRoute(_) | Self::AddRule(_) => Traits::of_host(Medium::Kernel, Add),
            Self::ReplaceRoute(_) => Traits::of_host(Medium::Kernel, Change),
            Self::RemoveRoute(_) | Self::RemoveRule(_) => Traits::of_host(Medium::Kernel, Remove),
            Self::Set(setting) => Traits::of_host(setting.key().medium(), Change),
            Self::ChangeRouting(_) => Traits::of_host(Medium::Daemon, Change),
        }
    }

    /// The link that the step is about.
    pub fn link(&self) -> Option<IfName> {
        self.traits().link
    }

    /// Where the step acts.
    pub fn medium(&self) -> Medium {
        self.traits().medium
    }

    /// Whether the effect outlives a reboot, because it is a file.
    pub fn is_persistent(&self) -> bool {
        self.medium() == Medium::File
    }

    /// Whether the step takes something away, so that finding it gone is as good as removing it.
    pub fn is_removal(&self) -> bool {
        self.traits().kind == StepKind::Remove
    }

    /// The route that the step is about.
    pub fn route(&self) -> Option<&Route> {
        match self {
            Self::AddRoute(route) | Self::ReplaceRoute(route) | Self::RemoveRoute(route) => Some(route),
            _ => None,
        }
    }
}
