//! Verified TLS, as libpq's `sslmode=verify-full`.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What verifies the server's certificate and name, by the authorities of a file, or of this system.
///
/// # Errors
/// If there are no certificates of authorities.
pub(crate) fn verifying(file: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            let unread = |error: &dyn std::fmt::Display| {
                format!("sslrootcert: cannot read certificates in {}: {error}", path.display())
            };
            let found = CertificateDer::pem_file_iter(path).map_err(|error| unread(&error))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| unread(&error))?;
                roots.add(certificate).map_err(|error| unread(&error))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err("there are no certificates of authorities to verify the server by: install ca-certificates, or \
                    name a file with sslrootcert=FILE"
            .to_owned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}
