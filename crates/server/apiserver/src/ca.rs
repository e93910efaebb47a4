//! The server's own certificate authority, kept in the data folder.
//!
//! One key signs everything: the server's certificate, recreated at each start, and those of clients,
//! in which the common name is the user and the organisations are the groups. Whoever can read the
//! key can be anybody, so it is readable by its owner only, and a key that others can read is not
//! used.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    net::IpAddr,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PublicKeyData, SanType,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject};

const CERTIFICATE_FILE: &str = "ca.crt";
const KEY_FILE: &str = "ca.key";
/// The common name of the authority; issuing works with the key and this name alone.
const AUTHORITY_NAME: &str = "netloom-ca";
const AUTHORITY_YEARS: i64 = 10;
const LEAF_DAYS: i64 = 365;
/// What the group of a file, and everybody, may do with it.
const S_IRWXG: u32 = 0o070;
const S_IRWXO: u32 = 0o007;
/// The attribute of organisations, spelled as numbers.
const ORGANISATION: [u64; 4] = [2, 5, 4, 10];

/// Why there is no authority, or no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// A file cannot be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// Others can read the key.
    #[error("{} is readable by others than its owner; whoever read it can be anybody. Remove {} to start again, or `chmod 600` it", path.display(), path.display())]
    Exposed {
        /// The key file.
        path: PathBuf,
    },
    /// One of two files is missing.
    #[error("{} is there, but {} is not; put it back, or remove both to start again", there.display(), missing.display())]
    Half {
        /// The file that is there.
        there: PathBuf,
        /// The file that is not.
        missing: PathBuf,
    },
    /// A file does not hold what its name says.
    #[error("{} does not hold what it should: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A certificate cannot be made.
    #[error("cannot make a certificate for {subject:?}: {why}")]
    Issue {
        /// For whom.
        subject: String,
        /// Why not.
        why: String,
    },
}

impl CaError {
    /// A stable word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::File { .. } => "AuthorityFile",
            Self::Exposed { .. } => "AuthorityExposed",
            Self::Half { .. } => "AuthorityIncomplete",
            Self::Content { .. } => "AuthorityUnreadable",
            Self::Issue { .. } => "CertificateNotIssued",
        }
    }
}

/// A certificate and its key, as texts.
#[derive(Clone)]
pub struct Credentials {
    /// The certificate, in PEM.
    pub certificate: String,
    /// The private key, in PEM.
    pub key: String,
}

/// A certificate and its key, as a TLS stack wants them.
#[derive(Debug)]
pub struct ServerPair {
    /// The certificate.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key.
    pub key: PrivateKeyDer<'static>,
}

/// The authority.
pub struct Authority {
    certificate: String,
    key: KeyPair,
}

impl Authority {
    /// Reads the authority of a folder, or makes one there.
    pub fn open(folder: &Path, now: Timestamp) -> Result<Self, CaError> {
        let (certificate, key) = (folder.join(CERTIFICATE_FILE), folder.join(KEY_FILE));
        match (certificate.exists(), key.exists()) {
            (true, true) => Self::read(&certificate, &key),
            (false, false) => Self::make(folder, &certificate, &key, now),
            (true, false) => Err(CaError::Half { there: certificate, missing: key }),
            (false, true) => Err(CaError::Half { there: key, missing: certificate }),
        }
    }

    /// The authority's certificate, in PEM: what clients trust.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The authority's certificate.
    pub fn certificate_der(&self) -> Result<CertificateDer<'static>, CaError> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes())
            .map_err(|error| CaError::Content { path: CERTIFICATE_FILE.into(), why: error.to_string() })
    }

    /// A certificate for a server that is reached under these names and addresses.
    pub fn server(&self, names: &[&str], addresses: &[IpAddr], now: Timestamp) -> Result<ServerPair, CaError> {
        let mut params = leaf("netloom-server", now, ExtendedKeyUsagePurpose::ServerAuth);
        for name in names {
            let name = (*name).try_into().map_err(|error| issue("netloom-server", &error))?;
            params.subject_alt_names.push(SanType::DnsName(name));
        }
        params.subject_alt_names.extend(addresses.iter().copied().map(SanType::IpAddress));
        let (certificate, key) = self.sign(&params, "netloom-server")?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(ServerPair { chain: vec![certificate.der().clone()], key })
    }

    /// A certificate with which a user of these groups can call. A certificate has room for two.
    pub fn client(&self, user: &str, groups: &[&str], now: Timestamp) -> Result<Credentials, CaError> {
        let mut params = leaf(user, now, ExtendedKeyUsagePurpose::ClientAuth);
        let name = &mut params.distinguished_name;
        match groups {
            [] => (),
            [one] => name.push(DnType::OrganizationName, *one),
            // A name holds each kind of attribute once, so the second is given by its number.
            [one, two] => {
                name.push(DnType::OrganizationName, *one);
                name.push(DnType::CustomDnType(ORGANISATION.to_vec()), *two);
            }
            _ => return Err(issue(user, &"a certificate has room for two groups")),
        }
        let (certificate, key) = self.sign(&params, user)?;
        Ok(Credentials { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    fn sign(&self, params: &CertificateParams, subject: &str) -> Result<(rcgen::Certificate, KeyPair), CaError> {
        let key = KeyPair::generate().map_err(|error| issue(subject, &error))?;
        let own = authority_params(Timestamp::UNIX_EPOCH);
        let issuer = Issuer::from_params(&own, &self.key);
        let certificate = params.signed_by(&key, &issuer).map_err(|error| issue(subject, &error))?;
        Ok((certificate, key))
    }

    fn read(certificate: &Path, key: &Path) -> Result<Self, CaError> {
        refuse_exposed(key)?;
        let text = |path: &Path| fs::read_to_string(path).map_err(|source| file("read", path, source));
        let bad =
            |path: &Path, why: &dyn std::fmt::Display| CaError::Content { path: path.into(), why: why.to_string() };
        let pair = KeyPair::from_pem(&text(key)?).map_err(|error| bad(key, &error))?;
        let authority = Self { certificate: text(certificate)?, key: pair };
        let der = CertificateDer::from_pem_slice(authority.certificate.as_bytes());
        let der = der.map_err(|error| bad(certificate, &error))?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).map_err(|error| bad(certificate, &error))?;
        if parsed.public_key().raw != authority.key.subject_public_key_info() {
            return Err(bad(certificate, &"it belongs to another key"));
        }
        Ok(authority)
    }

    fn make(folder: &Path, certificate: &Path, key: &Path, now: Timestamp) -> Result<Self, CaError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|source| file("make", folder, source))?;
        let pair = KeyPair::generate().map_err(|error| issue(AUTHORITY_NAME, &error))?;
        let made = authority_params(now).self_signed(&pair).map_err(|error| issue(AUTHORITY_NAME, &error))?;
        write_private(key, pair.serialize_pem().as_bytes()).map_err(|source| file("write", key, source))?;
        write_private(certificate, made.pem().as_bytes()).map_err(|source| file("write", certificate, source))?;
        Ok(Self { certificate: made.pem(), key: pair })
    }
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

