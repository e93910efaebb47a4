//! The webhook's own certificate authority, and the certificates that it signs.
//!
//! The authority is kept in a Secret, so that every controller of a cluster signs for itself and API servers
//! believe all of them. Before it ends a new one takes its place; API servers are made to trust both for
//! that time. Keys are new each time.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData as _, SanType,
};
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject as _};

/// What the authority is called.
const NAME: &str = "netloom-webhook-ca";
/// How long an authority is believed.
const AUTHORITY: SignedDuration = SignedDuration::from_hours(24 * 365);
/// How long a certificate is.
const LEAF: SignedDuration = SignedDuration::from_hours(24 * 90);
/// Clocks of others may be behind.
const BACKDATED: SignedDuration = SignedDuration::from_hours(24);
const BUNDLE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateError {
    /// What is stored is no authority.
    #[error("the secret holds no authority: {0}")]
    Unreadable(String),
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
}

impl CertificateError {
    /// A stable word for it.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "AuthorityUnreadable",
            Self::Issue(_) => "CertificateNotIssued",
        }
    }
}

/// An authority with its key.
pub(super) struct Authority {
    /// Its own certificate and the one before, in PEM.
    bundle: String,
    key: KeyPair,
    ends: Timestamp,
}

/// A certificate with its key, and when the next one is due.
pub(super) struct Leaf {
    /// The certificate.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// Its key.
    pub(super) key: PrivateKeyDer<'static>,
    /// When it is time for the next one.
    pub(super) due: Timestamp,
}

impl Authority {
    /// Makes a new one. Whoever believes it believes the one before as well.
    pub(super) fn make(now: Timestamp, before: Option<&Self>) -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let ends = midnight(after(now, AUTHORITY));
        let mut bundle = params(now, ends).self_signed(&key)?.pem();
        if let Some(before) = before {
            bundle.push_str(first_block(&before.bundle));
        }
        Ok(Self { bundle, key, ends })
    }

    /// The authority that a Secret holds.
    pub(super) fn read(secret: &Value) -> Result<Self, CertificateError> {
        let text = |name: &str| {
            let text = secret.pointer(&format!("/data/{name}")).and_then(Value::as_str);
            let text = text.ok_or_else(|| CertificateError::Unreadable(format!("{name} is missing")))?;
            let bytes = STANDARD.decode(text).map_err(|why| CertificateError::Unreadable(format!("{name}: {why}")))?;
            String::from_utf8(bytes).map_err(|why| CertificateError::Unreadable(format!("{name}: {why}")))
        };
        let bad = |why: &dyn std::fmt::Display| CertificateError::Unreadable(why.to_string());
        let (bundle, key) = (text(BUNDLE)?, text(KEY)?);
        let key = KeyPair::from_pem(&key).map_err(|why| bad(&why))?;
        let der = CertificateDer::from_pem_slice(bundle.as_bytes()).map_err(|why| bad(&why))?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|why| bad(&why))?;
        if parsed.public_key().raw != key.subject_public_key_info() {
            return Err(bad(&"its certificate belongs to another key"));
        }
        let ends = Timestamp::from_second(parsed.validity().not_after.timestamp()).map_err(|why| bad(&why))?;
        Ok(Self { bundle, key, ends })
    }

    /// What the Secret says that holds it.
    pub(super) fn data(&self) -> Value {
        json!({BUNDLE: STANDARD.encode(&self.bundle), KEY: STANDARD.encode(self.key.serialize_pem())})
    }

    /// What API servers are made to trust, as their configurations have it.
    pub(super) fn bundle(&self) -> String {
        STANDARD.encode(&self.bundle)
    }

    /// When it is time for the next one: a third of its life before it ends.
    pub(super) fn due(&self) -> Timestamp {
        before(self.ends, AUTHORITY / 3)
    }

    /// Signs a certificate for a server that is reached under these names and addresses.
    pub(super) fn issue(&self, names: &[String], now: Timestamp) -> Result<Leaf, CertificateError> {
        let ends = midnight(after(now, LEAF)).min(self.ends);
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "netloom-webhook");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        for name in names {
            params.subject_alt_names.push(match name.parse() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name.as_str().try_into()?),
            });
        }
        set_validity(&mut params, now, ends);
        let key = KeyPair::generate()?;
        let own = self::params(now, self.ends);
        let certificate = params.signed_by(&key, &Issuer::from_params(&own, &self.key))?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Leaf { chain: vec![certificate.der().clone()], key, due: before(ends, LEAF / 3) })
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("ends", &self.ends).finish_non_exhaustive()
    }
}

