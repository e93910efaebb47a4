//! Permanent neighbours.

use netloom_model::{Neighbour, StepError};
use netloom_types::IfName;

use crate::{
    SimHost,
    address::carries_ipv6,
    errno::{Done, refuse, refuse_plainly},
};

impl SimHost {
    pub(crate) fn add_neighbour(&mut self, name: IfName, neighbour: Neighbour) -> Done {
        let link = self.link(name)?;
        if neighbour.ip.is_ipv6() && !carries_ipv6(link) {
            return refuse(StepError::EINVAL, "IPv6 is disabled on this device");
        }
        let neighbours = &mut self.edit(name).neighbours;
        neighbours.retain(|there| there.ip != neighbour.ip);
        neighbours.insert(neighbour);
        Ok(())
    }

    pub(crate) fn remove_neighbour(&mut self, name: IfName, neighbour: Neighbour) -> Done {
        if !self.link(name)?.neighbours.iter().any(|there| there.ip == neighbour.ip) {
            return refuse_plainly(StepError::ENOENT);
        }
        self.edit(name).neighbours.retain(|there| there.ip != neighbour.ip);
        Ok(())
    }
}
