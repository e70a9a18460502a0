//! Designs of a mail sender, judged when systems are compared.

use measure::TIME;

use super::metrics::SENDER_CPU;
use catalog::{Application, Design, Select, Situation};

const fn send(arch: &'static [(&'static str, &'static str)]) -> Select {
    Select::point("mail/send", arch)
}

pub const APPLICATIONS: &[Application] = &[Application {
    name: "mail sender",
    says: "Mail to a long list of recipients over SMTP.",
    metrics: &[&TIME, &SENDER_CPU],
    designs: &[
        Design { name: "process per connection", points: &[send(&[("arch", "processes")])] },
        Design { name: "thread per connection", points: &[send(&[("arch", "threads")])] },
        Design { name: "event loop", points: &[send(&[("arch", "loop")])] },
    ],
    situations: &[Situation::by_time("mail to a long list", &[])],
}];
