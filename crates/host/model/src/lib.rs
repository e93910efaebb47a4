//! The vocabulary of a host network.
//!
//! ```text
//! HostState  what is wanted          partial: what it does not name stays as it is
//! Observed   what the kernel answered    complete: what it does not name is not there
//! Target     what will be            complete: Observed with HostState laid over it
//! Step       one effect on a host    named by link name, never by index
//! Plan       steps in order, each with its undo
//! Ownership  who asked for what, and what was there before
//! ```
//!
//! `Observed` and `Target` share one picture, [`Host`], but are never the same type. The crate is
//! pure: no socket, file, clock or document format is known here.

mod address;
mod alias;
mod attr;
mod attrs;
mod bond;
mod bridge;
mod composite;
mod desired;
mod engine;
mod host;
mod kernel;
mod link;
mod mirror;
mod origin;
mod ownership;
mod pairs;
mod resolver;
mod route;
mod routing;
mod rule;
mod setting;
mod step;
mod traits;

pub use address::{Address, AddressExtra, AddressLabel, Neighbour};
pub use alias::Alias;
pub use attr::{Attr, Change, Section, Shape, Value};
pub use attrs::Attrs;
pub use bridge::{FdbEntry, FdbKey, VlanMembership};
pub use composite::{Composite, Part};
pub use desired::{
    Adoption, DesiredAddress, DesiredController, DesiredDhcp, DesiredIp, DesiredLink, DesiredRoute, DesiredRoutingLine,
    DesiredRule, DesiredSetting, HostState, Presence,
};
pub use engine::{Engine, EngineError, Retry, Scope, StepError};
pub use host::{Host, LinkFacts, Observed, OperState, Target};
pub use kernel::{KernelFeatures, KernelVersion, NoVersion};
pub use link::{Link, LinkKind};
pub use mirror::{Direction, FlowMatch, Mirror, MirrorAction, MirrorKey};
pub use origin::{CoOwner, Origin, Source, SourceObject};
pub use ownership::{Claim, ClaimKey, Origins, Ownership, Previous};
pub use resolver::{Resolver, ResolverFile};
pub use route::{NextHop, Route, RouteExtra, RouteKey, RouteMetrics, RouteType};
pub use routing::{
    NoRoutingLine, RoutingChange, RoutingLine, RoutingReport, RoutingSession, RoutingSessionState, RoutingVni,
};
pub use rule::{PortRange, Rule, RuleAction, RuleKey, UidRange};
pub use setting::{BRIDGE_IPTABLES, HostSettings, IPV6_FORWARDING, Setting, SettingKey};
pub use step::{Plan, PlannedStep, Step};
pub use traits::{Medium, SideEffects, StepKind, Traits};
