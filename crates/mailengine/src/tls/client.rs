//! Whom the sender trusts, and what it shows of itself.
