//! The agent makes rounds in the measured system, as a coordinator orders, and reports them in frames.
//!
//! The agent requires standard input and output and a clock. If it can start processes, it makes each round in a fresh
//! process, as a run without `--on` does; otherwise in its own.

mod capabilities;
mod examine;
mod orders;
mod output;
mod rounds;

use std::io::{Read, Write};

use crate::wire::{Message, Order};
pub(crate) use capabilities::{TRACER, WORKERS, target};
use orders::{Next, Orders};
use output::Output;
pub(crate) use rounds::{FreshProcesses, OwnProcess, Rounds};

/// The settings of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentOptions {
    /// Whether all rounds are made in the agent's own process, also where it could start others.
    pub one_process: bool,
}

/// Executes the orders read from `input` until it ends, and writes frames to `output`.
///
/// # Errors
/// If the output cannot be written: the coordinator has gone.
pub fn serve(
    input: Box<dyn Read + Send>,
    output: Box<dyn Write + Send>,
    options: AgentOptions,
) -> std::io::Result<()> {
    let mut capabilities = capabilities::probe();
    let one_process = options.one_process || !capabilities.can_start_workers();
    if options.one_process {
        capabilities.have_no_workers("--one-process");
    }
    match one_process {
        true => serve_with(input, output, OwnProcess::new(capabilities), false),
        false => {
            platform::process::adopt_children();
            platform::cleanup::sweep_dead();
            serve_with(input, output, FreshProcesses::new(capabilities), true)
        }
    }
}

/// Executes orders like [`serve`], with rounds made by `rounds`. `threads`: whether threads read orders and send
/// heartbeats.
pub(crate) fn serve_with(
    input: Box<dyn Read + Send>,
    output: Box<dyn Write + Send>,
    mut rounds: impl Rounds,
    threads: bool,
) -> std::io::Result<()> {
    let output = Output::new(output);
    let mut orders = Orders::read(input, threads);
    output.send(Message::Hello(rounds.greeting()))?;
    let _heart = if threads { output.beat() } else { None };
    loop {
        let (order, crc) = match orders.next() {
            Next::Order(order, crc) => (order, crc),
            Next::Unknown(problem) => {
                output.send(Message::Refused(problem))?;
                continue;
            }
            Next::End => break,
        };
        match order {
            Order::Shutdown => break,
            Order::Clock => output.send(Message::Clock)?,
            Order::Examine(what) => {
                output.work(|| Ok(Message::Machine(Box::new(rounds.examine(&what)))))?;
            }
            Order::Round(round) => {
                output.send(Message::Began { round: round.number, order_crc: crc })?;
                output.work(|| {
                    Ok(match rounds.make(round.order, orders.ended()) {
                        Err(error) => Message::Failed { round: round.number, error },
                        Ok(report) => {
                            output.send_parts(round.number, &report.text)?;
                            Message::Ended { round: round.number, end: report.end }
                        }
                    })
                })?;
            }
        }
    }
    output.send(Message::Bye)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::atomic::AtomicBool;
    use std::sync::{Arc, Mutex};

    use measure::RoundOrder;
    use platform::CaseError;

    use super::*;
    use crate::launch::{Report, RoundEnd};
    use crate::wire::{Deframer, ExamineOrder, Hello, Machine};

    /// An output that can be read afterwards.
    #[derive(Clone, Default)]
    pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    struct Prepared;

    impl Rounds for Prepared {
        fn greeting(&self) -> Hello {
            capabilities::Capabilities::none().greeting()
        }

        fn examine(&mut self, _: &ExamineOrder) -> Machine {
            panic!("not ordered")
        }

        fn make(&mut self, order: RoundOrder, _: &AtomicBool) -> Result<Report, CaseError> {
            match order.case.as_str() {
                "x/long" => {
                    let text = "äöü\n".repeat(50_000);
                    Ok(Report { text, end: RoundEnd::Reported(Ok(())) })
                }
                _ => Err(CaseError::Failed("no".into())),
            }
        }
    }

    fn round(number: u64, case: &str) -> String {
        format!(
            r#"{{"round":{{"number":{number},"order":{{"case":"{case}","params":{{}},"core_bound":true,"mode":"sample","clock":
            {{"name":"monotonic","ns_per_tick":1,"cost":20,"step":1,"backward":0}},"cpus":[0],"level":null,
            "quiet_samples":1,"limit_ms":1,"slow_down":0,"partner_batches":1,"parent":null,"is_here":false}}}}}}"#
        )
        .replace('\n', "")
            + "\n"
    }

    fn answers(orders: String, threads: bool) -> Vec<Message> {
        let kept = Kept::default();
        let input = Box::new(Cursor::new(orders.into_bytes()));
        serve_with(input, Box::new(kept.clone()), Prepared, threads).unwrap();
        let mut deframer = Deframer::default();
        let frames = deframer.push(&kept.0.lock().unwrap());
        assert!(frames.iter().map(|(number, _)| *number).eq(0..frames.len() as u64));
        frames.into_iter().map(|(_, stamped)| stamped.message).collect()
    }

    #[test]
    fn an_agent_greets_answers_and_ends_with_its_input() {
        for threads in [false, true] {
            let long = round(7, "x/long");
            let orders = format!("\r\n{long}{}no order\r\n\"clock\"\r\n", round(8, "x/none"));
            let answers = answers(orders, threads);
            assert!(matches!(&answers[0], Message::Hello(_)), "{answers:?}");
            let order_crc = crc32fast::hash(long.trim().as_bytes());
            assert_eq!(answers[1], Message::Began { round: 7, order_crc });
            let parts = answers.iter().filter_map(|message| match message {
                Message::Part { round: 7, text } => Some(text.as_str()),
                _ => None,
            });
            assert_eq!(parts.collect::<String>(), "äöü\n".repeat(50_000));
            let [.., ended, began, failed, refused, clock, bye] = &answers[..] else {
                panic!("{answers:?}");
            };
            assert!(matches!(ended, Message::Ended { round: 7, .. }), "{ended:?}");
            assert!(matches!(began, Message::Began { round: 8, .. }), "{began:?}");
            assert!(matches!(failed, Message::Failed { round: 8, .. }), "{failed:?}");
            assert!(matches!(refused, Message::Refused(_)), "{refused:?}");
            assert_eq!((clock, bye), (&Message::Clock, &Message::Bye));
        }
    }

    #[test]
    fn nothing_follows_an_order_to_end() {
        let answers = answers("\"shutdown\"\n\"clock\"\n".to_owned(), true);
        assert_eq!(answers.last(), Some(&Message::Bye));
        assert_eq!(answers.len(), 2);
    }

    #[test]
    fn an_endless_order_is_refused_and_the_next_one_executed() {
        let orders = format!("{}\n\"clock\"\n", "x".repeat(orders::ORDER_AT_MOST * 2));
        let answers = answers(orders, false);
        assert!(matches!(answers[1..], [Message::Refused(_), Message::Clock, Message::Bye]));
    }
}
