//! What the leader does beside the control loop.

use std::time::Duration;

use kube::Client;

use crate::{
    clock::Clock,
    definitions::{self, InstallError},
    elect::Leadership,
    process::leading,
};

/// After a failure that may pass: nothing tells when it has.
const AGAIN: Duration = Duration::from_secs(2);

/// Installs the definitions of all kinds as soon as this process leads. One that follows leaves it to the leader.
pub(crate) async fn install(
    client: &Client,
    requested: bool,
    leadership: &Leadership,
    clock: Clock,
) -> Result<(), InstallError> {
    let mut leadership = leadership.clone();
    loop {
        leading(&mut leadership, clock).await;
        match definitions::install(client, requested, || leadership.until(clock.now()).is_some()).await {
            Ok(true) => return Ok(()),
            // It leads no more; whoever does will do it.
            Ok(false) => {}
            Err(why) if why.may_pass() => {
                tracing::warn!(%why, "trying again");
                tokio::time::sleep(AGAIN).await;
            }
            Err(why) => return Err(why),
        }
    }
}
