//! The load generator: so many connections in flight, or so many requests a second, each reply checked.
