//! What all pages have: the head, the style, the navigation, and the policy that permits nothing from elsewhere.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart;
use super::text::Text;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page with this title; its sections by id and name, a note that stands first, and its content.
pub(super) fn page(
    title: &str,
    sections: &[(&str, &str)],
    note: Option<&str>,
    content: &Markup,
) -> String {
    let style = format!("{}{STYLE}", chart::STYLE);
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'",
        hash(&style),
        hash(SCRIPT)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (Text(title)) }
                style { (PreEscaped(style)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header {
                    h1 { (Text(title)) }
                    nav aria-label="Sections" { ul {
                        @for (id, name) in sections { li { a href={ "#" (id) } { (name) } } }
                    } }
                }
                @if let Some(note) = note { p role="note" { strong { (Text(note)) } } }
                main id="main" { (content) }
                footer { p { "Written by oscost " (env!("CARGO_PKG_VERSION")) "." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    without_optional_tags(page.into_string())
}

/// A section with its heading.
pub(super) fn section(id: &str, name: &str, content: Markup) -> Markup {
    html! {
        section id=(id) aria-labelledby={ (id) "-h" } { h2 id={ (id) "-h" } { (name) } (content) }
    }
}

/// The page without end tags that HTML does not require, since tables have thousands. Tags in text are not affected, because `<`
/// is escaped there.
fn without_optional_tags(mut page: String) -> String {
    for tag in ["</td>", "</th>", "</tr>", "</li>", "</dd>", "</dt>"] {
        page = page.replace(tag, "");
    }
    page
}

/// Hash by which the page's content security policy permits a style or script.
fn hash(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    format!("sha256-{}", STANDARD.encode(digest))
}
