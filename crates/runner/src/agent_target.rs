//! Checks which agents this program works with.

use crate::agent::target;
use crate::machine::{VERSION, build};
use crate::wire::{Hello, PROTOCOL};

/// Checks that an agent has this program's protocol and version, and is the same program if it is built for the same
/// target.
///
/// # Errors
/// The difference and the remedy, in words.
pub(crate) fn check_agent(hello: &Hello) -> Result<(), String> {
    if hello.protocol != PROTOCOL || hello.version != VERSION {
        return Err(format!(
            "its agent is oscost {} with protocol {}, this is {VERSION} with protocol {PROTOCOL}: \
             install the same version there",
            hello.version, hello.protocol
        ));
    }
    let build = build();
    let known = [&build, &hello.build].iter().all(|build| *build != crate::machine::UNKNOWN);
    if known && hello.target == target() && hello.build != build {
        return Err(format!(
            "its agent is another build of oscost ({}) than this one ({build}): copy this program \
             there",
            hello.build
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn another_version_protocol_or_build_is_refused() {
        let same = Hello {
            protocol: PROTOCOL,
            version: VERSION.to_owned(),
            build: build(),
            target: target(),
            unix_ms: 0,
            cpus: vec![0],
            capabilities: BTreeMap::new(),
        };
        assert_eq!(check_agent(&same), Ok(()));
        let elsewhere = Hello { target: "riscv64-linux".into(), build: "1".into(), ..same.clone() };
        assert_eq!(check_agent(&elsewhere), Ok(()));
        for wrong in [
            Hello { protocol: PROTOCOL + 1, ..same.clone() },
            Hello { version: "0.0.1".into(), ..same.clone() },
            Hello { build: "00000000".into(), ..same },
        ] {
            assert!(check_agent(&wrong).is_err(), "{wrong:?}");
        }
    }
}
