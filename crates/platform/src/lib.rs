//! Everything of oscost that differs between operating systems.
