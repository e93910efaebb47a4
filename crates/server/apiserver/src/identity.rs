//! Who is behind a client certificate, and how clients are notified who they are.
//!
//! The handshake takes any certificate whose key the client holds; whether it is one of ours is
//! decided afterwards, so that a stranger gets an answer in words instead of a broken connection.

use std::{
    collections::HashMap,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use netloom_admission::User;
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::{
    DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto,
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};

use crate::ca::{self, Credentials};

/// The group of everybody who is known.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of those who are not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of those who are not.
pub const ANONYMOUS: &str = "system:anonymous";

/// Where the fingerprint of a credential is kept.
pub(crate) const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// A certificate of ours, and until when.
#[derive(Debug, Clone)]
pub struct Identified {
    /// Who.
    pub user: User,
    /// Until when it counts.
    pub until: Timestamp,
}

/// How many certificates are remembered. Beyond it all are forgotten, which costs their next request
/// one check each.
const REMEMBERED: usize = 4096;

/// Decides about client certificates.
#[derive(Debug, Clone)]
pub struct Certificates {
    inner: Arc<dyn ClientCertVerifier>,
    /// Those that were checked and found ours, by fingerprint: each request asks again.
    known: Arc<Mutex<HashMap<[u8; 32], Identified>>>,
}

impl Certificates {
    /// Certificates that an authority has signed.
    pub fn of(authority: CertificateDer<'static>) -> Result<Self, Error> {
        let mut roots = RootCertStore::empty();
        roots.add(authority)?;
        let provider = Arc::new(crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        let inner = verifier.map_err(|error| Error::General(error.to_string()))?;
        Ok(Self { inner, known: Arc::default() })
    }

    /// For the handshake.
    pub fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::new(TakeAny { inner: Arc::clone(&self.inner) })
    }

    /// Who a client is, by the certificates that it showed; the text says why they do not count.
    pub fn identify(&self, chain: &[CertificateDer<'_>], now: Timestamp) -> Result<Identified, String> {
        let (leaf, rest) = chain.split_first().ok_or("no certificate")?;
        let print: [u8; 32] = Sha256::digest(leaf).into();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known().get(&print).filter(|found| now < found.until) {
            return Ok(found.clone());
        }
        let found = self.check(leaf, rest, &print, now)?;
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(print, found.clone());
        Ok(found)
    }

    fn check(
        &self,
        leaf: &CertificateDer<'_>,
        rest: &[CertificateDer<'_>],
        print: &[u8],
        now: Timestamp,
    ) -> Result<Identified, String> {
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        self.inner.verify_client_cert(leaf, rest, at).map_err(|error| error.to_string())?;
        let (_, parsed) = x509_parser::parse_x509_certificate(leaf).map_err(|error| error.to_string())?;
        let mut names = parsed.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        let name = names.next().filter(|name| !name.is_empty()).ok_or("the certificate names nobody")?.to_owned();
        let groups = parsed.subject().iter_organization().filter_map(|group| group.as_str().ok()).map(str::to_owned);
        let until =
            Timestamp::from_second(parsed.validity().not_after.timestamp()).map_err(|error| error.to_string())?;
        let mut user = User { name, groups: groups.collect(), ..User::default() };
        user.groups.push(AUTHENTICATED.to_owned());
        user.extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("X509SHA256={}", hex(print))]);
        Ok(Identified { user, until })
    }
}

/// Takes every certificate in the handshake, as long as the client holds its key.
#[derive(Debug)]
struct TakeAny {
    inner: Arc<dyn ClientCertVerifier>,
}

impl ClientCertVerifier for TakeAny {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _leaf: &CertificateDer<'_>,
        _rest: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// How to reach a server as somebody.
#[derive(Debug)]
pub struct Kubeconfig<'a> {
    /// The address, such as `https://127.0.0.1:6443`.
    pub server: &'a str,
    /// The authority's certificate.
    pub authority: &'a str,
    /// The name under which the user is listed.
    pub user: &'a str,
    /// The user's certificate and key.
    pub credentials: &'a Credentials,
}

impl Kubeconfig<'_> {
    /// The file's text.
    pub fn text(&self) -> String {
        let Self { server, authority, user, credentials } = self;
        let [authority, certificate, key] =
            [*authority, &credentials.certificate, &credentials.key].map(|pem| STANDARD.encode(pem));
        // Names are quoted as JSON, which YAML takes.
        let user = serde_json::Value::from(*user);
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             current-context: netloom\n\
             clusters:\n\
             - name: netloom\n\
             \x20 cluster:\n\
             \x20   server: {server}\n\
             \x20   certificate-authority-data: {authority}\n\
             users:\n\
             - name: {user}\n\
             \x20 user:\n\
             \x20   client-certificate-data: {certificate}\n\
             \x20   client-key-data: {key}\n\
             contexts:\n\
             - name: netloom\n\
             \x20 context:\n\
             \x20   cluster: netloom\n\
             \x20   user: {user}\n"
        )
    }

    /// Writes it where only its owner can read it.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        ca::write_private(path, self.text().as_bytes())
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use tokio_rustls::rustls::pki_types::pem::PemObject;

    use super::*;
    use crate::ca::Authority;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    fn authority(name: &str) -> Authority {
        let path = std::env::temp_dir().join(format!("netloom-identity-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        let authority = Authority::open(&path, now()).unwrap();
        drop(std::fs::remove_dir_all(&path));
        authority
    }

    fn chain(credentials: &Credentials) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(credentials.certificate.as_bytes()).unwrap()]
    }

    #[test]
    fn a_certificate_of_ours_names_its_user() {
        let authority = authority("ours");
        let certificates = Certificates::of(authority.certificate_der().unwrap()).unwrap();
        let ann = chain(&authority.client("ann", &["a", "b"], now()).unwrap());
        let found = certificates.identify(&ann, now()).unwrap();
        assert_eq!(found.user.name, "ann");
        assert_eq!(found.user.groups, ["a", "b", AUTHENTICATED]);
        assert!(found.until > now());
    }

    #[test]
    fn strangers_and_expired_ones_do_not_count() {
        let (ours, theirs) = (authority("mine"), authority("theirs"));
        let certificates = Certificates::of(ours.certificate_der().unwrap()).unwrap();
        let stranger = chain(&theirs.client("ann", &[], now()).unwrap());
        assert!(certificates.identify(&stranger, now()).is_err());
        let ann = chain(&ours.client("ann", &[], now()).unwrap());
        let later = now().saturating_add(SignedDuration::from_hours(24 * 400)).unwrap();
        assert!(certificates.identify(&ann, later).unwrap_err().to_lowercase().contains("expired"));
        let server = ours.server(&["localhost"], &[], now()).unwrap();
        assert!(certificates.identify(&server.chain, now()).is_err(), "a server's certificate names no client");
        assert!(certificates.identify(&[], now()).is_err());
    }

    #[test]
    fn a_kubeconfig_is_whole() {
        let credentials = Credentials { certificate: "c".into(), key: "k".into() };
        let config = Kubeconfig { server: "https://[::1]:1", authority: "a", user: "x: y", credentials: &credentials };
        let text = config.text();
        assert!(text.contains("client-key-data: aw==\n"), "{text}");
        assert!(text.contains("    user: \"x: y\"\n"), "{text}");
    }
}
