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

#[cfg(test)]
mod tests {
    use netloom_model::{Attr, Step, Value};

    use super::*;
    use crate::testing::{all, down, mac, n, no, set, up_dummies, yes};

    fn at(ip: &str, last: u8) -> Neighbour {
        Neighbour { ip: ip.parse().unwrap(), mac: mac(last) }
    }

    #[test]
    fn one_entry_for_an_address_until_the_link_goes_down() {
        let mut sim = up_dummies(["d0"]);
        let add = |neighbour| Step::AddNeighbour { name: n("d0"), neighbour };
        all(&mut sim, [add(at("10.0.0.7", 7)), add(at("10.0.0.7", 8)), add(at("fd00::7", 7))]);
        assert_eq!(sim.link(n("d0")).unwrap().neighbours, [at("10.0.0.7", 8), at("fd00::7", 7)].into());
        let remove = Step::RemoveNeighbour { name: n("d0"), neighbour: at("fd00::7", 7) };
        yes(&mut sim, &remove);
        assert_eq!(no(&mut sim, &remove), StepError::ENOENT);
        yes(&mut sim, &down("d0"));
        assert!(sim.link(n("d0")).unwrap().neighbours.is_empty());
        yes(&mut sim, &set("d0", Attr::Ipv6Disabled, Value::Bool(true)));
        assert_eq!(no(&mut sim, &add(at("fd00::7", 7))), StepError::EINVAL);
    }
}
