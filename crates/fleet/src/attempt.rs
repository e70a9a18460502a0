//! One attempt at a node: from its grant to its document.

use std::time::{Duration, Instant};

use crate::binary::Binary;
use crate::durable::DOCUMENT_AT_MOST;
use crate::exchange::{Halt, Input, exchange};
use crate::failure::{Failure, one_line};
use crate::journal::Step;
use crate::order::{Message, Order, PART_AT_MOST};
use crate::transport::{Attempt, NO_PROGRAM, OTHER_MACHINE, Transport, script_to_serve};

/// Time limit for a node's first message once the connection is begun; OpenSSH limits the connection itself.
const FIRST_MESSAGE: Duration = Duration::from_secs(120);
/// How much longer than its own limits a node may take.
const BEYOND_LIMITS: Duration = Duration::from_secs(120);
/// Maximum number of bytes of a node's answer to an order. JSON in JSON has about 1.3 bytes for each.
const OUTPUT_AT_MOST: u64 = 2 * DOCUMENT_AT_MOST;
/// Maximum number of parts of a document: twice that of the longest one.
const PARTS_AT_MOST: u64 = 2 * DOCUMENT_AT_MOST / PART_AT_MOST as u64;
/// Maximum number of runs for which a node says that it waits.
const WAITS_AT_MOST: usize = 100;
/// Time between two questions whether a node was lost.
const LOST: Duration = Duration::from_secs(2);

/// Executes an order on a node, with one copy of the program if it lacks it. Returns the last message.
pub fn attempt(
    transport: &dyn Transport,
    binary: &Binary,
    order: &Order,
    attempt: &mut Attempt<'_>,
) -> Result<Message, Halt> {
    let grant = transport.acquire(attempt)?;
    let said = with_grant(transport, binary, order, attempt, &grant);
    if !matches!(said, Err(Halt::Stopped)) {
        transport.release(attempt.node, &grant);
    }
    said
}

fn with_grant(
    transport: &dyn Transport,
    binary: &Binary,
    order: &Order,
    attempt: &mut Attempt<'_>,
    grant: &str,
) -> Result<Message, Halt> {
    if let Some(message) = execute(transport, binary, order, attempt, grant)? {
        return Ok(message);
    }
    (attempt.record)(Step::Copying)?;
    let changed = || {
        let file = binary.file.display();
        Failure::lasting(
            format!("{file} is another program than when the job began"),
            "begin another job",
        )
    };
    if !Binary::of(&binary.file).is_ok_and(|now| now == *binary) {
        return Err(changed().into());
    }
    transport.copy(attempt, grant, binary)?;
    match execute(transport, binary, order, attempt, grant)? {
        Some(message) => Ok(message),
        None => Err(Failure::lasting(
            "the program was copied there, but cannot be executed",
            "allow programs below ~/.cache there: noexec?",
        )
        .into()),
    }
}

/// Executes an order; `None` if the node lacks the program.
pub fn execute(
    transport: &dyn Transport,
    binary: &Binary,
    order: &Order,
    attempt: &mut Attempt<'_>,
    grant: &str,
) -> Result<Option<Message>, Halt> {
    let command = transport.shell(attempt.node, grant, &script_to_serve(binary))?;
    let text = serde_json::to_string(order).unwrap_or_default() + "\n";
    let (node, is_stopped) = (attempt.node, attempt.is_stopped);
    let began = Instant::now();
    let mut asked = Instant::now();
    let mut said = Said::default();
    let said_anything = std::cell::Cell::new(false);
    let mut line = |line: &str| {
        said.hear(line, attempt)?;
        said_anything.set(said.is_any);
        Ok(())
    };
    let mut watch = || {
        if is_stopped() {
            return Some(Halt::Stopped);
        }
        let took = began.elapsed();
        let hangs = |what: String| {
            Some(Failure::passing(what, "look at the node: ssh or srun, and ps").into())
        };
        if !said_anything.get() && took > FIRST_MESSAGE {
            return hangs(format!(
                "the node hangs: nothing came from it for {} s",
                FIRST_MESSAGE.as_secs()
            ));
        }
        // An order that waits for an earlier one of its job may wait for the whole run.
        let most = order.wait.max(order.limit) + order.limit + BEYOND_LIMITS;
        if took > most {
            return hangs(format!("the node hangs: no result came for {} s", most.as_secs()));
        }
        if asked.elapsed() > LOST {
            asked = Instant::now();
            return transport.lost(node, grant).map(Halt::Failed);
        }
        None
    };
    let input = Input::Text(&text);
    let ended = exchange(command, input, OUTPUT_AT_MOST, &mut line, &mut watch)?;
    let Said { last, is_any, other, .. } = said;
    match (ended.code, last) {
        (_, Some(message)) => Ok(Some(message)),
        (Some(NO_PROGRAM), None) if !is_any => Ok(None),
        (Some(OTHER_MACHINE), None) if !is_any => Err(Failure::lasting(
            format!(
                "another architecture: the node is {other}, the program is for {}",
                binary.machine
            ),
            "a job of its own for such nodes, with --binary FILE",
        )
        .into()),
        _ => Err(transport.failure(node, grant, &ended).into()),
    }
}

/// What a node has said in answer to an order.
#[derive(Default)]
struct Said {
    /// Whether it said anything.
    is_any: bool,
    /// Number of messages that it waits.
    waits: usize,
    has_begun: bool,
    /// Number of parts of a document.
    parts: u64,
    /// The message that ends the answer.
    last: Option<Message>,
    /// The last line that was no message.
    other: String,
}

impl Said {
    /// Takes a line. A node that says more than a node does has failed.
    fn hear(&mut self, line: &str, attempt: &mut Attempt<'_>) -> Result<(), Halt> {
        let Some(message) = Message::parse(line) else {
            self.other = one_line(line);
            return Ok(());
        };
        self.is_any = true;
        let is_too_much = match (&self.last, &message) {
            (Some(_), _) => true,
            (None, Message::Waiting { .. }) => self.waits == WAITS_AT_MOST,
            (None, Message::Begun) => self.has_begun,
            (None, Message::Part { .. }) => self.parts == PARTS_AT_MOST,
            (None, _) => false,
        };
        if is_too_much {
            let reason = "the node sends without end: more messages than a node has";
            return Err(Failure::lasting(reason, "look at the node").into());
        }
        match message {
            Message::Waiting { holder } => {
                self.waits += 1;
                (attempt.record)(Step::Waiting { holder: one_line(&holder) })?;
            }
            Message::Begun => {
                self.has_begun = true;
                (attempt.record)(Step::Measuring)?;
            }
            Message::Part { text } => match &mut attempt.document {
                Some(document) => {
                    self.parts += 1;
                    document.add(&text)?;
                }
                None => {
                    let reason = "the node sends a document that was not asked for";
                    return Err(Failure::lasting(reason, "look at the node").into());
                }
            },
            Message::Failed(failure) => self.last = Some(Message::Failed(failure.of_node())),
            last @ (Message::Document { .. } | Message::Ended) => self.last = Some(last),
        }
        Ok(())
    }
}
