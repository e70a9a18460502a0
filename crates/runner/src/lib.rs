//! Plans a run, starts worker processes, interleaves rounds, collects what they print.
