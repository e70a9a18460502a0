//! From rounds to figures.
