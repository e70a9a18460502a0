//! Frames: lines that survive a serial console. Other programs' text may precede a frame on its line, or be between or
//! within frames. A damaged frame is ignored, and the next one's number shows that it is missing.
//!
//! A frame is one line: `@o NUMBER LENGTH CRC JSON`. LENGTH is the length of JSON in bytes, CRC the CRC-32 of `NUMBER JSON`
//! in eight hexadecimal digits.

use std::io::Write;

use memchr::{memchr, memmem};
use platform::incoming::LineSplitter;

use super::message::Stamped;

/// The beginning of a frame.
const MARKER: &[u8] = b"@o ";
/// Maximum length of a frame's JSON, in bytes.
pub(crate) const JSON_AT_MOST: usize = 64 << 10;
/// Maximum length of a line that may hold a frame, in bytes; longer lines are skipped.
const LINE_AT_MOST: usize = 2 * JSON_AT_MOST;
/// Maximum number of characters of other text that are kept for error messages.
const NOISE_AT_MOST: usize = 200;

/// Writes numbered frames.
pub(crate) struct FrameWriter<W> {
    out: W,
    next: u64,
}

impl<W: Write> FrameWriter<W> {
    /// A writer whose first frame has number 0.
    pub(crate) fn new(out: W) -> Self {
        Self { out, next: 0 }
    }

    /// The underlying output.
    #[cfg(test)]
    pub(crate) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Writes one frame, in one call.
    ///
    /// # Errors
    /// Errors of the output, or if the message is too long.
    pub(crate) fn write(&mut self, message: &Stamped) -> std::io::Result<()> {
        let json = serde_json::to_string(message)?;
        if json.len() > JSON_AT_MOST {
            return Err(std::io::Error::other(format!("a message of {} bytes", json.len())));
        }
        let number = self.next;
        self.next += 1;
        let crc = checksum(number, json.as_bytes());
        // The line break before the frame ends another program's unfinished line.
        let line = format!("\n@o {number} {} {crc:08x} {json}\n", json.len());
        self.out.write_all(line.as_bytes())?;
        self.out.flush()
    }
}

fn checksum(number: u64, json: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(format!("{number} ").as_bytes());
    hasher.update(json);
    hasher.finalize()
}

/// Finds the frames in an agent's output.
#[derive(Debug)]
pub(crate) struct Deframer {
    lines: LineSplitter,
    /// The last line that was no frame.
    noise: String,
}

impl Default for Deframer {
    fn default() -> Self {
        Self { lines: LineSplitter::new(LINE_AT_MOST), noise: String::new() }
    }
}

impl Deframer {
    /// Takes the next bytes; returns the frames that end in these bytes, with their numbers.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<(u64, Stamped)> {
        let (mut found, noise) = (Vec::new(), &mut self.noise);
        self.lines.push(bytes, |line| {
            let before = found.len();
            frames_in(line, &mut found);
            if found.len() == before {
                keep_text(line, noise);
            }
        });
        found
    }

    /// The last line of other text, shortened; empty if there was none.
    pub(crate) fn noise(&self) -> &str {
        &self.noise
    }
}

/// Keeps the beginning of a line without a frame, if it has any text.
fn keep_text(line: &[u8], noise: &mut String) {
    let text = String::from_utf8_lossy(&line[..line.len().min(NOISE_AT_MOST)]);
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    if !plain.trim().is_empty() {
        plain.trim().clone_into(noise);
    }
}

fn frames_in(line: &[u8], found: &mut Vec<(u64, Stamped)>) {
    let mut rest = line;
    while let Some(at) = memmem::find(rest, MARKER) {
        let frame = &rest[at + MARKER.len()..];
        rest = match parse(frame) {
            Some((number, message, length)) => {
                found.push((number, message));
                &frame[length..]
            }
            None => frame,
        };
    }
}

