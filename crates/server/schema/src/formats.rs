//! The text formats that the server checks. Formats that it does not know mean nothing.
//!
//! Our own definitions say `cidr`, `date-time`, `ipv4` and `ipv6`. The others are those that definitions of other
//! projects say, which people install beside ours. Kubernetes knows some more that have nothing to do with clusters, such
//! as numbers of books and credit cards; a definition that says one of these is taken with the warning for unknown ones.
//!
//! Each rule follows the reader that Kubernetes uses for it, with its quirks: `duration` takes
//! "3 days", `ipv4` takes leading zeros.

use std::net::{IpAddr, Ipv6Addr};

use crate::{Schema, Type, names};

/// The name without dashes: `date-time` and `datetime` are one format.
fn normal(format: &str) -> String {
    format.replace('-', "")
}

const TEXT_FORMATS: [&str; 15] = [
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Whether the server checks this format on values of this schema.
pub(crate) fn is_known(schema: &Schema, format: &str) -> bool {
    if schema.is_int_or_string() {
        return false;
    }
    match schema.kind() {
        None | Some(Type::String) => TEXT_FORMATS.contains(&normal(format).as_str()),
        Some(Type::Integer) => matches!(format, "int32" | "int64"),
        Some(Type::Number) => matches!(format, "float" | "double"),
        Some(Type::Object | Type::Array | Type::Boolean) => false,
    }
}

/// Whether a text has a format; every text has an unknown one.
pub fn has_format(format: &str, text: &str) -> bool {
    match normal(format).as_str() {
        "uri" => uri(text),
        "email" => email(text),
        "hostname" => hostname(text),
        "ipv4" => text.contains('.') && ip(text).is_some(),
        "ipv6" => text.contains(':') && text.parse::<IpAddr>().is_ok(),
        "cidr" => cidr(text),
        "mac" => mac(text),
        "uuid" => uuid(text),
        "byte" => base64(text),
        "date" => date(text),
        "duration" => duration(text),
        "datetime" => date_time(text),
        "k8sshortname" => text.len() <= 63 && !text.contains('.') && names::is_subdomain(text),
        "k8slongname" => text.len() <= 253 && names::is_subdomain(text),
        _ => true,
    }
}

fn uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        Some(("", _)) => return false,
        _ => (None, text),
    };
    let rest = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        return scheme.is_some();
    }
    match rest.strip_prefix("//").filter(|_| scheme.is_some()) {
        Some(after) => {
            let (authority, path) = after.split_at(after.find('/').unwrap_or(after.len()));
            is_authority(authority) && escapes_are_whole(path)
        }
        None => escapes_are_whole(rest),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

fn is_authority(authority: &str) -> bool {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let port = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) => {
                let address = address.split('%').next().unwrap_or_default();
                if address.parse::<Ipv6Addr>().is_err() {
                    return false;
                }
                port.strip_prefix(':').or(port.is_empty().then_some(""))
            }
            None => None,
        },
        None => Some(host.split_once(':').map_or("", |(_, port)| port)),
    };
    let name = host.split(':').next().unwrap_or_default();
    port.is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
        && !name.contains([' ', '<', '>', '"', '^', '`', '{', '}', '|', '\\'])
        && escapes_are_whole(name)
}

fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|after| after.len() >= 2 && after.bytes().take(2).all(|b| b.is_ascii_hexdigit()))
}

/// An address, alone or in angle brackets after a name.
fn email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(rest) => match rest.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atoms = |text: &str| {
        text.split('.').all(|atom| {
            !atom.is_empty()
                && atom.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"()<>[]:;@\\,.\"".contains(c))
        })
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    (quoted || atoms(local)) && atoms(domain)
}

