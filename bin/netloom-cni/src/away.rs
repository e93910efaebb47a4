//! What is answered while nobody listens on the socket.
//!
//! Beside the socket is the folder `pods`, with a file for each container that has an attachment. A container without
//! one is detached already; one that has one must be detached by the agent, so the runtime is to ask again.

use std::path::Path;

use netloom_cnispec::{Answer, Code, Failure, Request, Verb};

pub(crate) fn answer(request: &Request, socket: &Path, why: &std::io::Error) -> Result<Answer, Failure> {
    let away = || format!("the agent of this node does not answer on {}", socket.display());
    match (request.verb, &request.attachment) {
        (Verb::Del, Some(attachment)) if !is_attached(socket, &attachment.container) => {
            Ok(Answer { ok: true, output: String::new() })
        }
        (Verb::Status, _) => Err(Failure::new(Code::Unavailable, away()).with(why.to_string())),
        (Verb::Add | Verb::Check | Verb::Del | Verb::Gc, _) => {
            Err(Failure::new(Code::TryLater, away()).with(why.to_string()))
        }
    }
}

/// Whether a container has an attachment. What cannot be looked at may be there.
fn is_attached(socket: &Path, container: &str) -> bool {
    let folder = socket.parent().unwrap_or_else(|| Path::new("."));
    folder.join("pods").join(container).try_exists().unwrap_or(true)
}
