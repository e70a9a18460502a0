//! Parsing commands, for a server (RFC 5321, section 4.1).
//!
//! A line ends with CR LF. A bare LF is reported at once as [`BadCommand::BareLineFeed`], and the connection must be
//! closed. A server that accepts it as a line end can be made to see commands where others see one line or text ("SMTP
//! smuggling"), and a server that waits for CR LF would not answer.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::address::DOMAIN_OCTETS;
use crate::auth::Mechanism;

/// Maximum length of a command line, in octets with its end: 512 by RFC 5321, more with the parameters of extensions.
pub const LINE_AT_MOST: usize = 2_048;
/// Maximum length of an address with its angle brackets, in octets (RFC 5321, section 4.5.3.1.3).
pub const PATH_AT_MOST: usize = 256;

/// A command, borrowed from the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// HELO, with the client's name.
    Helo(&'a str),
    /// EHLO, with the client's name.
    Ehlo(&'a str),
    /// MAIL FROM.
    Mail(Mail<'a>),
    /// RCPT TO, with the address without its brackets. It has no parameters: DSN is not offered (RFC 3461).
    Rcpt(&'a str),
    /// DATA.
    Data,
    /// BDAT (RFC 3030).
    Bdat {
        /// Octets that follow the line.
        size: u64,
        /// Whether these octets end the message.
        last: bool,
    },
    /// RSET.
    Rset,
    /// NOOP.
    Noop,
    /// QUIT.
    Quit,
    /// VRFY.
    Vrfy,
    /// STARTTLS (RFC 3207).
    StartTls,
    /// AUTH (RFC 4954).
    Auth {
        /// The mechanism; `None` if it is neither PLAIN nor LOGIN.
        mechanism: Option<Mechanism>,
        /// The initial response in base64; `=` is an empty one.
        initial: Option<&'a str>,
    },
    /// The first line of a request of HTTP: a browser or a proxy was made to send it, and commands may be in its content.
    Http,
    /// Any other command.
    Unknown,
}

/// MAIL FROM, with its parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mail<'a> {
    /// The address without its brackets; empty in a bounce.
    pub from: &'a str,
    /// Declared size of the message, in octets (RFC 1870).
    pub size: Option<u64>,
    /// Declared encoding of the body (RFC 6152, RFC 3030).
    pub body: Option<Body>,
    /// Whether addresses and header may contain UTF-8 (RFC 6531).
    pub utf8: bool,
    /// The identity of the submitter (RFC 4954).
    pub auth: Option<&'a str>,
}

/// The encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// 7-bit lines.
    SevenBit,
    /// 8-bit lines.
    EightBit,
    /// Binary.
    Binary,
}

/// The reason why a line is not a valid command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadCommand {
    /// The line is longer than [`LINE_AT_MOST`]; it was skipped.
    #[error("line too long")]
    TooLong,
    /// The line ended with LF alone: the connection must be closed.
    #[error("a line must end with CR LF")]
    BareLineFeed,
    /// The line contains control characters, or is not UTF-8.
    #[error("control character, or no UTF-8")]
    NotText,
    /// The syntax of the command is wrong.
    #[error("syntax error")]
    Syntax,
    /// An address is invalid.
    #[error("bad address")]
    Address,
    /// A parameter is unknown or has an invalid value.
    #[error("parameter unknown or wrong")]
    Parameter,
}

/// Assembles command lines from input in pieces of any size. A line is copied only if it arrives in several pieces.
#[derive(Debug, Default)]
pub struct CommandReader {
    held: Vec<u8>,
    /// Whether the last line was returned from `held`.
    given: bool,
    /// Whether the line was too long, so that the rest of it is skipped.
    skipping: bool,
    /// Whether the last skipped byte was CR.
    after_cr: bool,
}

