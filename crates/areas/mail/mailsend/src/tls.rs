//! The sender's TLS, and the certificates that it trusts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConnection, Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use smtp::data::without_mark;
use smtp::security::Security;
use thiserror::Error;

/// Maximum number of servers whose TLS sessions are cached for resumption; each takes some KB.
const SESSIONS_KEPT: usize = 4_096;

/// The reason why TLS cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The file of certificates cannot be read.
    #[error("cannot read the certificates in {}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with the file.
        cause: String,
    },
    /// The file has no certificate.
    #[error(
        "{} has no certificate; it must have at least one in PEM, from BEGIN CERTIFICATE to END CERTIFICATE",
        path.display()
    )]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A certificate in the file cannot be used to verify others.
    #[error("certificate {number} in {} cannot be used: {cause}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// Number of the certificate in the file, from 1.
        number: usize,
        /// What is wrong with the certificate.
        cause: rustls::Error,
    },
    /// The system has no trusted certificates.
    #[error(
        "this system has no certificates of those it trusts{causes}; install them (on Debian the package \
         ca-certificates), or give a file of your own"
    )]
    NoRoots {
        /// Errors of the search for certificates, after a colon; empty if there were none.
        causes: String,
    },
    /// No certificate can be valid for this name.
    #[error("\"{0}\" is no name of a server that speaks TLS")]
    Name(String),
    /// Certificates cannot be verified.
    #[error("certificates cannot be verified: {0}")]
    Verifier(String),
    /// TLS is switched off.
    #[error("TLS is switched off")]
    Off,
    /// rustls rejected the settings of a connection.
    #[error("cannot begin TLS with {name}: {cause}")]
    Refused {
        /// The server.
        name: String,
        /// The error.
        cause: rustls::Error,
    },
}

/// Starts TLS with servers. All connections have the same settings and share the session cache.
#[derive(Debug, Clone)]
pub struct ClientTls {
    security: Security,
    /// The settings; `None` if TLS is switched off.
    config: Option<Arc<ClientConfig>>,
}

impl ClientTls {
    /// Settings for `security`. If it requires verification, certificates are verified against the PEM file `ca` alone, or
    /// else against the certificates that the system trusts.
    ///
    /// # Errors
    ///
    /// If certificates are to be verified, and there are no trusted ones or they cannot be read.
    pub fn new(security: Security, ca: Option<&Path>) -> Result<Self, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = match security {
            Security::Off => None,
            Security::Offered => Some(accepting_any(&provider)),
            Security::Required => {
                let (roots, trusted) = match ca {
                    Some(path) => roots_in(path)?,
                    None => {
                        let roots = roots_of_system(rustls_native_certs::load_native_certs())?;
                        (roots, Vec::new())
                    }
                };
                Some(verifying(&provider, roots, trusted)?)
            }
        };
        let config = config.map(|mut config| {
            config.resumption = Resumption::in_memory_sessions(SESSIONS_KEPT);
            Arc::new(config)
        });
        Ok(Self { security, config })
    }

    /// The policy that these settings are for.
    pub fn security(&self) -> Security {
        self.security
    }

    /// Begins TLS with the server called `name`, a host name or an IP address.
    ///
    /// # Errors
    ///
    /// If TLS is switched off, or `name` cannot be a server's name.
    pub fn connect(&self, name: &str) -> Result<ClientConnection, TlsError> {
        let config = self.config.as_ref().ok_or(TlsError::Off)?;
        let server = ServerName::try_from(name.strip_suffix('.').unwrap_or(name).to_owned())
            .map_err(|_| TlsError::Name(name.to_owned()))?;
        ClientConnection::new(Arc::clone(config), server)
            .map_err(|cause| TlsError::Refused { name: name.to_owned(), cause })
    }
}

fn builder(
    provider: &Arc<CryptoProvider>,
) -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .expect("ring has ciphers for TLS 1.2 and 1.3")
}

fn accepting_any(provider: &Arc<CryptoProvider>) -> ClientConfig {
    let verifier = AnyCertificate(provider.signature_verification_algorithms);
    builder(provider)
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth()
}

