//! stub
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    Off,
    Offered,
    Required,
}