/// One label, or labels with dots between and a word at the end. A label that stands alone may have a
/// dash only after its first character: so it is in the pattern of the server.
fn hostname(text: &str) -> bool {
    if text.len() > 255 || text.split('.').any(|label| label.len() > 63) {
        return false;
    }
    match text.rsplit_once('.') {
        None => {
            let mut chars = text.chars();
            let first = chars.next().is_some_and(in_hostname);
            let rest = chars.as_str();
            first && rest.strip_prefix('-').unwrap_or(rest).chars().all(in_hostname)
        }
        Some((labels, top)) => {
            top.chars().count() >= 2
                && top.chars().all(char::is_alphabetic)
                && labels.split('.').all(|label| {
                    label.starts_with(in_hostname)
                        && label.ends_with(in_hostname)
                        && label.chars().all(|c| in_hostname(c) || c == '-')
                })
        }
    }
}

/// Letters, digits and symbols, also those beyond ASCII.
fn in_hostname(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || "$+<=>^`|~".contains(c);
    }
    c.is_alphabetic() || !(c.is_numeric() || c.is_whitespace() || c.is_control())
}

/// An address; numbers of IPv4 may have leading zeros, which count for nothing.
pub fn ip(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (before, v4) = text.rsplit_once(':').map_or(("", text), |(before, v4)| (before, v4));
    let parts: Vec<&str> = v4.split('.').collect();
    let whole = parts.len() == 4
        && parts.iter().all(|part| !part.is_empty() && part.len() <= 32 && part.bytes().all(|b| b.is_ascii_digit()));
    if !whole {
        return None;
    }
    let plain: Vec<&str> =
        parts.iter().map(|part| part.trim_start_matches('0')).map(|p| if p.is_empty() { "0" } else { p }).collect();
    let plain = plain.join(".");
    if before.is_empty() && !text.contains(':') { plain.parse().ok() } else { format!("{before}:{plain}").parse().ok() }
}

fn cidr(text: &str) -> bool {
    range(text).is_some()
}

/// The address and the length of a range such as `10.0.0.0/8`; the address may have more bits than the length says.
pub fn range(text: &str) -> Option<(IpAddr, u8)> {
    let (address, length) = text.split_once('/')?;
    let address = ip(address)?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let sound = !length.is_empty() && length.len() <= 5 && length.bytes().all(|b| b.is_ascii_digit());
    let length = length.parse::<u8>().ok().filter(|length| sound && *length <= longest)?;
    Some((address, length))
}

/// Six, eight or twenty bytes, with colons or dashes between bytes, dots between pairs of them, or
/// nothing.
fn mac(text: &str) -> bool {
    let groups = |separator: char, width: usize| {
        let groups: Vec<&str> = text.split(separator).collect();
        let sound = groups.iter().all(|g| g.len() == width && g.bytes().all(|b| b.is_ascii_hexdigit()));
        sound.then_some(groups.len() * width / 2)
    };
    let bare =
        text.bytes().all(|b| b.is_ascii_hexdigit()).then_some(text.len() / 2).filter(|_| text.len().is_multiple_of(2));
    [groups(':', 2), groups('-', 2), groups('.', 4), bare]
        .into_iter()
        .flatten()
        .any(|bytes| matches!(bytes, 6 | 8 | 20))
}

fn uuid(text: &str) -> bool {
    // Dashes are optional, but only where dashes belong.
    let mut rest = text.as_bytes();
    let mut digits = Vec::with_capacity(32);
    for (i, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else { return false };
        digits.extend_from_slice(group);
        rest = after;
    }
    rest.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)
}

/// At least one group of four; an empty text is not base64.
fn base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    !body.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

fn date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

fn date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(day), Some(time)) = (parts.next(), parts.next()) else { return false };
    let bytes = time.as_bytes();
    let number = |at: usize, most: u8| {
        let digits = bytes.get(at..at + 2).filter(|d| d.iter().all(u8::is_ascii_digit));
        digits.is_some_and(|d| (d[0] - b'0') * 10 + (d[1] - b'0') <= most)
    };
    date(day)
        && number(0, 23)
        && number(3, 59)
        && number(6, 59)
        && bytes.get(2) == Some(&b':')
        && bytes.get(5) == Some(&b':')
        && time.get(8..).is_some_and(after_seconds)
}

