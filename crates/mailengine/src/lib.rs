//! Delivers a message to a long list over SMTP, with thousands of connections at a time, and the server that
//! throws mail away, to test and measure with.
//!
//! What is said is apart from how it is carried: [`smtp`] has no input or output, [`channel`] is a connection with
//! or without TLS. [`list`], [`message`] and [`route`] say who gets what and where it goes; `queue` what
//! is to be sent next, `journal` what became of it. `send` has an event loop, threads and processes
//! to carry it out, [`sink`] is the other side.

pub mod channel;
pub mod journal;
pub mod list;
pub mod message;
pub mod queue;
pub mod route;
pub mod send;
pub mod sink;
pub mod smtp;
pub mod tls;
