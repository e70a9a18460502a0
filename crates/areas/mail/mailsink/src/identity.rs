//! The sink's certificate: the user's, or a self-signed one generated with rcgen.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use smtp::data::without_mark;

/// The reason why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The file of the certificate or of its key cannot be used.
    #[error("{path}: no {what} in PEM form: {cause}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The expected content.
        what: &'static str,
        /// What is wrong with the file.
        cause: rustls::pki_types::pem::Error,
    },
    /// Key and certificate do not match, or their type is not supported.
    #[error("certificate and key cannot be used: {0}; do they belong together?")]
    Unfit(rustls::Error),
    /// A self-signed certificate cannot be generated for one of the names.
    #[error("cannot make a certificate: {0}")]
    NotMade(#[from] rcgen::Error),
    /// The certificate cannot be written to a file.
    #[error("cannot write the certificate to {path}: {cause}")]
    Unwritten {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// The PEM form of a generated certificate.
    pem: Option<String>,
}

impl Identity {
    /// Generates a self-signed certificate for `names`, which may be addresses.
    ///
    /// # Errors
    /// If a name is invalid.
    pub fn made_for(names: Vec<String>) -> Result<Self, CertificateError> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.self_signed(&key)?;
        let secret = PrivatePkcs8KeyDer::from(key.serialize_der());
        let chain = vec![certificate.der().clone()];
        Ok(Self { chain, key: secret.into(), pem: Some(certificate.pem()) })
    }

    /// Reads certificate and key from two PEM files; the first may contain the whole chain.
    ///
    /// # Errors
    /// If a file cannot be read, or has no certificate or key.
    pub fn of_files(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let unreadable = |path: &Path, what| {
            let path = path.to_owned();
            move |cause| CertificateError::Unreadable { path, what, cause }
        };
        let read = |path: &Path| std::fs::read(path).map_err(rustls::pki_types::pem::Error::Io);
        let chain = read(certificate).and_then(|content| {
            CertificateDer::pem_slice_iter(without_mark(&content)).collect::<Result<Vec<_>, _>>()
        });
        let chain = chain.map_err(unreadable(certificate, "certificate"))?;
        if chain.is_empty() {
            let nothing = rustls::pki_types::pem::Error::NoItemsFound;
            return Err(unreadable(certificate, "certificate")(nothing));
        }
        let secret =
            read(key).and_then(|content| PrivateKeyDer::from_pem_slice(without_mark(&content)));
        let key = secret.map_err(unreadable(key, "private key"))?;
        Ok(Self { chain, key, pem: None })
    }

    /// Writes the certificate in PEM form, for a client to trust; the first one of a chain.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_for_clients(&self, path: &Path) -> Result<(), CertificateError> {
        let pem = self.pem.clone().unwrap_or_else(|| {
            use base64::Engine;
            let text = base64::engine::general_purpose::STANDARD.encode(&self.chain[0]);
            let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy);
            let body: Vec<_> = lines.collect();
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", body.join("\n"))
        });
        std::fs::write(path, pem)
            .map_err(|cause| CertificateError::Unwritten { path: path.to_owned(), cause })
    }

    /// The certificate, for a client to trust.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    /// The configuration of a server with this certificate: TLS 1.2 and 1.3, without client certificates.
    ///
    /// # Errors
    /// If key and certificate do not match.
    pub fn configuration(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(CertificateError::Unfit)?;
        let configuration = builder
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(CertificateError::Unfit)?;
        Ok(Arc::new(configuration))
    }
}
