//! The extensions and limits that the sink offers.

use strum::VariantArray;

use crate::extension::Extension;
use crate::options::SinkOptions;

/// The extensions and limits that the sink offers to clients.
#[derive(Debug)]
pub struct Offer {
    helo_only: bool,
    without: Vec<Extension>,
    tls: bool,
    /// Maximum size of a message, in bytes.
    pub size: u64,
    /// The user and password that AUTH accepts; `None` for any.
    pub login: Option<(String, String)>,
    /// Replies to EHLO, without and with TLS.
    ehlo: [Vec<u8>; 2],
}

impl Offer {
    pub fn new(options: &SinkOptions) -> Self {
        let mut offer = Self {
            helo_only: options.helo_only,
            without: options.without.clone(),
            tls: options.tls.is_some(),
            size: options.size,
            login: options.login.clone(),
            ehlo: Default::default(),
        };
        offer.ehlo = [false, true].map(|secured| offer.ehlo_reply(secured));
        offer
    }

    /// Whether an extension is offered, on a connection with or without TLS.
    pub fn has(&self, extension: Extension, secured: bool) -> bool {
        let possible = match extension {
            Extension::StartTls => self.tls && !secured,
            Extension::Auth => self.tls && secured,
            _ => true,
        };
        possible && !self.without.contains(&extension)
    }

    /// Whether the sink accepts EHLO.
    pub fn knows_ehlo(&self) -> bool {
        !self.helo_only
    }

    /// The reply to EHLO.
    pub fn ehlo(&self, secured: bool) -> &[u8] {
        &self.ehlo[usize::from(secured)]
    }

    fn ehlo_reply(&self, secured: bool) -> Vec<u8> {
        let mut lines = vec!["sink".to_owned()];
        for &extension in Extension::VARIANTS {
            if self.has(extension, secured) {
                lines.push(match extension {
                    Extension::Size => format!("SIZE {}", self.size),
                    Extension::Auth => "AUTH PLAIN LOGIN".to_owned(),
                    other => other.name().to_ascii_uppercase(),
                });
            }
        }
        let last = lines.len() - 1;
        let line = |(at, line)| format!("250{}{line}\r\n", if at == last { ' ' } else { '-' });
        lines.into_iter().enumerate().map(line).collect::<String>().into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ehlo(options: &SinkOptions, secured: bool) -> String {
        String::from_utf8(Offer::new(options).ehlo(secured).to_vec()).unwrap()
    }

    #[test]
    fn what_is_offered_depends_on_plan_and_tls() {
        let mut options = SinkOptions { size: 1_000, ..SinkOptions::default() };
        let all = "250-sink\r\n250-PIPELINING\r\n250-SIZE 1000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n\
                   250-ENHANCEDSTATUSCODES\r\n250 CHUNKING\r\n";
        assert_eq!(ehlo(&options, false), all);
        let identity = crate::identity::Identity::made_for(vec!["localhost".into()]).unwrap();
        options.tls = Some(identity.configuration().unwrap());
        options.without = vec![Extension::Pipelining, Extension::Chunking];
        assert!(ehlo(&options, false).ends_with("250 STARTTLS\r\n"));
        let secured = ehlo(&options, true);
        assert!(secured.ends_with("250 AUTH PLAIN LOGIN\r\n") && !secured.contains("STARTTLS"));
        assert!(!secured.contains("PIPELINING") && !secured.contains("CHUNKING"));
    }
}