impl CommandReader {
    /// Reads the next command. Returns the number of bytes used; the rest must be passed again after the command was
    /// executed. `None` if all bytes were used and more are needed.
    pub fn read<'a>(
        &'a mut self,
        bytes: &'a [u8],
    ) -> (usize, Option<Result<Command<'a>, BadCommand>>) {
        let (used, line) = self.read_line(bytes);
        (used, line.map(|line| line.and_then(parse)))
    }

    /// Reads the next line like [`CommandReader::read`], without parsing it; returns the line without its end.
    pub fn read_line<'a>(
        &'a mut self,
        bytes: &'a [u8],
    ) -> (usize, Option<Result<&'a [u8], BadCommand>>) {
        if std::mem::take(&mut self.given) {
            self.held.clear();
        }
        if self.skipping {
            return self.skip(bytes);
        }
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.hold(bytes);
            return (bytes.len(), None);
        };
        let used = end + 1;
        let length = self.held.len() + used;
        let ends_well = match end {
            0 => self.held.last() == Some(&b'\r'),
            _ => bytes[end - 1] == b'\r',
        };
        let line = if !ends_well {
            self.held.clear();
            Err(BadCommand::BareLineFeed)
        } else if length > LINE_AT_MOST {
            self.held.clear();
            Err(BadCommand::TooLong)
        } else if self.held.is_empty() {
            Ok(&bytes[..end - 1])
        } else {
            self.held.extend_from_slice(&bytes[..used]);
            self.given = true;
            Ok(&self.held[..length - 2])
        };
        (used, Some(line))
    }

    /// Discards a partial line.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Whether a partial line was read.
    pub fn is_within_line(&self) -> bool {
        self.skipping || !(self.given || self.held.is_empty())
    }

    fn hold(&mut self, bytes: &[u8]) {
        if self.held.len() + bytes.len() >= LINE_AT_MOST {
            self.skipping = true;
            self.after_cr = bytes.last() == Some(&b'\r');
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    /// Skips to the end of a line that is too long.
    fn skip(&mut self, bytes: &[u8]) -> (usize, Option<Result<&'static [u8], BadCommand>>) {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            self.after_cr = bytes.last().map_or(self.after_cr, |&last| last == b'\r');
            return (bytes.len(), None);
        };
        self.skipping = false;
        let ends_well = if end == 0 { self.after_cr } else { bytes[end - 1] == b'\r' };
        let bad = if ends_well { BadCommand::TooLong } else { BadCommand::BareLineFeed };
        (end + 1, Some(Err(bad)))
    }
}

/// Parses a line without its end.
///
/// # Errors
/// If the line is not a valid command.
pub fn parse(line: &[u8]) -> Result<Command<'_>, BadCommand> {
    let text = std::str::from_utf8(line).map_err(|_| BadCommand::NotText)?;
    let is_control = |byte: &u8| *byte < b' ' || *byte == 0x7f;
    if line.iter().any(|byte| is_control(byte) && *byte != b'\t') {
        return Err(BadCommand::NotText);
    }
    let text = text.trim_end_matches([' ', '\t']);
    let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim_start_matches(' ');
    let mut upper = [0; 8];
    let Some(room) = upper.get_mut(..verb.len()) else { return Ok(Command::Unknown) };
    room.copy_from_slice(verb.as_bytes());
    room.make_ascii_uppercase();
    match &upper[..verb.len()] {
        b"EHLO" => name(rest).map(Command::Ehlo),
        b"HELO" => name(rest).map(Command::Helo),
        b"MAIL" => mail(rest).map(Command::Mail),
        b"RCPT" => recipient(rest).map(Command::Rcpt),
        b"DATA" => alone(rest, Command::Data),
        b"BDAT" => chunk(rest),
        b"RSET" => alone(rest, Command::Rset),
        b"NOOP" => Ok(Command::Noop),
        b"QUIT" => alone(rest, Command::Quit),
        b"VRFY" => Ok(Command::Vrfy),
        b"STARTTLS" => alone(rest, Command::StartTls),
        b"AUTH" => auth(rest),
        b"GET" | b"HEAD" | b"POST" | b"PUT" | b"DELETE" | b"CONNECT" | b"OPTIONS" | b"TRACE"
        | b"PATCH" => Ok(Command::Http),
        _ => Ok(Command::Unknown),
    }
}

fn name(rest: &str) -> Result<&str, BadCommand> {
    if rest.is_empty() { Err(BadCommand::Syntax) } else { Ok(rest) }
}

fn alone<'a>(rest: &str, command: Command<'a>) -> Result<Command<'a>, BadCommand> {
    if rest.is_empty() { Ok(command) } else { Err(BadCommand::Syntax) }
}

fn chunk(rest: &str) -> Result<Command<'_>, BadCommand> {
    let (size, last) = rest.split_once(' ').unwrap_or((rest, ""));
    let last = match last.trim_start_matches(' ') {
        "" => false,
        word if word.eq_ignore_ascii_case("LAST") => true,
        _ => return Err(BadCommand::Syntax),
    };
    Ok(Command::Bdat { size: number(size).ok_or(BadCommand::Syntax)?, last })
}

