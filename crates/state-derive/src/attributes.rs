//! The attribute `#[state(...)]` of fields and variants.

use syn::{Attribute, Error, LitStr, Result};

/// Treatment of a field or variant.
pub(crate) enum Treatment {
    /// As its type does it.
    Own,
    /// It follows from the experiment.
    Fixed,
    /// A list of fixed length, whose elements are loaded in place.
    Each,
    /// A feature of that name, with which a run has no checkpoints.
    Refuse(LitStr),
}

/// The treatment that the attributes of a field or variant state.
pub(crate) fn treatment(attributes: &[Attribute]) -> Result<Treatment> {
    let mut found = Treatment::Own;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("state")) {
        if !matches!(found, Treatment::Own) {
            return Err(Error::new_spanned(attribute, "one `state` attribute is allowed"));
        }
        attribute.parse_nested_meta(|meta| {
            found = if meta.path.is_ident("fixed") {
                Treatment::Fixed
            } else if meta.path.is_ident("each") {
                Treatment::Each
            } else if meta.path.is_ident("refuse") {
                Treatment::Refuse(meta.value()?.parse()?)
            } else {
                return Err(meta.error("expected `fixed`, `each` or `refuse = \"feature\"`"));
            };
            Ok(())
        })?;
    }
    Ok(found)
}
