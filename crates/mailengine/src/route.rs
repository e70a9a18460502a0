//! Where a domain's mail goes: to a relay, by a file of routes, or by its MX records.
