//! The URL of a store, with a password that no message may show, and the file of passwords. The first octet says which it is.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use shared_store::fuzzing::{encrypted, password_in, shown_of};
use shared_store::{has_password, shown};

/// A part of the password.
const SECRET: &str = "Hunter2";

fuzz_target!(|data: &[u8]| {
    let Some((kind, bytes)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match kind % 3 {
        0 if text.contains(SECRET) => {}
        0 => {
            // What is before and after the password, which may have any characters itself.
            let (before, after) = text.split_once('\0').unwrap_or(("", text));
            for url in [
                format!("postgres://ann:{before}{SECRET}{after}@db.example/perf"),
                format!("postgres://ann:{SECRET}{text}"),
            ] {
                assert!(!shown(&url).contains(SECRET), "{}", shown(&url));
                assert!(!shown_of(&url).contains(SECRET), "{}", shown_of(&url));
                has_password(&url);
            }
        }
        1 => {
            let url = format!("postgres://{text}");
            if let Some((false, hosts)) = encrypted(&url)
                && !text.contains("sslmode")
            {
                let is_here = |host: &String| {
                    let name = host.split('"').nth(1).unwrap_or(host);
                    let is_loopback = name.parse().is_ok_and(|at: IpAddr| at.is_loopback());
                    is_loopback || name == "localhost" || host.starts_with("Unix(")
                };
                assert!(hosts.iter().any(is_here), "{hosts:?}");
            }
        }
        _ => {
            let escaped = |text: &str| text.replace('\\', "\\\\").replace(':', "\\:");
            let password = text.replace(['\n', '\r'], "");
            let line = format!("{}:*:*:{}:{}", escaped("d:b"), escaped("a\\n"), escaped(&password));
            assert_eq!(password_in(&line, "d:b", "perf", "a\\n"), Some(password));
            for line in text.lines() {
                drop(password_in(line, "db", "perf", "ann"));
            }
        }
    }
});
