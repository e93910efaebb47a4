//! Certificates that tests need beside those of the servers.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, DnValue, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair,
};
use serde_json::json;

/// The name of the real server's authority, in the form in which Go writes it: signers are found by
/// their names, byte for byte.
const PEER_AUTHORITY: &str = "peer-ca";

/// A certificate and its key, in PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// An authority of the test's own.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Result<Self, String> {
        let mut params = CertificateParams::new(Vec::new()).map_err(|error| error.to_string())?;
        params.distinguished_name.push(DnType::CommonName, "test-authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().map_err(|error| error.to_string())?;
        CertifiedIssuer::self_signed(params, key).map(Self).map_err(|error| error.to_string())
    }

    /// The authority's certificate, in PEM.
    pub(crate) fn certificate(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a server at an address, or for a client of a name.
    pub(crate) fn sign(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> Result<Pair, String> {
        sign(&leaf(name, None, purpose)?, &self.0)
    }
}

/// A client's certificate of the real server's own authority, whose files are in its folder.
pub(crate) fn of_peer(folder: &Path, user: &str, group: &str) -> Result<Pair, String> {
    let file = folder.join("ca.key");
    let key = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let key = KeyPair::from_pem(&key).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut authority = CertificateParams::default();
    authority.distinguished_name = DistinguishedName::new();
    let name = PEER_AUTHORITY.try_into().map_err(|error: rcgen::Error| error.to_string())?;
    authority.distinguished_name.push(DnType::CommonName, DnValue::PrintableString(name));
    let params = leaf(user, Some(group), ExtendedKeyUsagePurpose::ClientAuth)?;
    sign(&params, &Issuer::from_params(&authority, key))
}

/// A kubeconfig with these credentials; JSON is YAML too.
pub(crate) fn kubeconfig(server: &str, authority: &str, pair: &Pair) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "c", "cluster": {
            "server": server, "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{ "name": "u", "user": {
            "client-certificate-data": STANDARD.encode(&pair.certificate),
            "client-key-data": STANDARD.encode(&pair.key),
        }}],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        "current-context": "c",
    })
    .to_string()
}

fn leaf(name: &str, group: Option<&str>, purpose: ExtendedKeyUsagePurpose) -> Result<CertificateParams, String> {
    // A user's name has colons, which no name of a host has; an address becomes one of the server.
    let names = if name.contains(':') { Vec::new() } else { vec![name.to_owned()] };
    let mut params = CertificateParams::new(names).map_err(|error| error.to_string())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(group) = group {
        params.distinguished_name.push(DnType::OrganizationName, group);
    }
    params.extended_key_usages = vec![purpose];
    Ok(params)
}

fn sign(params: &CertificateParams, issuer: &Issuer<'_, KeyPair>) -> Result<Pair, String> {
    let key = KeyPair::generate().map_err(|error| error.to_string())?;
    let certificate = params.signed_by(&key, issuer).map_err(|error| error.to_string())?;
    Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
}
