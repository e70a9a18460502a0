//! Markdown as pages of pull requests and summaries of jobs show it.

use crate::text::clean;

/// Maximum length of a text in bytes: comments on pull requests have at most 65,536 characters.
pub(crate) const MOST: usize = 60_000;

/// Text escaped for Markdown.
pub(crate) fn escaped(text: &str) -> String {
    const SPECIAL: [char; 14] =
        ['\\', '`', '*', '_', '{', '}', '[', ']', '<', '>', '#', '|', '~', '&'];
    let mut shown = String::new();
    for c in clean(text).chars() {
        if SPECIAL.contains(&c) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

/// The texts of all items, as far as they have room; of the others their names as far as these have, and their number.
pub(crate) fn limited<T>(
    items: &[T],
    room: usize,
    text: impl Fn(&T) -> String,
    name: impl Fn(&T) -> String,
) -> String {
    /// Room for the names, and of these for the number of the others.
    const NAMES: usize = 2_000;
    const NUMBER: usize = 40;
    let all: String = items.iter().map(&text).collect();
    if all.len() <= room {
        return all;
    }
    let mut shown = String::new();
    let mut left = items;
    while let Some((first, rest)) = left.split_first() {
        let one = text(first);
        if shown.len() + one.len() + NAMES > room {
            break;
        }
        shown.push_str(&one);
        left = rest;
    }
    shown.push_str("\nNot shown for lack of room:");
    for (at, item) in left.iter().enumerate() {
        let one = format!("{} {}", if at == 0 { "" } else { "," }, escaped(&name(item)));
        if shown.len() + one.len() + NUMBER > room {
            shown.push_str(&format!(" and {} more", left.len() - at));
            break;
        }
        shown.push_str(&one);
    }
    shown.push_str(".\n");
    shown
}

/// A table that is folded below `summary`.
pub(crate) fn folded(summary: &str, text: &str) -> String {
    format!("\n<details><summary>{}</summary>\n\n{text}\n</details>\n", html(summary))
}

/// Text within an element of HTML.
fn html(text: &str) -> String {
    clean(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_named_or_counted() {
        let items: Vec<usize> = (0..100).collect();
        let text = |n: &usize| format!("{n}{}\n", "x".repeat(97));
        let name = |n: &usize| format!("item {n}");
        let all = limited(&items, 10_000, text, name);
        assert_eq!(all.lines().count(), 100);
        let some = limited(&items, 5_000, text, name);
        assert!(some.len() <= 5_000 && some.contains("item 99.\n"), "{some}");
        let few = limited(&items, 2_100, text, |n| format!("{n}{}", "y".repeat(200)));
        assert!(few.len() <= 2_100 && few.contains(" more.\n"), "{few}");
    }
}
