//! Areas of what the user gives: functions in a shared library, and whole commands.

pub mod op;
pub mod time;
