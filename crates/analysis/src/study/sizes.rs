//! Values that differ between a default run and the original sizes: `$NAME` in a text of a study stands for one of them, in
//! tables, points and claims alike. A value with commas is a list, whose values take the place of `$NAME` in a list.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, ValueDeserializer};

use crate::claim::FileError;
use crate::claim::reading::{FileText, Words};

/// Size of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// Sizes that take a few minutes.
    Default,
    /// Sizes of the publication.
    Full,
}

/// Values of `$NAME` from `[sizes]`, for one size.
pub(super) fn values(
    file: FileText,
    study: &DeTable,
    size: Size,
) -> Result<BTreeMap<String, String>, FileError> {
    let Some(sizes) = study.get("sizes") else { return Ok(BTreeMap::new()) };
    let sizes: BTreeMap<Spanned<String>, Words> =
        file.read(ValueDeserializer::from(sizes.clone()))?;
    let value = |(name, values): (Spanned<String>, Words)| {
        let wrong = |problem: String| Err(file.mistake(&name.span(), problem));
        if !is_name(name.get_ref()) {
            return wrong(format!(
                "{:?} cannot be the name of a size: lower-case letters, digits and _, but not column or row",
                name.get_ref()
            ));
        }
        let Ok([by_default, full]) = <[String; 2]>::try_from(values.texts()) else {
            let name = name.get_ref();
            return wrong(format!("{name} needs two values: the default one and that of --full"));
        };
        if let Some(bad) = [&by_default, &full].into_iter().find(|value| !is_plain(value)) {
            return wrong(format!("{bad:?} has a $ or a control character"));
        }
        let value = if size == Size::Default { by_default } else { full };
        Ok((name.into_inner(), value))
    };
    sizes.into_iter().map(value).collect()
}

/// Replaces each `$NAME` that `values` has in all texts of a table. Other names remain.
pub(super) fn replace_sizes<'a>(table: &mut DeTable<'a>, values: &BTreeMap<String, String>) {
    table.iter_mut().for_each(|(_, value)| replace(value.get_mut(), values));
}

fn replace<'a>(value: &mut DeValue<'a>, values: &BTreeMap<String, String>) {
    match value {
        DeValue::String(text) if text.contains('$') => *text = replaced(text, values).into(),
        DeValue::Array(all) => {
            let mut written = DeArray::new();
            std::mem::swap(all, &mut written);
            written
                .into_iter()
                .flat_map(|value| listed(value, values))
                .for_each(|one| all.push(one));
            all.iter_mut().for_each(|value| replace(value.get_mut(), values));
        }
        DeValue::Table(table) => replace_sizes(table, values),
        _ => {}
    }
}

/// The values of a list that is named as a whole, otherwise the value itself.
fn listed<'a>(
    value: Spanned<DeValue<'a>>,
    values: &BTreeMap<String, String>,
) -> Vec<Spanned<DeValue<'a>>> {
    let list = match value.get_ref() {
        DeValue::String(text) => text.strip_prefix('$').and_then(|name| values.get(name)),
        _ => None,
    };
    match list.filter(|list| list.contains(',')) {
        Some(list) => {
            let one = |text: &str| {
                Spanned::new(value.span(), DeValue::String(text.trim().to_owned().into()))
            };
            list.split(',').map(one).collect()
        }
        None => vec![value],
    }
}

fn replaced(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut parts = text.split('$');
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c| !is_part_of_name(c)).unwrap_or(part.len());
        let (name, after) = part.split_at(end);
        match values.get(name) {
            Some(value) => replaced += value,
            None => replaced.extend(["$", name]),
        }
        replaced += after;
    }
    replaced
}

fn is_plain(value: &str) -> bool {
    !value.contains(|c: char| c.is_control() || c == '$')
}

/// Whether a name can follow `$`.
fn is_name(name: &str) -> bool {
    let reserved = matches!(name, "column" | "row");
    !reserved
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(is_part_of_name)
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_as_a_whole() {
        let values = [("a", "30us"), ("long_name", "1")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let sized = |text| replaced(text, &values);
        assert_eq!(sized("$a $ab $a-$long_name$"), "30us $ab 30us-1$");
        assert_eq!(sized("é$a\n$column\n"), "é30us\n$column\n");
        assert!(is_name("b1") && !is_name("column") && !is_name("1b") && !is_name(""));
        assert!(is_plain("2.43 s") && !is_plain("$a") && !is_plain("a\nb"));
    }
}