fn params(now: Timestamp, ends: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    set_validity(&mut params, now, ends);
    params
}

/// Certificates begin and end with days.
fn set_validity(params: &mut CertificateParams, now: Timestamp, ends: Timestamp) {
    let day = |time: Timestamp| {
        let date = time.to_zoned(TimeZone::UTC).date();
        let small = |number: i8| u8::try_from(number).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(date.year()), small(date.month()), small(date.day()))
    };
    params.not_before = day(before(now, BACKDATED));
    params.not_after = day(ends);
}

fn midnight(time: Timestamp) -> Timestamp {
    const DAY: i64 = 24 * 60 * 60;
    Timestamp::from_second(time.as_second().div_euclid(DAY) * DAY).unwrap_or(time)
}

fn after(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_add(wait).unwrap_or(Timestamp::MAX)
}

fn before(time: Timestamp, wait: SignedDuration) -> Timestamp {
    time.checked_sub(wait).unwrap_or(Timestamp::MIN)
}

/// The first certificate of several.
fn first_block(bundle: &str) -> &str {
    const END: &str = "-----END CERTIFICATE-----";
    let end = bundle.find(END).map_or(bundle.len(), |place| place + END.len());
    let rest = bundle[end..].len() - bundle[end..].trim_start_matches(['\r', '\n']).len();
    &bundle[..end + rest]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2030-05-01T10:00:00Z".parse().unwrap()
    }

    fn secret(authority: &Authority) -> Value {
        json!({"data": authority.data()})
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let made = Authority::make(now(), None).unwrap();
        let read = Authority::read(&secret(&made)).unwrap();
        assert_eq!((read.bundle(), read.due()), (made.bundle(), made.due()));
        assert!(made.due() > after(now(), AUTHORITY / 2) && made.due() < after(now(), AUTHORITY));
        let leaf = read.issue(&["localhost".to_owned(), "127.0.0.1".to_owned()], now()).unwrap();
        assert!(leaf.due > now() && leaf.due < after(now(), LEAF));
        assert!(read.issue(&["no name at all".to_owned()], now()).is_ok_and(|leaf| leaf.chain.len() == 1));
    }

    #[test]
    fn the_one_before_is_believed_for_one_more_time() {
        let first = Authority::make(now(), None).unwrap();
        let second = Authority::make(now(), Some(&first)).unwrap();
        let third = Authority::make(now(), Some(&second)).unwrap();
        let blocks = |authority: &Authority| authority.bundle.matches("-----BEGIN CERTIFICATE-----").count();
        assert_eq!([&first, &second, &third].map(blocks), [1, 2, 2]);
        assert!(second.bundle.ends_with(&first.bundle));
        assert!(third.bundle.contains(first_block(&second.bundle)) && !third.bundle.contains(&first.bundle));
    }

    #[test]
    fn a_certificate_does_not_outlive_its_authority() {
        let authority = Authority::make(now(), None).unwrap();
        let late = before(authority.ends, SignedDuration::from_hours(48));
        let leaf = authority.issue(&[], late).unwrap();
        let (_, parsed) = x509_parser::parse_x509_certificate(&leaf.chain[0]).unwrap();
        assert_eq!(parsed.validity().not_after.timestamp(), authority.ends.as_second());
    }

    #[test]
    fn what_is_no_authority_is_refused_with_its_reason() {
        let (one, other) = (Authority::make(now(), None).unwrap(), Authority::make(now(), None).unwrap());
        let mixed = json!({"data": {BUNDLE: one.data()[BUNDLE], KEY: other.data()[KEY]}});
        for (stored, words) in [
            (json!({}), "ca.crt is missing"),
            (json!({"data": {BUNDLE: "%", KEY: ""}}), "ca.crt"),
            (mixed, "another key"),
        ] {
            let why = Authority::read(&stored).unwrap_err();
            assert!(why.to_string().contains(words), "{why}");
            assert_eq!(why.reason(), "AuthorityUnreadable");
        }
    }
}
