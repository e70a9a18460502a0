//! TLS with a server whose certificate is verified.

use std::fs;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use results::StoreError;
use shared_store::{Access, Grants, init, open};
use testing::postgres::{OWNER, PASSWORD, Server};

pub const TESTS: [(&str, fn()); 1] =
    [("a_server_is_verified_by_the_authority_that_is_named", verified_by_the_named_authority)];

/// An authority: its certificate, and what it issues certificates with.
fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).expect("a certificate");
    (certificate.pem(), Issuer::new(params, key))
}

fn verified_by_the_named_authority() {
    let Some(server) = Server::start("") else { return };
    let (ours, issuer) = authority();
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let files = [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())];
    for (name, text) in files {
        let path = server.put(name, &text);
        let setting = if name.ends_with("crt") { "ssl_cert_file" } else { "ssl_key_file" };
        server.sql("postgres", &format!("ALTER SYSTEM SET {setting} = '{}'", path.display()));
    }
    server.sql("postgres", "ALTER SYSTEM SET ssl = on");
    server.sql("postgres", "SELECT pg_reload_conf()");
    let folder = tempfile::tempdir().expect("a folder");
    let [known, unknown] = [("known", ours), ("unknown", authority().0)].map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        path
    });
    let user = format!("{OWNER}:{PASSWORD}");
    let url = |host: &str, authority: &std::path::Path| {
        let place = server.tcp_url(&user, "postgres").replace("127.0.0.1", host);
        format!("{place}?sslmode=verify-full&sslrootcert={}", authority.display())
    };
    let good = url("localhost", &known);
    init(&good, &Grants::default()).expect("a server that is verified");
    drop(open(&good, Access::Write).expect("opens"));
    let encrypted = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'oscost'";
    let store = open(&good, Access::Write).expect("opens");
    assert_eq!(server.sql("postgres", encrypted), "t");
    drop(store);
    // Another authority, a name that is not the certificate's, and a file without a certificate.
    let none = folder.path().join("none");
    fs::write(&none, "").expect("written");
    for (url, expected) in [
        (url("localhost", &unknown), "invalid peer certificate"),
        (url("127.0.0.1", &known), "not valid for name"),
        (url("localhost", &none), "sslrootcert"),
    ] {
        let error = open(&url, Access::Write).expect_err(expected);
        assert!(matches!(error, StoreError::Server { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(expected) && !text.contains(PASSWORD), "{text}");
    }
}
