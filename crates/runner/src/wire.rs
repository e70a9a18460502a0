//! The protocol of coordinator and agent: orders as lines of JSON, and messages in frames.

pub(crate) mod frame;
pub(crate) mod message;

pub(crate) use frame::{Deframer, FrameWriter};
pub(crate) use message::{
    Capability, ExamineOrder, Hello, Machine, Message, NumberedRound, Order, PROTOCOL, Stamped,
};
