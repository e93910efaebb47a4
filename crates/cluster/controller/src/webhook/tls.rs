//! The webhook's own certificate, and whose certificates it asks for.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio_rustls::rustls::{
    self, ConfigBuilder, RootCertStore, ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{ResolvesServerCert, WantsServerCert, WebPkiClientVerifier},
};

/// The files that a webhook's TLS is made of, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The webhook's certificate and those above it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authority of the API server's client certificate.
    pub client_authority: PathBuf,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{} holds no {what}: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        what: &'static str,
        /// Why there is none.
        why: String,
    },
    /// Certificate and key do not belong together, or are of no use.
    #[error("the certificate and the key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

impl TlsError {
    /// A stable word for it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::File { .. } => "WebhookFile",
            Self::Content { .. } => "WebhookFileContent",
            Self::Unusable(_) => "WebhookCertificateUnusable",
        }
    }
}

impl TlsFiles {
    /// The configuration of the listener: every client shows a certificate of the authority.
    pub fn load(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let Self { certificate, key, client_authority } = self;
        let own_key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|why| unfit(key, "private key", &why))?;
        let config = clients_of(client_authority)?.with_single_cert(certificates(certificate)?, own_key)?;
        Ok(finished(config))
    }
}

/// The same with a certificate that changes while the listener runs.
pub fn changing(
    client_authority: &Path,
    certificate: Arc<dyn ResolvesServerCert>,
) -> Result<Arc<ServerConfig>, TlsError> {
    Ok(finished(clients_of(client_authority)?.with_cert_resolver(certificate)))
}

fn clients_of(authority: &Path) -> Result<ConfigBuilder<ServerConfig, WantsServerCert>, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    for found in certificates(authority)? {
        roots.add(found)?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let verifier = verifier.map_err(|why| unfit(authority, "certificate authority", &why))?;
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(config.with_client_cert_verifier(verifier))
}

fn finished(mut config: ServerConfig) -> Arc<ServerConfig> {
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    match found {
        Ok(found) if found.is_empty() => Err(unfit(path, "certificate", &"the file has no PEM block of one")),
        Ok(found) => Ok(found),
        Err(why) => Err(unfit(path, "certificate", &why)),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError::File { path: path.to_owned(), source })
}

fn unfit(path: &Path, what: &'static str, why: &dyn std::fmt::Display) -> TlsError {
    TlsError::Content { path: path.to_owned(), what, why: why.to_string() }
}
