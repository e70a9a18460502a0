//! One attempt at a node: from its grant to its document.

use std::time::{Duration, Instant};

use crate::binary::Binary;
use crate::exchange::{Halt, Input, exchange};
use crate::failure::Failure;
use crate::journal::Step;
use crate::order::{Message, Order};
use crate::transport::{Attempt, NO_PROGRAM, OTHER_MACHINE, Transport, script_to_serve};

/// Time limit for a node's first message once the connection is begun; OpenSSH limits the connection itself.
const FIRST_MESSAGE: Duration = Duration::from_secs(120);
/// How much longer than its own limits a node may take.
const BEYOND_LIMITS: Duration = Duration::from_secs(120);
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
    let (mut last, mut other, mut recorded) = (None, String::new(), Ok(()));
    let (node, is_stopped, errors) = (attempt.node, attempt.is_stopped, attempt.errors);
    let began = Instant::now();
    let mut asked = Instant::now();
    let said_anything = std::cell::Cell::new(false);
    let mut line = |line: &str| match Message::parse(line) {
        None => other = line.to_owned(),
        Some(message) => {
            said_anything.set(true);
            let step = match &message {
                Message::Waiting { holder } => Some(Step::Waiting { holder: holder.clone() }),
                Message::Begun => Some(Step::Measuring),
                _ => None,
            };
            if let (Some(step), Ok(())) = (step, &recorded) {
                recorded = (attempt.record)(step);
            }
            last = Some(message);
        }
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
    let ended = exchange(command, Input::Text(&text), errors, &mut line, &mut watch)?;
    recorded?;
    match (ended.code, last) {
        (_, Some(message @ (Message::Document { .. } | Message::Failed(_) | Message::Ended))) => {
            Ok(Some(message))
        }
        (Some(NO_PROGRAM), None) => Ok(None),
        (Some(OTHER_MACHINE), None) => Err(Failure::lasting(
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
