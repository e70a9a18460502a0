//! DKIM signatures (RFC 6376, RFC 8463), relaxed for header and body.

use std::fmt;
use std::path::{Path, PathBuf};

use mail_auth::common::crypto::{Ed25519Key, RsaKey, Sha256, SigningKey};
use mail_auth::common::headers::HeaderWriter;
use mail_auth::dkim::{Canonicalization, DkimSigner, Done};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use thiserror::Error;

use crate::smtp::address::{Address, AddressError};

/// Octets of a key's file at most: a key of 8,192 bits has 7,000.
const KEY_OCTETS: u64 = 64 << 10;
/// The fields that are signed, where they are there.
const SIGNED: [&str; 16] = [
    "From",
    "To",
    "Cc",
    "Reply-To",
    "Subject",
    "Date",
    "Message-ID",
    "In-Reply-To",
    "References",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "List-Id",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "Sender",
];

/// Signs messages with one key, in the name of one domain. Threads may share it.
pub struct Signer {
    signer: Either,
}

enum Either {
    Rsa(DkimSigner<RsaKey<Sha256>, Done>),
    Ed25519(DkimSigner<Ed25519Key, Done>),
}

/// Why nothing can be signed.
#[derive(Debug, Error)]
pub enum SignError {
    /// The key's file cannot be read.
    #[error("the DKIM key {} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file has no key that can be used.
    #[error(
        "{} is no DKIM key: {why}. It must be a private key in PEM form, RSA (2,048 bits or more) or Ed25519, without a \
         password, as from `openssl genrsa 2048`",
        path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The signature's domain is none.
    #[error("{domain:?} cannot be the domain of a DKIM signature: {source}")]
    Domain {
        /// What was given.
        domain: String,
        /// Why.
        source: AddressError,
    },
    /// The selector is none.
    #[error("{0:?} cannot be a DKIM selector: letters, digits, hyphens and dots")]
    Selector(String),
    /// The message was not signed.
    #[error("the message cannot be signed: {0}")]
    Message(String),
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// Signs with the private key in the file `key`, for the public one that DNS has as
    /// `selector._domainkey.domain`.
    ///
    /// # Errors
    /// Where the file has no key, or domain and selector are none.
    pub fn from_file(key: &Path, domain: &str, selector: &str) -> Result<Self, SignError> {
        let read = |source| SignError::Read { path: key.to_owned(), source };
        let octets = std::fs::metadata(key).map_err(read)?.len();
        if octets > KEY_OCTETS {
            let why = format!("it has {octets} octets");
            return Err(SignError::Key { path: key.to_owned(), why });
        }
        let pem = std::fs::read(key).map_err(read)?;
        Self::from_pem(&pem, domain, selector, key)
    }

    fn from_pem(pem: &[u8], domain: &str, selector: &str, path: &Path) -> Result<Self, SignError> {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        if selector.is_empty() || selector.len() > 200 || !selector.bytes().all(is_plain) {
            return Err(SignError::Selector(selector.to_owned()));
        }
        let postmaster = Address::parse(&format!("a@{domain}"))
            .map_err(|source| SignError::Domain { domain: domain.to_owned(), source })?;
        let domain = postmaster.domain();
        let bad =
            |why: &dyn fmt::Display| SignError::Key { path: path.to_owned(), why: why.to_string() };
        let der = PrivateKeyDer::from_pem_slice(pem).map_err(|e| bad(&e))?;
        let rsa = match &der {
            PrivateKeyDer::Pkcs1(der) => RsaKey::<Sha256>::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => {
                let octets = der.secret_pkcs8_der();
                if let Ok(key) = Ed25519Key::from_pkcs8_maybe_unchecked_der(octets) {
                    return Ok(Self { signer: Either::Ed25519(signer(key, domain, selector)) });
                }
                RsaKey::from_pkcs8_der(octets)
            }
            _ => return Err(bad(&"it is neither RSA nor Ed25519")),
        };
        let key = rsa.map_err(|e| bad(&e))?;
        Ok(Self { signer: Either::Rsa(signer(key, domain, selector)) })
    }

    /// The `DKIM-Signature` field, with its line end, that is to stand before the message `wire`, which is in
    /// wire form.
    ///
    /// # Errors
    /// Where it has nothing to sign, such as `From`.
    pub fn sign(&self, wire: &[u8]) -> Result<String, SignError> {
        let signature = match &self.signer {
            Either::Rsa(signer) => signer.sign(wire),
            Either::Ed25519(signer) => signer.sign(wire),
        };
        let signature = signature.map_err(|e| SignError::Message(e.to_string()))?;
        Ok(signature.to_header())
    }
}

fn signer<K: SigningKey>(key: K, domain: &str, selector: &str) -> DkimSigner<K, Done> {
    DkimSigner::from_key(key)
        .domain(domain)
        .selector(selector)
        .headers(SIGNED)
        .header_canonicalization(Canonicalization::Relaxed)
        .body_canonicalization(Canonicalization::Relaxed)
}
