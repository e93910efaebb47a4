//! Whom the webhook answers, among those whom its authority vouches for.
//!
//! The authority of a cluster signs more than API servers: with its certificates alone every kubelet
//! could ask. Names narrow that down to the API server's own.

use netloom_https::Peer;
use x509_parser::{certificate::X509Certificate, extensions::GeneralName};

/// The names of those who may ask; with none, everybody may whom the authority vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Callers {
    names: Vec<String>,
}

impl Callers {
    /// Only those with one of these names, as common name or DNS name of their certificate.
    pub fn named(names: Vec<String>) -> Self {
        Self { names }
    }

    /// Why this one is not answered; none where it is.
    pub(super) fn refusal(&self, peer: &Peer) -> Option<String> {
        if self.names.is_empty() {
            return None;
        }
        let wanted = self.names.join(", ");
        let shown = match peer.certificates.first().map(|leaf| x509_parser::parse_x509_certificate(leaf)) {
            Some(Ok((_, leaf))) => names(&leaf),
            Some(Err(why)) => return Some(format!("the certificate cannot be read: {why}")),
            None => Vec::new(),
        };
        let known = shown.iter().any(|name| self.names.contains(name));
        (!known).then(|| format!("only {wanted} may ask here, and the certificate says {shown:?}"))
    }
}

/// Everything that a certificate calls its owner.
fn names(leaf: &X509Certificate<'_>) -> Vec<String> {
    let common = leaf.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    let other = leaf.subject_alternative_name().ok().flatten();
    let other = other.iter().flat_map(|extension| &extension.value.general_names);
    let dns = other.filter_map(|name| if let GeneralName::DNSName(name) = name { Some(*name) } else { None });
    common.chain(dns).map(str::to_owned).collect()
}
