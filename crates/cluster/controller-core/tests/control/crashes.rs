//! The controller is killed at every write in turn, and another takes over.

use crate::model::Rig;

/// A good policy, then a bad one, then a better one; killed after so many writes of the story.
fn story(lives: Option<usize>) -> Rig {
    let mut rig = Rig::new(3);
    let mut left = lives;
    for mtu in [9000, 9999, 1400] {
        rig.lives = left;
        let before = rig.api.writes.len();
        rig.policy("jumbo", mtu);
        rig.run();
        left = rig.lives.and(left).map(|left| left.saturating_sub(rig.api.writes.len() - before));
    }
    rig
}

#[test]
fn a_crash_at_any_write_changes_nothing_in_the_end() {
    let whole = story(None);
    let writes = whole.api.writes.len();
    assert_eq!(whole.mtus(), [Some(1400); 3]);
    for lives in 0..=writes {
        let rig = story(Some(lives));
        assert_eq!(rig.mtus(), whole.mtus(), "killed after {lives} writes");
        let assigned = |rig: &Rig| rig.api.writes.iter().filter(|w| w.1 == "NodeNetworkConfig").count();
        assert_eq!(assigned(&rig), assigned(&whole), "killed after {lives} writes: a node was assigned twice or never");
        let made =
            |rig: &Rig| rig.api.writes.iter().filter(|w| w.0 == "create" && w.1 == "NetworkConfigRevision").count();
        assert_eq!(made(&rig), made(&whole));
    }
}