/// Parses a frame without its marker: number, message and length; `None` if the frame is damaged.
fn parse(frame: &[u8]) -> Option<(u64, Stamped, usize)> {
    let mut at = 0;
    let mut word = || {
        let length = memchr(b' ', frame.get(at..at + 21).unwrap_or(&frame[at..]))?;
        let word = std::str::from_utf8(&frame[at..at + length]).ok()?;
        at += length + 1;
        Some(word)
    };
    let number: u64 = word()?.parse().ok()?;
    let length: usize = word()?.parse().ok().filter(|&length| length <= JSON_AT_MOST)?;
    let crc = u32::from_str_radix(word()?, 16).ok()?;
    let json = frame.get(at..at + length)?;
    if checksum(number, json) != crc {
        return None;
    }
    Some((number, serde_json::from_slice(json).ok()?, at + length))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::message::Message;

    fn part(n: u64) -> Stamped {
        Stamped { at_us: n, message: Message::Part { round: n, text: format!("line \"{n}\"\n") } }
    }

    fn framed(count: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let mut frames = FrameWriter::new(&mut out);
        (0..count).for_each(|n| frames.write(&part(n)).unwrap());
        out
    }

    fn numbers(bytes: &[u8]) -> Vec<u64> {
        let found = Deframer::default().push(bytes);
        found.iter().for_each(|(number, message)| assert_eq!(*message, part(*number)));
        found.into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn a_frame_is_found_wherever_a_console_puts_it() {
        let one = String::from_utf8(framed(1)).unwrap().trim().to_owned();
        for text in [
            format!("{one}\n"),
            format!("{one}\r\n"),
            format!("[    1.2] random: crng init done{one}\n"),
            format!("a @o b @o 0 1 2 {one} @o\n"),
            format!("\u{1b}[2J{one}\u{1b}[0m\n"),
        ] {
            assert_eq!(numbers(text.as_bytes()), [0], "{text:?}");
        }
        let two = String::from_utf8(framed(2)).unwrap().replace('\n', "");
        assert_eq!(numbers(format!("{two}\n").as_bytes()), [0, 1]);
    }

    #[test]
    fn a_frame_that_is_not_whole_is_ignored_and_the_next_one_is_found() {
        let text = String::from_utf8(framed(3)).unwrap();
        let at = text.find("line").unwrap();
        let cut = format!("{}[ 1.0] usb 1-1: new device\n{}", &text[..at], &text[at..]);
        assert_eq!(numbers(cut.as_bytes()), [1, 2]);
        assert_eq!(numbers(text.replacen("@o 0", "@o 7", 1).as_bytes()), [1, 2]);
        assert_eq!(numbers(text.trim_end().as_bytes()), [0, 1], "no end of line yet");
    }

    #[test]
    fn text_between_frames_is_kept_for_messages() {
        let mut deframer = Deframer::default();
        (0..1_000).for_each(|_| assert!(deframer.push(&[b'x'; 4096]).is_empty()));
        assert!(deframer.lines.rest().len() <= LINE_AT_MOST);
        deframer.push(b"\nKernel panic - not syncing\r\n\n");
        assert_eq!(deframer.noise(), "Kernel panic - not syncing");
        assert_eq!(deframer.push(&framed(1)).len(), 1);
    }

    #[test]
    fn a_message_that_is_too_long_is_an_error() {
        let message = Message::Part { round: 0, text: "x".repeat(JSON_AT_MOST) };
        let mut frames = FrameWriter::new(Vec::new());
        assert!(frames.write(&Stamped { at_us: 0, message }).is_err());
        assert!(frames.out.is_empty());
    }

    proptest! {
        /// Whatever is changed in a stream of frames, each frame found is one that was written.
        #[test]
        fn no_damage_makes_another_frame(
            damage in prop::collection::vec((0usize..600, any::<u8>(), 0u8..3), 0..12),
            cut in 1usize..50,
        ) {
            let mut bytes = framed(6);
            for (at, byte, kind) in damage {
                let at = at % bytes.len();
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    _ => drop(bytes.remove(at)),
                }
            }
            let mut deframer = Deframer::default();
            for piece in bytes.chunks(cut) {
                for (number, message) in deframer.push(piece) {
                    prop_assert_eq!(message, part(number));
                }
            }
        }
    }
}
