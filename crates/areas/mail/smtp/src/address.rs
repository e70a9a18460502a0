//! Mail addresses (RFC 5321, sections 4.1.2 and 4.1.3; RFC 6531 for those beyond ASCII).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use thiserror::Error;

/// Maximum octets before the @ (RFC 5321 4.5.3.1.1).
pub const LOCAL_OCTETS: usize = 64;
/// Maximum octets of a domain (RFC 5321 4.5.3.1.2).
pub const DOMAIN_OCTETS: usize = 255;
/// Maximum octets of an address: a path has 256 with its angle brackets (RFC 5321 4.5.3.1.3).
pub const ADDRESS_OCTETS: usize = 254;
/// Maximum octets of a domain's label (RFC 1035 2.3.4).
const LABEL_OCTETS: usize = 63;

/// A mailbox address. It cannot end a command or begin another one: it has no control characters, and has spaces and angle
/// brackets only within a quoted local part.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address {
    text: Box<str>,
    /// The position of the @ between the two parts.
    at: u8,
}

/// The fault of an invalid address.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AddressError {
    /// The text is empty or has only spaces.
    #[error("there is no address")]
    Empty,
    /// The address has no @.
    #[error("there is no @")]
    NoAt,
    /// The address has a control character, such as a line end.
    #[error("it has the control character {0:?}")]
    Control(char),
    /// The address has angle brackets, as in a header.
    #[error("it has angle brackets: only the address is wanted, without a name or brackets")]
    Brackets,
    /// The local part is empty.
    #[error("there is nothing before the @")]
    NoLocal,
    /// The local part has more than [`LOCAL_OCTETS`].
    #[error("the part before the @ has {0} octets, more than the 64 allowed")]
    LongLocal(usize),
    /// The local part has a character that needs quotes or is not allowed at all.
    #[error("the part before the @ has the character {0:?}, which is not allowed there")]
    LocalCharacter(char),
    /// The local part has a dot at an end, or two in succession.
    #[error("the part before the @ begins or ends with a dot, or has two in a row")]
    LocalDots,
    /// The quoted local part has no end, or is followed by something other than the @.
    #[error("the part before the @ begins with a quotation mark, but no other ends it")]
    Quotes,
    /// The domain is empty.
    #[error("there is nothing after the @")]
    NoDomain,
    /// The domain has more than [`DOMAIN_OCTETS`].
    #[error("the domain has {0} octets, more than the 255 allowed")]
    LongDomain(usize),
    /// One of the domain's labels is too long.
    #[error("a part of the domain has more than the 63 octets allowed")]
    LongLabel,
    /// The domain has a character that is not allowed.
    #[error("the domain has the character {0:?}, which is not allowed there")]
    DomainCharacter(char),
    /// The domain has a dot at an end, or two in succession.
    #[error("the domain begins or ends with a dot, or has two in a row")]
    DomainDots,
    /// A label begins or ends with a hyphen.
    #[error("a part of the domain begins or ends with a hyphen")]
    Hyphen,
    /// The last label is a number: most likely an IP address.
    #[error(
        "the domain ends in a number: an IP address is written in brackets, such as [127.0.0.1]"
    )]
    Number,
    /// The domain is invalid by the rules for internationalized names (UTS 46).
    #[error("the domain has characters, or an order of them, that domain names cannot have")]
    International,
    /// The text in brackets is no IP address.
    #[error("the brackets do not hold an IP address, such as [127.0.0.1] or [IPv6:::1]")]
    Literal,
    /// The address has more than [`ADDRESS_OCTETS`].
    #[error("it has {0} octets, more than the 254 allowed")]
    Long(usize),
}

impl Address {
    /// Parses an address without angle brackets and display name.
    ///
    /// # Errors
    /// If the address is invalid.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.trim().is_empty() {
            return Err(AddressError::Empty);
        }
        if let Some(c) = text.chars().find(|c| c.is_control()) {
            return Err(AddressError::Control(c));
        }
        let (local, domain) = split(text)?;
        if domain.is_empty() {
            return Err(AddressError::NoDomain);
        }
        let is_literal = domain.starts_with('[');
        let domain = if is_literal { literal(domain)? } else { domain_name(domain)? };
        let octets = local.len() + 1 + domain.len();
        if octets > ADDRESS_OCTETS {
            return Err(AddressError::Long(octets));
        }
        let at = u8::try_from(local.len()).map_err(|_| AddressError::LongLocal(local.len()))?;
        let mut text = String::with_capacity(octets);
        text.extend([local, "@", &domain]);
        Ok(Self { text: text.into_boxed_str(), at })
    }

    /// The local part, with its quotes if it is quoted.
    pub fn local(&self) -> &str {
        &self.text[..usize::from(self.at)]
    }

    /// The domain: a name in lower-case ASCII (A-labels), or an IP address in brackets.
    pub fn domain(&self) -> &str {
        &self.text[usize::from(self.at) + 1..]
    }

    /// The whole address, as it is sent between angle brackets.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the address may be sent only to servers that offer SMTPUTF8 (RFC 6531).
    pub fn needs_smtputf8(&self) -> bool {
        !self.text.is_ascii()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse(text)
    }
}

