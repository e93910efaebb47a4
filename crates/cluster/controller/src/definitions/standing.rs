//! Whether objects of a kind are acted on.

use netloom_api::{GroupKind, Kind, definition::BUILT_IN, registry};

use super::{Known, definition_name};

/// Whether objects of a kind are acted on, and else why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// They are.
    Acted,
    /// Nobody asked for that.
    NotRequested,
    /// The definitions of these names are not there.
    Missing(Vec<String>),
    /// The definitions of these names are somebody else's.
    Foreign(Vec<String>),
}

impl Standing {
    /// What is said of objects that are left alone.
    pub(crate) fn why(&self) -> Option<String> {
        match self {
            Self::Acted => None,
            Self::NotRequested => Some("start the controller with --vms to act on them".to_owned()),
            Self::Missing(names) => Some(format!(
                "the cluster has no definition {}; --vms needs all that --install-crds --vms or deploy/vms installs",
                names.join(", ")
            )),
            Self::Foreign(names) => Some(format!(
                "the definition of {} is somebody else's; --vms needs a cluster without KubeVirt",
                names.join(", ")
            )),
        }
    }
}

pub(super) fn standing(known: &Known, kind: GroupKind<'_>, requested: bool) -> Standing {
    if registry::on_request().all(|own| (own.group, own.kind) != (kind.group, kind.kind)) {
        return Standing::Acted;
    }
    let together = || registry::on_request().filter(|own| own.group == kind.group);
    let found = |own: &Kind| known.get(&(own.group.to_owned(), own.kind.to_owned()));
    let installed = |own: &Kind| found(own).and_then(|definition| definition.installed.as_deref());
    let names = |those: &dyn Fn(&Kind) -> bool| together().filter(|own| those(own)).map(definition_name).collect();
    let foreign: Vec<String> = names(&|own| found(own).is_some() && installed(own).is_none());
    let missing: Vec<String> = names(&|own| found(own).is_none());
    if !requested && !together().all(|own| installed(own) == Some(BUILT_IN)) {
        Standing::NotRequested
    } else if !foreign.is_empty() {
        Standing::Foreign(foreign)
    } else if !missing.is_empty() {
        Standing::Missing(missing)
    } else {
        Standing::Acted
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::{Definition, tests::definition},
        *,
    };

    /// What of three definitions is there, with the mark of each; one of somebody else has none.
    fn have(marks: [Option<&str>; 3]) -> Known {
        let all = ["VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceMigration"];
        let known = all.iter().zip(marks).filter_map(|(kind, mark)| {
            let versions = json!([{"name": "v1", "served": true}]);
            Definition::read(
                &definition("kubevirt.io", kind, "True", &versions),
                Some(mark?.to_owned()).filter(|mark| !mark.is_empty()),
            )
        });
        known.collect()
    }

    #[test]
    fn machines_are_acted_on_only_where_all_their_definitions_are_ours() {
        let (ours, built_in, theirs) = (Some("true"), Some(BUILT_IN), Some(""));
        let machine = GroupKind::new("kubevirt.io", "VirtualMachine");
        let instance = GroupKind::new("kubevirt.io", "VirtualMachineInstance");
        let migration = GroupKind::new("kubevirt.io", "VirtualMachineInstanceMigration");
        let names = |names: &[&str]| names.iter().map(|name| format!("{name}.kubevirt.io")).collect::<Vec<_>>();
        let (m, i, v) = ("virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations");
        for (marks, requested, wanted) in [
            ([ours, ours, ours], true, Standing::Acted),
            ([ours, ours, ours], false, Standing::NotRequested),
            ([built_in, built_in, built_in], false, Standing::Acted),
            ([built_in, ours, built_in], false, Standing::NotRequested),
            ([built_in, ours, built_in], true, Standing::Acted),
            ([theirs, ours, ours], true, Standing::Foreign(names(&[m]))),
            ([ours, theirs, ours], true, Standing::Foreign(names(&[i]))),
            ([ours, ours, theirs], true, Standing::Foreign(names(&[v]))),
            ([None, ours, ours], true, Standing::Missing(names(&[m]))),
            ([ours, None, ours], true, Standing::Missing(names(&[i]))),
            ([ours, ours, None], true, Standing::Missing(names(&[v]))),
            ([None, theirs, ours], true, Standing::Foreign(names(&[i]))),
            ([built_in, None, built_in], false, Standing::NotRequested),
        ] {
            let known = have(marks);
            for kind in [machine, instance, migration] {
                assert_eq!(standing(&known, kind, requested), wanted, "{marks:?} {}", kind.kind);
            }
            assert_eq!(wanted.why().is_none(), wanted == Standing::Acted);
            assert_eq!(standing(&known, GroupKind::new("nmstate.io", "NodeNetworkState"), requested), Standing::Acted);
        }
    }
}
