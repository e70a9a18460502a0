use super::*;

#[test]
fn dummy() {}
