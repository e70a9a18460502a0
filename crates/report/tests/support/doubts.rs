//! Arbitrary doubts.

use measure::Doubt;
use measure::doubt::Axis;
use proptest::prelude::*;

/// Short and long doubts, some of which are listed beside the tables.
pub fn any_doubt() -> impl Strategy<Value = Doubt> {
    prop_oneof![
        Just(Doubt::ClientSaturated),
        Just(Doubt::ConnectionsReset),
        Just(Doubt::FewRounds),
        "[a-z ]{1,90}".prop_map(|reason| Doubt::Emulated { reason }),
        "[a-z ]{1,90}".prop_map(|lowest| Doubt::MayLieBelow { axis: Axis::Work, lowest }),
    ]
}