/// The return path whose bounces identify the recipient (VERP): for `bounce@example.org` and `jo@x.test` it is
/// `bounce+jo=x.test@example.org`. Characters that need quotes, or brackets, become `+` and two hexadecimal digits.
///
/// # Errors
/// If the result exceeds the limits of an address: a long recipient does not fit before the @.
pub fn verp(from: &Address, to: &Address) -> Result<Address, AddressError> {
    let mut text = String::with_capacity(ADDRESS_OCTETS);
    text.push_str(&plain(from.local()));
    text.push('+');
    text.push_str(&plain(to.local()));
    text.push('=');
    text.push_str(&plain(to.domain()));
    text.push('@');
    text.push_str(from.domain());
    Address::parse(&text)
}

/// Encodes a part of an address so that it needs no quotes.
fn plain(part: &str) -> String {
    let is_quoted = part.starts_with('"');
    let bare = part.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(part);
    let mut plain = String::with_capacity(part.len());
    let mut chars = bare.chars();
    while let Some(c) = chars.next() {
        let c = if is_quoted && c == '\\' { chars.next().unwrap_or(c) } else { c };
        // A quoted part may have dots in places where an unquoted one may not.
        if is_atext(c) || (c == '.' && !is_quoted) {
            plain.push(c);
        } else {
            plain.push_str(&format!("+{:02X}", u32::from(c)));
        }
    }
    plain
}

/// Splits an address into the checked local part and the unchecked domain.
fn split(text: &str) -> Result<(&str, &str), AddressError> {
    let (local, domain) = if text.starts_with('"') {
        let end = end_of_quotes(text)?;
        let domain = text[end..].strip_prefix('@').ok_or(AddressError::Quotes)?;
        (&text[..end], domain)
    } else {
        if text.contains(['<', '>']) {
            return Err(AddressError::Brackets);
        }
        let (local, domain) = text.split_once('@').ok_or(AddressError::NoAt)?;
        check_dot_string(local)?;
        (local, domain)
    };
    match local.len() {
        0..=LOCAL_OCTETS => Ok((local, domain)),
        octets => Err(AddressError::LongLocal(octets)),
    }
}

/// The end of the quoted string at the beginning of `text`, which has no control characters.
fn end_of_quotes(text: &str) -> Result<usize, AddressError> {
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Ok(at + 1),
            '\\' => match chars.next() {
                Some((_, c)) if c.is_ascii() => {}
                Some((_, c)) => return Err(AddressError::LocalCharacter(c)),
                None => return Err(AddressError::Quotes),
            },
            _ => {}
        }
    }
    Err(AddressError::Quotes)
}

fn check_dot_string(local: &str) -> Result<(), AddressError> {
    if local.is_empty() {
        return Err(AddressError::NoLocal);
    }
    if let Some(c) = local.chars().find(|c| !is_atext(*c) && *c != '.') {
        return Err(AddressError::LocalCharacter(c));
    }
    if local.starts_with('.') || local.ends_with('.') || local.contains("..") {
        return Err(AddressError::LocalDots);
    }
    Ok(())
}

/// Whether a character needs no quotes (RFC 5322 3.2.3; RFC 6532 3.2 beyond ASCII).
fn is_atext(c: char) -> bool {
    match c {
        c if c.is_ascii_alphanumeric() => true,
        '!' | '#' | '$' | '%' | '&' | '\'' | '*' | '+' | '-' | '/' | '=' | '?' | '^' | '_'
        | '`' | '{' | '|' | '}' | '~' => true,
        c => !c.is_ascii() && !c.is_control() && !c.is_whitespace() && !is_unwritten(c),
    }
}

/// Whether a character has no width, so that nobody sees that it is part of an address.
pub fn is_invisible(c: char) -> bool {
    // Joiners are part of words in some scripts.
    is_unwritten(c) || matches!(c, '\u{200c}' | '\u{200d}')
}

