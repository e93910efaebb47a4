//! Properties of links that the kernel takes as files below `/proc/sys/net`.
//!
//! Reading them needs no file: their values come with the link (see `link::decode`). Writing does,
//! because only the file carries out everything that a change entails.
//!
//! [`apply`] must run on the thread of the namespace: what `/proc/sys/net` shows is that of the thread
//! that looks.

use std::{fs, io, path::PathBuf};

use netloom_model::{Attrs, StepError, Value};
use netloom_types::{Family, IfName};

use crate::link::table::{Layout, Wire, wire};

/// One file and what is written into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub path: PathBuf,
    /// The text.
    pub text: String,
}

/// What must be written for those of `attrs` that are files, in order.
pub fn writes(link: IfName, attrs: &Attrs) -> Vec<Write> {
    let one = |(attr, value): (_, &Value)| {
        let Wire::Sysctl(family, file, _) = wire(attr, Layout::Plain) else { return None };
        let number = match value {
            Value::Bool(on) => u64::from(*on),
            Value::Int(number) => *number,
            _ => return None,
        };
        let family = match family {
            Family::Ipv4 => "ipv4",
            Family::Ipv6 => "ipv6",
        };
        let path = ["/proc/sys/net", family, "conf", link.as_str(), file].iter().collect();
        Some(Write { path, text: number.to_string() })
    };
    attrs.iter().filter_map(one).collect()
}

/// Writes those of `attrs` that are files; stops at the first refusal.
pub fn apply(link: IfName, attrs: &Attrs) -> Result<(), StepError> {
    let writes = writes(link, attrs);
    if !writes.is_empty() && matches!(link.as_str(), "all" | "default") {
        // These two folders stand for every link; no link can have such a name and settings.
        return Err(StepError::with(StepError::EINVAL, &format!("{link} is no link with settings of its own")));
    }
    for write in writes {
        fs::write(&write.path, &write.text).map_err(|error| refused(&write, &error))?;
    }
    Ok(())
}

fn refused(write: &Write, error: &io::Error) -> StepError {
    let text = format!("writing {} to {}", write.text, write.path.display());
    StepError::with(error.raw_os_error().unwrap_or(StepError::EINVAL), &text)
}

#[cfg(test)]
mod tests {
    use netloom_model::Attr;

    use super::*;

    #[test]
    fn only_what_is_a_file_is_written_and_dots_in_names_are_kept() {
        let attrs: Attrs = [
            (Attr::Mtu, Value::Int(1400)),
            (Attr::Ipv4RpFilter, Value::Int(2)),
            (Attr::Ipv6Disabled, Value::Bool(true)),
        ]
        .into_iter()
        .collect();
        let writes = writes("eth0.100".parse().unwrap(), &attrs);
        let shown: Vec<_> = writes.iter().map(|w| (w.path.to_str().unwrap(), w.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("/proc/sys/net/ipv6/conf/eth0.100/disable_ipv6", "1"),
                ("/proc/sys/net/ipv4/conf/eth0.100/rp_filter", "2"),
            ]
        );
    }

    #[test]
    fn the_folders_of_all_links_are_never_written() {
        let attrs: Attrs = [(Attr::Ipv4Forwarding, Value::Bool(true))].into_iter().collect();
        assert!(apply("all".parse().unwrap(), &attrs).is_err());
    }
}