/// An optional fraction after any one character, and a zone.
fn after_seconds(text: &str) -> bool {
    let zone = |text: &str| {
        let bytes = text.as_bytes();
        text == "z"
            || (bytes.len() == 6
                && matches!(bytes[0], b'+' | b'-')
                && bytes[3] == b':'
                && [1, 2, 4, 5].into_iter().all(|i| bytes[i].is_ascii_digit()))
    };
    let mut chars = text.chars();
    let fraction = chars.next().map(|_| chars.as_str()).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    zone(text) || fraction.is_some_and(|rest| zone(rest.trim_start_matches(|c: char| c.is_ascii_digit())))
}

/// Go's form (`1h30m`), or numbers with words of time somewhere in the text.
fn duration(text: &str) -> bool {
    go_duration(text) || worded_duration(text)
}

/// Whether Go's `time.ParseDuration` reads the text.
pub fn go_duration(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if text == "0" {
        return true;
    }
    let mut rest = text;
    let mut parts = 0;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        let sound = digits.bytes().any(|b| b.is_ascii_digit()) && digits.matches('.').count() <= 1;
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"]
            .into_iter()
            .find(|unit| after.strip_prefix(unit).is_some_and(|rest| !rest.starts_with(char::is_alphabetic)));
        let (true, Some(unit)) = (sound, unit) else { return false };
        rest = &after[unit.len()..];
        parts += 1;
    }
    parts > 0
}

fn worded_duration(text: &str) -> bool {
    const EXACT: [&str; 11] = ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"];
    const STARTS: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = rest[at..].trim_start_matches(|c: char| c.is_ascii_digit());
        let word = rest.trim_start();
        let word = &word[..word.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(word.len())];
        let word = word.to_lowercase();
        if EXACT.contains(&word.as_str()) || STARTS.iter().any(|start| word.starts_with(start)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepted_and_refused_neighbours() {
        let table: [(&str, &[&str], &[&str]); 15] = [
            ("ipv4", &["10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4"], &["10.0.0.256", "10.0.0", "::1", ""]),
            ("ipv6", &["::1", "2001:db8::1"], &["10.0.0.1", "::g", ""]),
            ("cidr", &["10.0.0.0/8", "10.0.0.1/08", "::/0"], &["10.0.0.0", "10.0.0.0/33", "::/129", "/8"]),
            (
                "mac",
                &["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455"],
                &["00:11:22:33:44", "00:11:22:33:44:5g", ""],
            ),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"], &["123e4567", ""]),
            ("date", &["2024-02-29"], &["2023-02-29", "2024-2-9", ""]),
            (
                "date-time",
                &["2024-02-29T10:00:00Z", "2024-02-29t10:00:00.5+01:00"],
                &["2024-02-29", "2024-02-29T24:00:00Z", "2024-02-29T10:00:00"],
            ),
            ("duration", &["1h30m", "1.5s", "-3ms", "3 days", "0", "2 weeks"], &["", "h", "1 parsec", "1"]),
            ("hostname", &["a", "A.example", "a-b.example.com", "a-b"], &["-a", "a..b", "a_b", "ab-c-d", "a.b1"]),
            ("email", &["a@b.example", "A B <a@b.example>"], &["a", "@b", "a@", "a b@c"]),
            ("uri", &["https://a.example/x?y=z", "/x", "mailto:a"], &["a", "", "http://a b/", "http://a:x/", "/%zz"]),
            ("byte", &["YQ==", "YWJj"], &["YQ=", "", "Y*=="]),
            ("k8s-short-name", &["a-b"], &["a.b", "A", ""]),
            ("k8s-long-name", &["a-b.c"], &["a..c", "A"]),
            ("nonsense", &["", "x"], &[]),
        ];
        for (format, good, bad) in table {
            for text in good {
                assert!(has_format(format, text), "{format} takes {text:?}");
            }
            for text in bad {
                assert!(!has_format(format, text), "{format} refuses {text:?}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_text_breaks_a_format(text in "\\PC{0,30}|[0-9a-f:./%@<>tz-]{0,40}") {
            for format in TEXT_FORMATS {
                let _ = has_format(format, &text);
            }
        }
    }
}