/// Parses a number of digits only (RFC 1870).
fn number(text: &str) -> Option<u64> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits { text.parse().ok() } else { None }
}

fn auth(rest: &str) -> Result<Command<'_>, BadCommand> {
    let (mechanism, initial) = rest.split_once(' ').unwrap_or((rest, ""));
    let mechanism = match mechanism {
        "" => return Err(BadCommand::Syntax),
        name if name.eq_ignore_ascii_case("PLAIN") => Some(Mechanism::Plain),
        name if name.eq_ignore_ascii_case("LOGIN") => Some(Mechanism::Login),
        _ => None,
    };
    Ok(Command::Auth { mechanism, initial: (!initial.is_empty()).then_some(initial) })
}

fn mail(rest: &str) -> Result<Mail<'_>, BadCommand> {
    let (from, parameters) = path(rest, "FROM:")?;
    if !(from.is_empty() || is_address(from)) {
        return Err(BadCommand::Address);
    }
    let mut mail = Mail { from, ..Mail::default() };
    for parameter in parameters.split_ascii_whitespace() {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        set(&mut mail, name, value)?;
    }
    Ok(mail)
}

fn set<'a>(mail: &mut Mail<'a>, name: &str, value: &'a str) -> Result<(), BadCommand> {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let text = (!value.is_empty()).then_some(value);
    let wrong = BadCommand::Parameter;
    if is("SIZE") {
        mail.size = Some(number(value).ok_or(wrong)?);
    } else if is("BODY") {
        let codings =
            [("7BIT", Body::SevenBit), ("8BITMIME", Body::EightBit), ("BINARYMIME", Body::Binary)];
        let known = codings.into_iter().find(|(name, _)| value.eq_ignore_ascii_case(name));
        mail.body = Some(known.ok_or(wrong)?.1);
    } else if is("SMTPUTF8") && value.is_empty() {
        mail.utf8 = true;
    } else if is("AUTH") {
        mail.auth = Some(text.ok_or(wrong)?);
    } else {
        return Err(wrong);
    }
    Ok(())
}

fn recipient(rest: &str) -> Result<&str, BadCommand> {
    let (to, parameters) = path(rest, "TO:")?;
    if !(is_address(to) || to.eq_ignore_ascii_case("postmaster")) {
        return Err(BadCommand::Address);
    }
    if parameters.split_ascii_whitespace().next().is_some() {
        return Err(BadCommand::Parameter);
    }
    Ok(to)
}

/// The path in the angle brackets after `keyword`, and the text after them. Spaces before the brackets violate the
/// syntax but are common.
fn path<'a>(rest: &'a str, keyword: &str) -> Result<(&'a str, &'a str), BadCommand> {
    let (word, rest) = rest.split_at_checked(keyword.len()).ok_or(BadCommand::Syntax)?;
    if !word.eq_ignore_ascii_case(keyword) {
        return Err(BadCommand::Syntax);
    }
    let rest = rest.trim_start_matches(' ').strip_prefix('<').ok_or(BadCommand::Syntax)?;
    let end = closing_bracket(rest).ok_or(BadCommand::Syntax)?;
    let (path, after) = (&rest[..end], &rest[end + 1..]);
    if !(after.is_empty() || after.starts_with(' ')) {
        return Err(BadCommand::Syntax);
    }
    if path.len() + 2 > PATH_AT_MOST {
        return Err(BadCommand::Address);
    }
    Ok((path, after))
}

/// The position of the closing bracket, outside of quoted strings.
fn closing_bracket(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'>' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// Whether `text` has a local part and a valid domain; a server without mailboxes needs no more.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let is_plain = |part: &str| !part.is_empty() && !part.contains([' ', '<', '>', '"', '\t']);
    (is_quoted || is_plain(local)) && is_domain(domain)
}

/// Whether `text` is a domain of letters, digits and hyphens, maybe beyond ASCII, or an address literal (RFC 5321, section
/// 4.1.2).
fn is_domain(text: &str) -> bool {
    if let Some(literal) = text.strip_prefix('[') {
        return literal.strip_suffix(']').is_some_and(is_literal);
    }
    let is_label = |label: &[u8]| {
        let is_let_dig = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
        label.first().is_some_and(is_let_dig)
            && label.last().is_some_and(is_let_dig)
            && label.iter().all(|byte| is_let_dig(byte) || *byte == b'-')
    };
    text.len() <= DOMAIN_OCTETS && text.as_bytes().split(|byte| *byte == b'.').all(is_label)
}

