//! What is printed and written of any results, with a few areas of tests.

mod claims;
mod comparison_markdown;
mod consistency;
mod golden;
mod html;
mod new_area;
mod one_estimator;
mod pages;
mod properties;
mod support;
mod systems;

use std::sync::LazyLock;

use catalog::Area;

/// Makes the areas of tests those of this process, and one more, with its layout.
fn install() {
    static AREAS: LazyLock<Vec<&Area>> =
        LazyLock::new(|| [simulated::areas::AREAS, &[&new_area::AREA]].concat());
    catalog::install(&AREAS);
    report::install(&[new_area::LAYOUT]);
}
