//! Many links deleted at once.
//!
//! Deleting a link waits until no processor can still be using it, some 20 ms on a usual machine,
//! and the kernel waits for each link again. It waits only once for all links of a group: links that
//! are deleted one after another are put into a group of their own first, and the group is deleted.
//!
//! Both go to the kernel in one send, so a process that is killed leaves no link in that group.

use std::collections::{HashMap, HashSet};

use netloom_model::StepError;
use netloom_types::IfName;

use crate::{
    consts::{RTM_DELLINK, RTM_SETLINK},
    link,
    link_map::{IFINFOMSG_LEN, name_and_index},
    route::no_link,
    socket::{Connection, NetlinkError},
    wire::{Msg, ifinfomsg},
};

/// From how many links on it is worth it.
pub(crate) const MANY: usize = 4;
/// The kernel holds its lock for a whole group: others shall not wait for longer than a second or so.
const AT_ONCE: usize = 128;
const IFLA_GROUP: u16 = 27;
/// Where numbers of groups begin that people hardly choose.
const GROUPS: u32 = 0x6e6c_0000;

type Results = Vec<Result<(), StepError>>;

/// Every link: its index and its group.
type Links = HashMap<IfName, (u32, u32)>;

/// Deletes links; answers are in the order of the names.
pub(crate) fn delete(route: &mut Connection, names: &[IfName]) -> Result<Results, NetlinkError> {
    let mut results = Vec::with_capacity(names.len());
    // With room for the deletion behind the links of one send.
    for some in names.chunks(AT_ONCE.min(route.most_messages() - 1).max(1)) {
        let links = read(route)?;
        results.extend(delete_some(route, some, &links)?);
    }
    Ok(results)
}

fn read(route: &mut Connection) -> Result<Links, NetlinkError> {
    route.dump(&link::dump(), Links::new, |links, message| {
        let group = message.attrs(IFINFOMSG_LEN).find(IFLA_GROUP).and_then(|attr| attr.u32()).unwrap_or(0);
        if let Some((name, index)) = name_and_index(&message) {
            links.insert(name, (index, group));
        }
    })
}

fn delete_some(route: &mut Connection, names: &[IfName], links: &Links) -> Result<Results, NetlinkError> {
    let used: HashSet<u32> = links.values().map(|(_, group)| *group).collect();
    let mut candidates = (GROUPS..).take(used.len() + 1);
    let group = candidates.find(|group| !used.contains(group)).expect("there are more numbers than groups in use");
    let mut results: Results = vec![Ok(()); names.len()];
    let mut known = Vec::new();
    for (at, name) in names.iter().enumerate() {
        match links.get(name) {
            Some(&(index, before)) => known.push((at, index, before)),
            None => results[at] = Err(no_link(*name)),
        }
    }
    if known.is_empty() {
        return Ok(results);
    }
    let marks = known.iter().map(|(_, index, _)| set_group(*index, group));
    let mut answers = route.batch(&marks.chain([delete_group(group)]).collect::<Vec<Msg>>())?;
    let deleted = answers.pop().is_some_and(|answer| answer.is_ok());
    for ((at, ..), answer) in known.iter().zip(answers) {
        results[*at] = answer;
    }
    known.retain(|(at, ..)| results[*at].is_ok());
    if deleted || known.is_empty() {
        return Ok(results);
    }
    // One of them cannot be deleted at all, and then none was: say which.
    let undo: Vec<Msg> = known.iter().map(|(_, index, before)| set_group(*index, *before)).collect();
    route.batch(&undo)?;
    let singly: Vec<Msg> = known.iter().map(|(_, index, _)| link::delete(*index)).collect();
    for ((at, ..), answer) in known.iter().zip(route.batch(&singly)?) {
        results[*at] = answer;
    }
    Ok(results)
}

fn set_group(index: u32, group: u32) -> Msg {
    let mut msg = Msg::new(RTM_SETLINK, 0);
    msg.header(&ifinfomsg(0, index, 0, 0)).attr_u32(IFLA_GROUP, group);
    msg
}

fn delete_group(group: u32) -> Msg {
    let mut msg = Msg::new(RTM_DELLINK, 0);
    msg.header(&ifinfomsg(0, 0, 0, 0)).attr_u32(IFLA_GROUP, group);
    msg
}