fn is_literal(text: &str) -> bool {
    match text.split_at_checked(5) {
        Some((tag, v6)) if tag.eq_ignore_ascii_case("IPv6:") => v6.parse::<Ipv6Addr>().is_ok(),
        _ => text.parse::<Ipv4Addr>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(line: &str) -> Result<Command<'_>, BadCommand> {
        parse(line.as_bytes())
    }

    #[test]
    fn domains_are_checked() {
        for good in [
            "b",
            "b-c.example",
            "xn--bcher-kva.example",
            "b\u{fc}cher.example",
            "[127.0.0.1]",
            "[IPv6:::1]",
        ] {
            let line = format!("RCPT TO:<a@{good}>");
            assert_eq!(one(&line), Ok(Command::Rcpt(&line[9..line.len() - 1])), "{good}");
        }
        for bad in [
            "",
            ".",
            "b..c",
            ".b",
            "b.",
            "-b.c",
            "b-.c",
            "b_c",
            "b,c",
            "b/c",
            "[b]",
            "[1.2.3]",
            "[127.0.0.1",
            "[::1]",
        ] {
            let line = format!("RCPT TO:<a@{bad}>");
            assert_eq!(one(&line), Err(BadCommand::Address), "{bad}");
            let line = format!("MAIL FROM:<a@{bad}>");
            assert_eq!(one(&line), Err(BadCommand::Address), "{bad}");
        }
    }

    #[test]
    fn commands_are_read_in_any_case() {
        assert_eq!(one("ehlo client.example"), Ok(Command::Ehlo("client.example")));
        assert_eq!(one("HELO x "), Ok(Command::Helo("x")));
        assert_eq!(one("rCpT tO:<a@b>"), Ok(Command::Rcpt("a@b")));
        assert_eq!(one("RCPT TO:<Postmaster>"), Ok(Command::Rcpt("Postmaster")));
        // RFC 5321, section 4.1.1.11: a parameter of an extension that is not offered is 555.
        for line in [
            "RCPT TO:<a@b> NOTIFY=NEVER",
            "RCPT TO:<a@b> ORCPT=rfc822;a@b",
            "MAIL FROM:<a@b> RET=HDRS",
            "MAIL FROM:<a@b> ENVID=QQ1",
        ] {
            assert_eq!(one(line), Err(BadCommand::Parameter), "{line}");
        }
        assert_eq!(one(r#"RCPT TO:<"a> b\" c"@d>"#), Ok(Command::Rcpt(r#""a> b\" c"@d"#)));
        assert_eq!(one("BDAT 86400 last"), Ok(Command::Bdat { size: 86_400, last: true }));
        assert_eq!(one("BDAT 0"), Ok(Command::Bdat { size: 0, last: false }));
        assert_eq!(one("starttls"), Ok(Command::StartTls));
        assert_eq!(one("NOOP whatever"), Ok(Command::Noop));
        let plain = Command::Auth { mechanism: Some(Mechanism::Plain), initial: Some("AGEAYg==") };
        assert_eq!(one("AUTH PLAIN AGEAYg=="), Ok(plain));
        let login = Command::Auth { mechanism: Some(Mechanism::Login), initial: None };
        assert_eq!(one("auth login"), Ok(login));
        for request in ["GET / HTTP/1.1", "post /x", "CONNECT mx.example:25 HTTP/1.1"] {
            assert_eq!(one(request), Ok(Command::Http), "{request}");
        }
        for unknown in ["", "XYZZY", "GETS", "POSTPONE 1", "DATAX", "VERYLONGVERB 1", "EXPN list"] {
            assert_eq!(one(unknown), Ok(Command::Unknown), "{unknown}");
        }
    }

    #[test]
    fn mail_has_its_parameters() {
        let line = "MAIL FROM:<é@x> SIZE=1000 BODY=8bitmime SMTPUTF8 AUTH=<>";
        let mail = Mail {
            from: "é@x",
            size: Some(1_000),
            body: Some(Body::EightBit),
            utf8: true,
            auth: Some("<>"),
        };
        assert_eq!(one(line), Ok(Command::Mail(mail)));
        assert_eq!(one("MAIL FROM: <>"), Ok(Command::Mail(Mail::default())));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let long = format!("RCPT TO:<{}@b>", "a".repeat(PATH_AT_MOST));
        for (line, wrong) in [
            ("EHLO", BadCommand::Syntax),
            ("MAIL FROM:a@b", BadCommand::Syntax),
            ("MAIL FROM:<a@b>SIZE=1", BadCommand::Syntax),
            ("MAIL TO:<a@b>", BadCommand::Syntax),
            ("MAIL é", BadCommand::Syntax),
            ("MAIL FROM:<a>", BadCommand::Address),
            ("MAIL FROM:<a b@c>", BadCommand::Address),
            ("RCPT TO:<>", BadCommand::Address),
            (&long, BadCommand::Address),
            ("MAIL FROM:<a@b> SIZE=-1", BadCommand::Parameter),
            ("MAIL FROM:<a@b> SIZE=99999999999999999999", BadCommand::Parameter),
            ("MAIL FROM:<a@b> BODY=9BIT", BadCommand::Parameter),
            ("MAIL FROM:<a@b> X=1", BadCommand::Parameter),
            ("DATA now", BadCommand::Syntax),
            ("BDAT +1", BadCommand::Syntax),
            ("BDAT 1 2", BadCommand::Syntax),
            ("AUTH", BadCommand::Syntax),
            ("NOOP \0", BadCommand::NotText),
            ("NOOP \r", BadCommand::NotText),
        ] {
            assert_eq!(one(line), Err(wrong), "{line}");
        }
        assert_eq!(parse(b"NOOP \xff"), Err(BadCommand::NotText));
    }

    #[test]
    fn a_long_line_is_passed_over_to_its_end_and_a_bare_line_feed_is_told() {
        let mut reader = CommandReader::default();
        let long = [vec![b'x'; 5_000], b"\r\nNOOP\r\n".to_vec()].concat();
        let (used, none) = reader.read(&long[..3_000]);
        assert_eq!((used, none), (3_000, None));
        assert_eq!(reader.read(&long[3_000..5_001]), (2_001, None));
        assert_eq!(reader.read(&long[5_001..]), (1, Some(Err(BadCommand::TooLong))));
        assert_eq!(reader.read(&long[5_002..]), (6, Some(Ok(Command::Noop))));
        assert_eq!(reader.read(b"NOOP\nQUIT\r\n"), (5, Some(Err(BadCommand::BareLineFeed))));
        let exactly = [b"NOOP ".to_vec(), vec![b'x'; LINE_AT_MOST - 7], b"\r\n".to_vec()].concat();
        assert_eq!(reader.read(&exactly), (LINE_AT_MOST, Some(Ok(Command::Noop))));
        let more = [b"N".to_vec(), exactly].concat();
        assert_eq!(reader.read(&more), (LINE_AT_MOST + 1, Some(Err(BadCommand::TooLong))));
    }

    /// The commands in `pieces`, as text.
    fn commands<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
        let mut reader = CommandReader::default();
        let mut all = Vec::new();
        for mut piece in pieces {
            while !piece.is_empty() {
                let (used, command) = reader.read(piece);
                assert!(used > 0);
                all.extend(command.map(|command| format!("{command:?}")));
                piece = &piece[used..];
                assert!(reader.held.capacity() <= 4 * LINE_AT_MOST, "memory is bounded");
            }
        }
        all
    }

    fn line() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            Just(b"MAIL FROM:<a@b> SIZE=3\r\n".to_vec()),
            Just(b"RCPT TO:<\"x y\"@b>\r\n".to_vec()),
            Just(b"QUIT\r\n".to_vec()),
            Just(b"NOOP\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just([vec![b'x'; 3_000], b"\r\n".to_vec()].concat()),
            proptest::collection::vec(any::<u8>(), 0..40),
        ]
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_commands(
            lines in proptest::collection::vec(line(), 0..8),
            at in 1_usize..50,
        ) {
            let all = lines.concat();
            let whole = commands(std::iter::once(&all[..]));
            prop_assert_eq!(&whole, &commands(all.chunks(at)));
            let line_feeds = all.iter().filter(|&&byte| byte == b'\n').count();
            prop_assert_eq!(whole.len(), line_feeds);
        }
    }
}
