//! Generated captures. They change nothing in a run, so they are no dimension.

use super::Build;
use super::links::first;
use super::space::Part;

pub const PART: Part = Part { dimensions: &[], rules: &[], write };

fn write(build: &mut Build) {
    if !build.draw.chance(1, 4) {
        return;
    }
    let link = first(build);
    let Build { draw, draft, .. } = build;
    draft.section("[capture]");
    let links = draw.pick(&[link.as_str(), "*", "* -> *:1"]);
    draft.key("links", format!("[\"{links}\"]"));
    if draw.chance(1, 2) {
        draft.text("file", "links.pcapng");
        draft.text("from", format!("{} ns", draw.range(0, 900)));
        draft.text("to", format!("{} ns", draw.range(1_000, 9_000)));
    }
    if draw.chance(1, 2) {
        draft.key("packets", draw.range(1, 2_000));
    }
}
