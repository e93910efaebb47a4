//! The Container Network Interface, as a plugin sees it: what a runtime asks, in which version, and what it is answered.
//!
//! [`Request::read`] takes environment and standard input and gives a request, or the error that a runtime is to see;
//! [`Attached`] is the result of a request in any version; [`Failure`] is an error with its code. [`Call`] and
//! [`Answer`] are how the plugin hands all of it to the agent of its node. Nothing here reads or writes anything, and
//! no input panics.

mod arguments;
mod call;
mod config;
mod failure;
mod request;
mod result;
mod version;

pub use arguments::PodArguments;
pub use call::{Answer, Call, MAX_CONFIG};
pub use config::{Config, DEFAULT_CONFIG_DIR, DEFAULT_SOCKET, ValidAttachment};
pub use failure::{Code, Failure};
pub use request::{Attachment, Request, Variables, Verb};
pub use result::{Attached, BadResult, Interface, Ip, Route, fake_ipam};
pub use version::{SUPPORTED, Version, versions};
