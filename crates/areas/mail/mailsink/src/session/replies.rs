//! Writes replies, rejections and faults.

use smtp::command::BadCommand;

use super::outcome::{Next, Outcome};
use crate::fault::{FaultKind, SinkPhase};
use crate::state::SinkState;

/// Writes a reply with a code, an enhanced code and a text.
pub(super) fn write_reply(
    out: &mut Vec<u8>,
    sink: &SinkState,
    code: &str,
    enhanced: &str,
    text: &str,
) {
    out.extend_from_slice(code.as_bytes());
    out.push(b' ');
    if sink.enhanced {
        out.extend_from_slice(enhanced.as_bytes());
        out.push(b' ');
    }
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Writes a rejection, and counts it.
pub(super) fn refuse(
    out: &mut Vec<u8>,
    sink: &SinkState,
    phase: SinkPhase,
    (code, enhanced, text): (&str, &str, &str),
) -> Next {
    sink.counters.note_refusal(phase);
    write_reply(out, sink, code, enhanced, text);
    Next::More
}

/// The codes of an injected rejection.
fn injected(phase: SinkPhase, kind: FaultKind) -> (&'static str, &'static str) {
    let temporary = kind == FaultKind::Temporary;
    match (phase, temporary) {
        (SinkPhase::Connect, true) => ("421", "4.3.2"),
        (SinkPhase::Connect, false) => ("554", "5.3.2"),
        (SinkPhase::StartTls | SinkPhase::Auth, true) => ("454", "4.7.0"),
        (SinkPhase::StartTls, false) => ("554", "5.7.0"),
        (SinkPhase::Auth, false) => ("535", "5.7.8"),
        (SinkPhase::Rcpt, true) => ("450", "4.2.0"),
        (SinkPhase::Rcpt, false) => ("550", "5.1.1"),
        (SinkPhase::Data | SinkPhase::Body | SinkPhase::End, false) => ("554", "5.3.0"),
        (_, true) => ("451", "4.3.0"),
        (_, false) => ("550", "5.3.0"),
    }
}

pub(super) const ORDER: (&str, &str, &str) = ("503", "5.5.1", "commands in the wrong order");

/// Rejects a malformed command.
pub(super) fn reject(bad: BadCommand, sink: &mut SinkState, out: &mut Vec<u8>) -> Outcome {
    sink.counters.bad_commands.add(1);
    let (code, enhanced) = match bad {
        BadCommand::BareLineFeed => ("521", "5.5.2"),
        BadCommand::TooLong | BadCommand::NotText => ("500", "5.5.2"),
        BadCommand::Syntax => ("501", "5.5.2"),
        BadCommand::Address => ("501", "5.1.3"),
        BadCommand::Parameter => ("555", "5.5.4"),
    };
    write_reply(out, sink, code, enhanced, &bad.to_string());
    let closes = bad == BadCommand::BareLineFeed;
    Outcome { pace: None, next: if closes { Next::Linger } else { Next::More } }
}

/// Carries out a fault instead of replying.
pub(super) fn misbehave(
    phase: SinkPhase,
    kind: FaultKind,
    sink: &SinkState,
    out: &mut Vec<u8>,
) -> Next {
    match kind {
        FaultKind::Drop => Next::Close,
        FaultKind::Reset => Next::Reset,
        FaultKind::Stall => Next::Stall,
        FaultKind::Temporary | FaultKind::Permanent => {
            let (code, enhanced) = injected(phase, kind);
            write_reply(out, sink, code, enhanced, "injected fault");
            if phase == SinkPhase::Connect { Next::Linger } else { Next::More }
        }
        FaultKind::Malformed => {
            out.extend_from_slice(b"?? not a reply\r\n");
            Next::More
        }
        FaultKind::Endless => {
            out.extend_from_slice(b"250-and so on\r\n");
            Next::More
        }
        FaultKind::Slowly | FaultKind::Late => Next::More, // the reply itself is correct
    }
}
