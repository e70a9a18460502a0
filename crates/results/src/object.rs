//! JSON objects of documents whose keys are not known in advance.

use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Deserializes an object and rejects a duplicate key, of which serde would keep the last value.
pub(crate) fn unique_keys<'de, D, V, M>(deserializer: D) -> Result<M, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
    M: FromIterator<(String, V)>,
{
    struct UniqueKeys<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueKeys<V> {
        type Value = Vec<(String, V)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let (mut known, mut members) = (BTreeSet::new(), Vec::new());
            while let Some(key) = map.next_key::<String>()? {
                if !known.insert(key.clone()) {
                    return Err(A::Error::custom(format_args!("{key:?} is there twice")));
                }
                members.push((key, map.next_value()?));
            }
            Ok(members)
        }
    }

    Ok(deserializer.deserialize_map(UniqueKeys(PhantomData))?.into_iter().collect())
}
