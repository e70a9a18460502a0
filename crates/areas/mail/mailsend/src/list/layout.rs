//! The columns of a list, derived from its first record.

use std::path::Path;

use csv::StringRecord;

use super::error::ListError;
use super::source::trimmed;
use smtp::address::Address;

/// Usual names of the column with the addresses, in lower case without spaces and punctuation. The plain `address` may be a
/// street's, so the others come first; Google's contacts have `E-mail 1 - Value`.
const USUAL: [&str; 7] =
    ["email", "emailaddress", "email1value", "mail", "mailaddress", "recipient", "address"];

pub struct Layout {
    pub columns: Vec<String>,
    pub address_column: usize,
    /// Whether the first record is a header.
    pub has_header: bool,
}

impl Layout {
    /// The layout of the list at `path` with the first record `first`; `asked` is the requested column of the addresses.
    pub fn of(path: &Path, first: &StringRecord, asked: Option<&str>) -> Result<Self, ListError> {
        let columns: Vec<String> = first.iter().map(|name| trimmed(name).to_owned()).collect();
        let named = match asked {
            Some(asked) => position(&columns, asked),
            None => {
                let plain: Vec<String> = columns.iter().map(|name| plain(name)).collect();
                USUAL.iter().find_map(|usual| plain.iter().position(|name| name == usual))
            }
        };
        if let Some(address_column) = named {
            return Ok(Self { columns, address_column, has_header: true });
        }
        let numbers: Vec<String> = (1..=columns.len()).map(|n| n.to_string()).collect();
        let numbered = asked.map_or(Some(0), |asked| position(&numbers, asked));
        if let Some(address_column) = numbered
            && Address::parse(&columns[address_column]).is_ok()
        {
            return Ok(Self { columns: numbers, address_column, has_header: false });
        }
        let path = path.to_owned();
        Err(match asked {
            Some(asked) => ListError::NoSuchColumn { path, asked: asked.to_owned(), columns },
            None => ListError::NoAddressColumn { path, columns },
        })
    }
}

/// A name in lower case without spaces and punctuation.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn position(columns: &[String], name: &str) -> Option<usize> {
    let name = name.trim().to_lowercase();
    columns.iter().position(|column| column.to_lowercase() == name)
}
