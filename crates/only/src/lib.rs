//! The attribute [`only`], which `platform` re-exports.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// The systems and processors that [`only`] knows: its argument, the condition, and the name in messages.
const PLACES: &[(&str, &str, &str)] = &[
    ("linux", "target_os = \"linux\"", "Linux"),
    ("unix", "unix", "Unix-like systems"),
    ("windows", "windows", "Windows"),
    ("x86_64", "target_arch = \"x86_64\"", "x86-64"),
];

/// Compiles the body of a function on one system only: `#[only(linux)]`, `unix`, `windows` or `x86_64`. Elsewhere the
/// function, which must return a `Result<_, CaseError>`, returns `CaseError::Unsupported`, "exists only on Linux".
#[proc_macro_attribute]
pub fn only(place: TokenStream, function: TokenStream) -> TokenStream {
    let place = place.to_string();
    let Some((_, condition, name)) = PLACES.iter().find(|(known, ..)| *known == place) else {
        return error(&format!("unknown place `{place}`: linux, unix, windows or x86_64"));
    };
    let mut signature: Vec<TokenTree> = function.clone().into_iter().collect();
    match signature.pop() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {}
        _ => return error("`only` needs a function with a body"),
    }
    let body = format!("Err(::platform::CaseError::Unsupported(\"exists only on {name}\".into()))");
    let body = Group::new(Delimiter::Brace, parse(&body));
    let mut output = parse(&format!("#[cfg({condition})]"));
    output.extend(function);
    output.extend(parse(&format!(
        "#[cfg(not({condition}))] #[allow(dead_code, unused_variables, unused_mut)]"
    )));
    output.extend(signature);
    output.extend([TokenTree::Group(body)]);
    output
}

fn parse(text: &str) -> TokenStream {
    text.parse().expect("the text above is Rust")
}

fn error(message: &str) -> TokenStream {
    parse(&format!("compile_error!({message:?});"))
}