/// Invisible characters that are part of no word: soft hyphen, zero-width space, marks of the direction of writing, word
/// joiner, byte order mark.
pub(crate) fn is_unwritten(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

/// The canonical form of an address literal.
fn literal(domain: &str) -> Result<String, AddressError> {
    let inner = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.ok_or(AddressError::Literal)?;
    match inner.split_at_checked(5) {
        Some((tag, v6)) if tag.eq_ignore_ascii_case("IPv6:") => {
            v6.parse::<Ipv6Addr>().map(|ip| format!("[IPv6:{ip}]"))
        }
        _ => inner.parse::<Ipv4Addr>().map(|ip| format!("[{ip}]")),
    }
    .map_err(|_| AddressError::Literal)
}

/// The domain in lower case and ASCII.
fn domain_name(domain: &str) -> Result<String, AddressError> {
    if domain.len() > 4 * DOMAIN_OCTETS {
        return Err(AddressError::LongDomain(domain.len()));
    }
    let name = if domain.is_ascii() {
        domain.to_ascii_lowercase()
    } else {
        idna::domain_to_ascii(domain).map_err(|_| AddressError::International)?
    };
    check_domain(&name)?;
    Ok(name)
}

fn check_domain(name: &str) -> Result<(), AddressError> {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
    if !name.bytes().all(is_allowed) {
        let c = name.chars().find(|c| !c.is_ascii() || !is_allowed(*c as u8));
        return Err(AddressError::DomainCharacter(c.unwrap_or_default()));
    }
    if name.len() > DOMAIN_OCTETS {
        return Err(AddressError::LongDomain(name.len()));
    }
    let mut last = "";
    for label in name.split('.') {
        match label.as_bytes() {
            [] => return Err(AddressError::DomainDots),
            [b'-', ..] | [.., b'-'] => return Err(AddressError::Hyphen),
            label if label.len() > LABEL_OCTETS => return Err(AddressError::LongLabel),
            _ => last = label,
        }
    }
    if last.bytes().all(|b| b.is_ascii_digit()) {
        return Err(AddressError::Number);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fault(text: &str) -> AddressError {
        Address::parse(text).expect_err(text)
    }

    fn address(text: &str) -> Address {
        Address::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn reads_addresses() {
        let plain = address("Jo.Smith+tag@Example.ORG");
        assert_eq!((plain.local(), plain.domain()), ("Jo.Smith+tag", "example.org"));
        assert_eq!(plain.to_string(), "Jo.Smith+tag@example.org");
        for same in [
            "a@b",
            "jo@localhost",
            "!#$%&'*+-/=?^_`{|}~@x.test",
            r#""jo smith"@x.test"#,
            r#""a\"b\\@c>"@x.test"#,
            r#"""@x.test"#,
            "jo@[127.0.0.1]",
            "jo@[IPv6:::1]",
            "jo@3com.test",
            "jo@xn--bcher-kva.test",
        ] {
            assert_eq!(address(same).to_string(), same);
        }
        assert_eq!(address(r#""a@b"@x.test"#).domain(), "x.test");
        assert_eq!(address("jo@[ipv6:0:0::1]").domain(), "[IPv6:::1]");
    }

    #[test]
    fn international_addresses() {
        let german = address("jo@Bücher.Test");
        assert_eq!(german.domain(), "xn--bcher-kva.test");
        assert!(!german.needs_smtputf8());
        let chinese = address("用户@例子.test");
        assert_eq!(chinese.to_string(), "用户@xn--fsqu00a.test");
        assert!(chinese.needs_smtputf8());
        assert_eq!(address("jo@x。test").domain(), "x.test");
        assert_eq!(fault("jo@\u{ad}"), AddressError::DomainDots);
        assert!(Address::parse("jo@a\u{2028}b.test").is_err());
    }

    #[test]
    fn says_what_is_wrong() {
        use AddressError as E;
        let long = "a".repeat(65);
        let cases = [
            ("", E::Empty),
            ("  ", E::Empty),
            ("jo", E::NoAt),
            ("@x.test", E::NoLocal),
            ("jo@", E::NoDomain),
            ("jo@x.test\r\nRCPT TO:<a@b>", E::Control('\r')),
            ("jo\n@x.test", E::Control('\n')),
            ("jo\u{85}@x.test", E::Control('\u{85}')),
            ("Jo <jo@x.test>", E::Brackets),
            ("jo@x.test>", E::Brackets),
            ("jo smith@x.test", E::LocalCharacter(' ')),
            ("jo\u{a0}@x.test", E::LocalCharacter('\u{a0}')),
            ("jo,x@x.test", E::LocalCharacter(',')),
            ("jo@x.test@y", E::DomainCharacter('@')),
            ("jo@x.test SIZE=1", E::DomainCharacter(' ')),
            ("jo@x_y.test", E::DomainCharacter('_')),
            (".jo@x", E::LocalDots),
            ("jo.@x", E::LocalDots),
            ("j..o@x", E::LocalDots),
            ("\"jo@x.test", E::Quotes),
            ("\"jo\\", E::Quotes),
            ("\"jo\"smith@x.test", E::Quotes),
            ("jo@x..test", E::DomainDots),
            ("jo@x.test.", E::DomainDots),
            ("jo@-x.test", E::Hyphen),
            ("jo@x-.test", E::Hyphen),
            ("jo@127.0.0.1", E::Number),
            ("jo@[127.0.0.256]", E::Literal),
            ("jo@[127.0.0.1", E::Literal),
            ("jo@[x.test]", E::Literal),
            ("jo@[IPv6:127.0.0.1]", E::Literal),
        ];
        for (text, expected) in cases {
            assert_eq!(fault(text), expected, "{text:?}");
        }
        assert_eq!(fault(&format!("{long}@x.test")), E::LongLocal(65));
        assert_eq!(fault(&format!("jo@{}.test", "a".repeat(64))), E::LongLabel);
        assert_eq!(fault(&format!("jo@{}test", "a.".repeat(130))), E::LongDomain(264));
        let domain = format!("{}test", "abc.".repeat(50));
        assert_eq!(fault(&format!("{}@{domain}", &long[..50])), E::Long(255));
        address(&format!("{}@{domain}", &long[..49]));
        address(&format!("{}@x.test", &long[..64]));
    }

    #[test]
    fn a_bounce_tells_its_recipient() {
        let of =
            |to: &str| verp(&address("bounce@example.org"), &address(to)).map(|a| a.to_string());
        assert_eq!(of("jo@x.test").as_deref(), Ok("bounce+jo=x.test@example.org"));
        assert_eq!(of("jo+a@x.test").as_deref(), Ok("bounce+jo+a=x.test@example.org"));
        assert_eq!(of("\"a \\\"b.\"@x").as_deref(), Ok("bounce+a+20+22b+2E=x@example.org"));
        assert_eq!(of("jo@[127.0.0.1]").as_deref(), Ok("bounce+jo=+5B127.0.0.1+5D@example.org"));
        assert_eq!(of(&format!("{}@x.test", "a".repeat(60))), Err(AddressError::LongLocal(74)));
    }

    /// Whether `c` could end a path or a command.
    fn ends_something(c: char) -> bool {
        c.is_control() || c.is_whitespace() || matches!(c, '<' | '>')
    }

    fn check_any(text: &str) -> Result<(), TestCaseError> {
        let Ok(address) = Address::parse(text) else { return Ok(()) };
        let wire = address.to_string();
        prop_assert_eq!(&Address::parse(&wire), &Ok(address.clone()));
        prop_assert_eq!(&wire, &format!("{}@{}", address.local(), address.domain()));
        prop_assert!(wire.len() <= ADDRESS_OCTETS && address.local().len() <= LOCAL_OCTETS);
        prop_assert!(address.domain().is_ascii() && !address.domain().contains(ends_something));
        prop_assert!(!wire.contains(char::is_control));
        let is_quoted = address.local().starts_with('"') && address.local().ends_with('"');
        prop_assert!(is_quoted || !address.local().contains(ends_something));
        Ok(())
    }

    proptest! {
        #[test]
        fn nothing_gets_through(text in any::<String>()) {
            check_any(&text)?;
        }

        #[test]
        fn nothing_gets_through_that_looks_like_an_address(
            text in "[a-zA-Z\" <>\\\\\r\n.@ü\u{85}\u{2028}]{0,12}@[a-zA-Z\\[\\]:0-9 <>\r\n.ü\u{ad}。-]{1,12}"
        ) {
            check_any(&text)?;
        }

        #[test]
        fn usual_addresses_are_taken(
            text in "[a-z0-9_+-]{1,20}(\\.[A-Z]{1,9}){0,2}@([a-z][a-z0-9]{0,9}\\.){1,3}[a-z]{2,6}"
        ) {
            prop_assert_eq!(address(&text).to_string(), text);
        }

        #[test]
        fn a_bounce_address_is_an_address(text in "(\"[ -!#-\\[\\]-~]{0,9}\"|[a-z.]{1,9})@x.test") {
            if let Ok(to) = Address::parse(&text) {
                let made = verp(&address("bounce@example.org"), &to).expect("it is short");
                prop_assert!(!made.local().contains('"'));
            }
        }
    }
}
