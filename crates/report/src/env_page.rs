//! The description of a machine, on one page.

use crate::page::Page;
use crate::text;

/// The maximum width of the column of labels.
const WIDEST_LABEL: usize = 24;

/// Groups of labelled values, such as `("cpu", [("model", "AMD EPYC 7B13"), ...])`, wrapped at the page's width.
pub fn env_page(groups: &[(String, Vec<(String, String)>)], page: &Page) -> String {
    let labels = groups.iter().flat_map(|(_, lines)| lines).map(|(label, _)| text::width(label));
    let column = labels.filter(|width| *width <= WIDEST_LABEL).max().unwrap_or(0);
    let group_text = |(name, lines): &(String, Vec<(String, String)>)| {
        let heading = page.heading(name);
        let lines: String =
            lines.iter().map(|(label, value)| line(label, value, column, page)).collect();
        heading + &lines
    };
    let texts: Vec<String> = groups.iter().map(group_text).collect();
    texts.join("\n")
}

/// A label with a value. Each line of a value starts in the column of values.
fn line(label: &str, value: &str, column: usize, page: &Page) -> String {
    let label = text::clean(label);
    let indent = " ".repeat(column + 4);
    let mut lines = value.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or("-");
    let pad = " ".repeat(column.saturating_sub(text::width(&label)));
    let mut said = match text::width(&label) <= column {
        true => page.hanging(&format!("  {label}{pad}  "), first),
        false => {
            let label = page.hanging("  ", &label);
            label + &page.hanging(&indent, first)
        }
    };
    for line in lines {
        said.push_str(&page.hanging(&indent, line));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_value_begins_in_its_column() {
        let page = Page { width: 60, colour: false, unicode: true, this_run: false };
        let value =
            "a=vulnerable\n\nb=on; and much more text than fits into one line of the page\nc=off";
        let rows = [("flaws", value), ("none", "\n")];
        let rows = rows.map(|(label, value)| (label.to_owned(), value.to_owned())).to_vec();
        assert_eq!(
            env_page(&[("CPU".to_owned(), rows)], &page),
            "CPU\n  flaws  a=vulnerable\n         b=on; and much more text than fits into one line of\n         the page\n         c=off\n  none   -\n"
        );
    }
}