/// Writes a file that only its owner can read, as a whole or not at all, and durably.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, true)
}

/// The same for a file that need not outlive a power cut, which is far quicker.
pub(crate) fn write_passing(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content, false)
}

fn replace(path: &Path, content: &[u8], durably: bool) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.new", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
        file.write_all(content)?;
        if !durably {
            return fs::rename(&beside, path);
        }
        file.sync_all()?;
        fs::rename(&beside, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    })();
    if written.is_err() {
        drop(fs::remove_file(&beside));
    }
    written
}

/// Refuses a key that others than its owner can read.
pub(crate) fn refuse_exposed(path: &Path) -> Result<(), CaError> {
    let mode = fs::metadata(path).map_err(|source| file("read", path, source))?.mode();
    let others = mode & (S_IRWXG | S_IRWXO);
    if others == 0 { Ok(()) } else { Err(CaError::Exposed { path: path.into() }) }
}

pub(crate) fn file(what: &'static str, path: &Path, source: io::Error) -> CaError {
    CaError::File { what, path: path.into(), source }
}

fn issue(subject: &str, why: &dyn std::fmt::Display) -> CaError {
    CaError::Issue { subject: subject.to_owned(), why: why.to_string() }
}

fn authority_params(now: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, AUTHORITY_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
    set_validity(&mut params, now, AUTHORITY_YEARS * 365);
    params
}

fn leaf(subject: &str, now: Timestamp, purpose: ExtendedKeyUsagePurpose) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    params.use_authority_key_identifier_extension = true;
    set_validity(&mut params, now, LEAF_DAYS);
    params
}

/// From yesterday, for clocks that are a little behind.
fn set_validity(params: &mut CertificateParams, now: Timestamp, days: i64) {
    let date = |days: i64| {
        let time = now.saturating_add(SignedDuration::from_hours(24 * days)).unwrap_or(now);
        let date = time.to_zoned(TimeZone::UTC).date();
        let small = |number: i8| u8::try_from(number).unwrap_or(1);
        rcgen::date_time_ymd(i32::from(date.year()), small(date.month()), small(date.day()))
    };
    params.not_before = date(-1);
    params.not_after = date(days);
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder that goes away at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("netloom-ca-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn an_authority_is_made_once() {
        let folder = Folder::new("once");
        let first = Authority::open(&folder.0, now()).unwrap();
        let second = Authority::open(&folder.0, now()).unwrap();
        assert_eq!(first.certificate(), second.certificate());
        let mode = fs::metadata(folder.0.join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn what_is_not_whole_is_refused() {
        let folder = Folder::new("refused");
        Authority::open(&folder.0, now()).unwrap();
        let key = folder.0.join(KEY_FILE);
        fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(Authority::open(&folder.0, now()).unwrap_err().reason(), "AuthorityExposed");
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        let other = Folder::new("refused-other");
        Authority::open(&other.0, now()).unwrap();
        fs::copy(other.0.join(KEY_FILE), &key).unwrap();
        assert_eq!(Authority::open(&folder.0, now()).unwrap_err().reason(), "AuthorityUnreadable");
        fs::write(&key, "nonsense").unwrap();
        assert_eq!(Authority::open(&folder.0, now()).unwrap_err().reason(), "AuthorityUnreadable");
        fs::remove_file(&key).unwrap();
        assert_eq!(Authority::open(&folder.0, now()).unwrap_err().reason(), "AuthorityIncomplete");
    }

    #[test]
    fn a_certificate_has_room_for_two_groups() {
        let folder = Folder::new("groups");
        let authority = Authority::open(&folder.0, now()).unwrap();
        let made = authority.client("ann", &["a", "b"], now()).unwrap();
        let der = CertificateDer::from_pem_slice(made.certificate.as_bytes()).unwrap();
        let (_, parsed) = x509_parser::parse_x509_certificate(&der).unwrap();
        let groups: Vec<_> = parsed.subject().iter_organization().map(|o| o.as_str().unwrap()).collect();
        assert_eq!(groups, ["a", "b"]);
        assert_eq!(authority.client("ann", &["a", "b", "c"], now()).unwrap_err().reason(), "CertificateNotIssued");
    }
}
