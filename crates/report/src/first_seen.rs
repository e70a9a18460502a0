//! Lists in the order of first appearance, so that tables follow the results.

/// Values grouped by key.
pub fn grouped<K: PartialEq, V>(items: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// The distinct `items`.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for item in items {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_first_stays_first() {
        let groups = grouped([("b", 1), ("a", 2), ("b", 3)]);
        assert_eq!(groups, [("b", vec![1, 3]), ("a", vec![2])]);
        assert_eq!(distinct([2, 1, 2, 3, 1]), [2, 1, 3]);
    }
}