fn verifying(
    provider: &Arc<CryptoProvider>,
    roots: RootCertStore,
    trusted: Vec<CertificateDer<'static>>,
) -> Result<ClientConfig, TlsError> {
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let inner = inner.build().map_err(|cause| TlsError::Verifier(cause.to_string()))?;
    let config = builder(provider)
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(TrustedOrVerified { inner, trusted }));
    Ok(config.with_no_client_auth())
}

/// The certificates in a file, also as authorities.
fn roots_in(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), TlsError> {
    let path = || path.to_owned();
    let fail = |cause: String| TlsError::File { path: path(), cause };
    let content = std::fs::read(path()).map_err(|cause| fail(cause.to_string()))?;
    let mut roots = RootCertStore::empty();
    let mut trusted = Vec::new();
    let certificates = CertificateDer::pem_slice_iter(without_mark(&content));
    for (number, certificate) in (1..).zip(certificates) {
        let certificate = certificate.map_err(|cause| fail(cause.to_string()))?;
        let added = roots.add(certificate.clone());
        added.map_err(|cause| TlsError::Certificate { path: path(), number, cause })?;
        trusted.push(certificate);
    }
    match trusted.is_empty() {
        true => Err(TlsError::NoCertificate { path: path() }),
        false => Ok((roots, trusted)),
    }
}

