//! Giving an address back.

use netloom_dhcp::{Action, Input, Kind};

use crate::stage::{Answer, Packet, SERVER, Stage, net, secs};

fn released(xid: u32) -> Packet {
    Packet::to_everybody(Kind::Release, xid, &[(54, &SERVER.octets())]).of_holder().for_server()
}

#[test]
fn an_address_is_given_back_to_its_server_before_it_is_removed() {
    let mut stage = Stage::bound();
    stage.input(Input::Release);
    let sent = stage.packet();
    assert_eq!(sent, released(sent.message.xid));
    stage.expect(&Action::Drop(net()));
    stage.expect(&Action::Watch(None));
    stage.expect(&Action::Forget);
    stage.nothing();
    assert_eq!(stage.reported(), ["LeaseReleased"]);
}

#[test]
fn nothing_is_done_after_it() {
    let mut stage = Stage::bound();
    stage.input(Input::Release);
    stage.rest();
    stage.reported();
    assert_eq!(stage.client.wake_at(), None);
    stage.link(false);
    stage.link(true);
    stage.input(Input::Time);
    stage.input(Input::Release);
    stage.answer(&Answer::new(Kind::Ack, 7));
    stage.nothing();
    assert_eq!(stage.reported(), Vec::<&str>::new());
}

#[test]
fn an_address_that_is_being_checked_is_given_back_too() {
    let mut stage = Stage::up();
    stage.probing();
    stage.input(Input::Release);
    let sent = stage.packet();
    assert_eq!(sent, released(sent.message.xid));
    assert_eq!(stage.rest(), [Action::Watch(None), Action::Forget]);
}

#[test]
fn while_renewals_go_unanswered_it_is_given_back_as_well() {
    let mut stage = Stage::bound();
    stage.pass(secs(3500));
    stage.rest();
    stage.input(Input::Release);
    let sent = stage.packet();
    assert_eq!(sent, released(sent.message.xid));
    stage.expect(&Action::Drop(net()));
}

#[test]
fn where_there_is_nothing_to_give_back_nothing_is_sent() {
    let mut selecting = Stage::up();
    selecting.packet();
    let mut requesting = Stage::up();
    requesting.requesting();
    for mut stage in [selecting, requesting] {
        stage.input(Input::Release);
        assert_eq!(stage.rest(), [Action::Watch(None), Action::Forget]);
    }
}

#[test]
fn where_the_link_is_down_the_address_only_goes() {
    let mut stage = Stage::bound();
    stage.link(false);
    stage.input(Input::Release);
    assert_eq!(stage.rest(), [Action::Drop(net()), Action::Watch(None), Action::Forget]);
}
