//! Queries for neighbours, as frames of a link show them: who asks for whom, and how often.
//!
//! Both directions count. A query that a bridge answers itself is not seen on the tunnel behind it.

use std::{collections::BTreeMap, net::IpAddr};

use netloom_model::EngineError;
use netloom_netlink::{
    Namespace,
    frames::{FrameSocket, Frames},
    netns::Worker,
};
use netloom_types::{FilterInstruction, IfName};

use super::wires::space;

/// All protocols, whatever way they go.
const EVERYTHING: u16 = 3;
/// Lets every frame through, whole.
const WHOLE: [FilterInstruction; 1] = [FilterInstruction { code: 6, if_true: 0, if_false: 0, k: u32::MAX }];

/// Somebody who counts the queries on a link.
pub(super) struct Queries(Worker<Counted>);

struct Counted {
    frames: Frames,
    so_far: BTreeMap<IpAddr, usize>,
}

impl Queries {
    /// Begins to count.
    pub(super) fn listen(node: &str, link: &str) -> Result<Self, String> {
        let link: IfName = link.parse().map_err(|error| format!("{link}: {error}"))?;
        let failed = |why: &dyn ToString| EngineError { doing: "listen".to_owned(), why: why.to_string() };
        let open = move || {
            let mut frames = Frames::new().map_err(|error| failed(&error))?;
            let socket = FrameSocket::open(link, EVERYTHING, &WHOLE).map_err(|error| failed(&error))?;
            frames.put(socket).map_err(|error| failed(&error))?;
            Ok(Counted { frames, so_far: BTreeMap::new() })
        };
        Worker::start(Namespace::Named(space(node)), open).map(Self).map_err(|error| error.to_string())
    }

    /// How often somebody asked for a neighbour so far.
    pub(super) fn of(&self, neighbour: IpAddr) -> Result<usize, String> {
        let counted = self.0.run(move |counted| {
            while let Some(frame) = counted.frames.frame().map_err(|error| error.to_string())? {
                if let Some(asked) = asked_for(frame.bytes) {
                    *counted.so_far.entry(asked).or_default() += 1;
                }
            }
            Ok(counted.so_far.get(&neighbour).copied().unwrap_or_default())
        });
        counted.map_err(|error| error.to_string())?
    }
}

/// Whom a frame asks for, when it is a query.
fn asked_for(frame: &[u8]) -> Option<IpAddr> {
    let at = |from: usize, len: usize| frame.get(from..from + len);
    let kind = at(12, 2)?;
    if kind == [0x08, 0x06] && at(20, 2)? == [0, 1] {
        let target: [u8; 4] = at(38, 4)?.try_into().ok()?;
        return Some(target.into());
    }
    // A solicitation, without headers of other protocols before it.
    if kind == [0x86, 0xdd] && at(20, 1)? == [58] && at(54, 1)? == [135] {
        let target: [u8; 16] = at(62, 16)?.try_into().ok()?;
        return Some(target.into());
    }
    None
}