/// Verifies certificates, and accepts one that is itself in the file of trusted ones and valid for the server's name, as
/// other mail programs do: `openssl req -x509` makes servers such certificates, as authorities.
#[derive(Debug)]
struct TrustedOrVerified {
    inner: Arc<WebPkiServerVerifier>,
    trusted: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for TrustedOrVerified {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        // webpki has checked the time of validity before it reports this error.
        match verified {
            Err(error) if is_authority(&error) && self.trusted.iter().any(|t| t == end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The error of the verifying library that rustls does not name.
fn other_error(error: &rustls::Error) -> Option<String> {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => {
            Some(other.0.to_string())
        }
        _ => None,
    }
}

/// Whether the server's certificate is that of an authority.
fn is_authority(error: &rustls::Error) -> bool {
    other_error(error).as_deref() == Some("CaUsedAsEndEntity")
}

/// The usable certificates of the system, which may also have unusable ones.
fn roots_of_system(
    found: rustls_native_certs::CertificateResult,
) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let causes: Vec<_> = found.errors.iter().map(|error| format!(": {error}")).collect();
        return Err(TlsError::NoRoots { causes: causes.concat() });
    }
    Ok(roots)
}

/// An error of a connection in words that say what is wrong with the server.
pub fn tls_error_in_words(error: &rustls::Error) -> String {
    match other_error(error).as_deref() {
        Some("CaUsedAsEndEntity") => {
            "the server's certificate is that of an authority (CA:TRUE), which is trusted only \
             if --ca has this certificate itself"
                .to_owned()
        }
        Some("UnsupportedCertVersion") => {
            "the server's certificate is of X.509 version 1, which names no server: it \
             needs one of version 3 with a subjectAltName"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

/// Accepts any certificate, as [`Security::Offered`] requires. The server must still prove that it has the certificate's
/// key.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    use rustls::pki_types::PrivateKeyDer;
    use rustls::version::{TLS12, TLS13};
    use rustls::{HandshakeKind, ProtocolVersion, ServerConfig, ServerConnection};
    use tempfile::NamedTempFile;

    use super::*;

    /// A certificate authority, and a file with its certificate.
    struct Authority {
        issuer: Issuer<'static, KeyPair>,
        file: NamedTempFile,
    }

    impl Authority {
        fn new() -> Self {
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            let mut file = NamedTempFile::new().unwrap();
            file.write_all(b"\xef\xbb\xbf").unwrap(); // the byte order mark of an editor
            file.write_all(params.self_signed(&key).unwrap().pem().as_bytes()).unwrap();
            Self { issuer: Issuer::new(params, key), file }
        }

        fn certify(&self, name: &str, until_year: i32) -> Certified {
            let (params, key) = request(name, until_year);
            (params.signed_by(&key, &self.issuer).unwrap().der().clone(), key)
        }
    }

    type Certified = (CertificateDer<'static>, KeyPair);

    fn request(name: &str, until_year: i32) -> (CertificateParams, KeyPair) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(until_year, 1, 1);
        (params, KeyPair::generate().unwrap())
    }

    fn self_signed(name: &str) -> Certified {
        let (params, key) = request(name, 4000);
        (params.self_signed(&key).unwrap().der().clone(), key)
    }

    fn server_of(
        (certificate, key): &Certified,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        Arc::new(config)
    }

    /// Carries out a handshake: both sides send until neither has more to send.
    fn shake_hands(
        mut client: ClientConnection,
        server: &Arc<ServerConfig>,
    ) -> Result<ClientConnection, rustls::Error> {
        let mut server = ServerConnection::new(Arc::clone(server)).unwrap();
        for _ in 0..20 {
            let mut wire = Vec::new();
            while client.wants_write() {
                client.write_tls(&mut wire).unwrap();
            }
            let mut said = &wire[..];
            while !said.is_empty() {
                server.read_tls(&mut said).unwrap();
                server.process_new_packets().unwrap();
            }
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut said = &wire[..];
            while !said.is_empty() {
                client.read_tls(&mut said).unwrap();
                client.process_new_packets()?;
            }
            if !client.is_handshaking() && !client.wants_write() && !server.is_handshaking() {
                return Ok(client);
            }
        }
        panic!("the handshake does not end");
    }

    fn meet(tls: &ClientTls, name: &str, certified: &Certified) -> Result<(), rustls::Error> {
        let client = tls.connect(name).unwrap();
        shake_hands(client, &server_of(certified, &[&TLS12, &TLS13])).map(drop)
    }

    #[test]
    fn required_accepts_only_what_is_valid_for_the_name() {
        let authority = Authority::new();
        let tls = ClientTls::new(Security::Required, Some(authority.file.path())).unwrap();
        let valid = authority.certify("mx.example.org", 4000);
        meet(&tls, "mx.example.org", &valid).unwrap();
        meet(&tls, "mx.example.org.", &valid).unwrap();
        let refused = |name, certified: &Certified| {
            meet(&tls, name, certified).expect_err("accepted").to_string()
        };
        assert!(refused("other.example.org", &valid).contains("not valid for name"));
        let expired = authority.certify("mx.example.org", 2001);
        assert!(refused("mx.example.org", &expired).contains("expired"));
        assert!(refused("mx.example.org", &self_signed("mx.example.org")).contains("certificate"));
        let stranger = Authority::new().certify("mx.example.org", 4000);
        assert!(refused("mx.example.org", &stranger).contains("certificate"));
    }

    /// `openssl req -x509` makes certificates with CA:TRUE, and OpenSSL accepts one that is itself trusted.
    #[test]
    fn a_certificate_that_is_itself_trusted_is_accepted() {
        let made = |until_year| {
            let (mut params, key) = request("mx.example.org", until_year);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let certificate = params.self_signed(&key).unwrap();
            let mut file = NamedTempFile::new().unwrap();
            file.write_all(certificate.pem().as_bytes()).unwrap();
            let tls = ClientTls::new(Security::Required, Some(file.path())).unwrap();
            (tls, (certificate.der().clone(), key))
        };
        let (tls, own) = made(4000);
        meet(&tls, "mx.example.org", &own).unwrap();
        let error = meet(&tls, "other.example.org", &own).unwrap_err().to_string();
        assert!(error.contains("not valid for name"), "{error}");
        let (other, _) = made(4000);
        let error = tls_error_in_words(&meet(&other, "mx.example.org", &own).unwrap_err());
        assert!(error.contains("authority") || error.contains("UnknownIssuer"), "{error}");
        let (tls, expired) = made(2001);
        let error = meet(&tls, "mx.example.org", &expired).unwrap_err().to_string();
        assert!(error.contains("expired"), "{error}");
    }

    #[test]
    fn errors_of_certificates_are_in_words() {
        let error = |name: &str| {
            let other = rustls::OtherError(Arc::new(std::io::Error::other(name.to_owned())));
            tls_error_in_words(&rustls::Error::InvalidCertificate(CertificateError::Other(other)))
        };
        assert!(error("CaUsedAsEndEntity").contains("--ca"));
        assert!(error("UnsupportedCertVersion").contains("version 1"));
    }

    #[test]
    fn required_knows_addresses_as_names() {
        let authority = Authority::new();
        let tls = ClientTls::new(Security::Required, Some(authority.file.path())).unwrap();
        for address in ["127.0.0.1", "::1"] {
            let valid = authority.certify(address, 4000);
            meet(&tls, address, &valid).unwrap();
            meet(&tls, "127.0.0.2", &valid).unwrap_err();
        }
    }

    #[test]
    fn offered_accepts_any_certificate() {
        let tls = ClientTls::new(Security::Offered, None).unwrap();
        meet(&tls, "mx.example.org", &self_signed("mx.example.org")).unwrap();
        meet(&tls, "mx.example.org", &self_signed("other.example")).unwrap();
        meet(&tls, "127.0.0.1", &Authority::new().certify("mx.example.org", 2001)).unwrap();
    }

    #[test]
    fn offered_refuses_who_has_not_the_key() {
        use rustls::client::danger::ServerCertVerifier as _;
        let provider = rustls::crypto::ring::default_provider();
        let any = AnyCertificate(provider.signature_verification_algorithms);
        let (certificate, _) = self_signed("mx.example.org");
        // The message has the scheme ECDSA with P-256 and SHA-256, and eight bytes that are no signature (RFC 8446, section
        // 4.4.3).
        let said = [4, 3, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8];
        let signed = rustls::internal::msgs::codec::Codec::read_bytes(&said).unwrap();
        any.verify_tls12_signature(b"said", &certificate, &signed).unwrap_err();
        any.verify_tls13_signature(b"said", &certificate, &signed).unwrap_err();
    }

    #[test]
    fn both_versions_are_spoken_and_sessions_resumed() {
        let authority = Authority::new();
        let certified = authority.certify("mx.example.org", 4000);
        for (version, expected) in
            [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)]
        {
            for tls in [
                ClientTls::new(Security::Required, Some(authority.file.path())).unwrap(),
                ClientTls::new(Security::Offered, None).unwrap(),
            ] {
                let server = server_of(&certified, &[version]);
                let kinds = [(); 2].map(|()| {
                    let client = tls.connect("mx.example.org").unwrap();
                    let client = shake_hands(client, &server).unwrap();
                    assert_eq!(client.protocol_version(), Some(expected));
                    client.handshake_kind().unwrap()
                });
                assert_eq!(kinds, [HandshakeKind::Full, HandshakeKind::Resumed], "{expected:?}");
            }
        }
    }

    #[test]
    fn file_without_certificates_is_told() {
        let error = |path: &Path| {
            let error = ClientTls::new(Security::Required, Some(path)).unwrap_err().to_string();
            assert!(error.contains(&path.display().to_string()), "{error}");
            error
        };
        assert!(error(Path::new("/no/such/file.pem")).contains("cannot read"));
        let mut file = NamedTempFile::new().unwrap();
        assert!(error(file.path()).contains("no certificate"));
        file.write_all(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert!(error(file.path()).contains("certificate 1"));
    }

    #[test]
    fn system_without_certificates_is_told() {
        let error = roots_of_system(Default::default()).unwrap_err().to_string();
        assert!(error.contains("ca-certificates"), "{error}");
    }

    #[test]
    fn what_is_switched_off_or_no_name_is_refused() {
        let off = ClientTls::new(Security::Off, Some(Path::new("/no/such/file"))).unwrap();
        assert!(matches!(off.connect("mx.example.org"), Err(TlsError::Off)));
        let on = ClientTls::new(Security::Offered, None).unwrap();
        for name in ["", "a b", "a..b", "m\u{fc}ller.example"] {
            assert!(matches!(on.connect(name), Err(TlsError::Name(_))), "{name}");
        }
    }
}
