//! Properties, as options name them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tenure_core::Property;

/// Reads the name of one of these.
pub(crate) fn one_of(
    properties: impl IntoIterator<Item = Property>,
) -> impl TypedValueParser<Value = Property> {
    let value = |property: Property| PossibleValue::new(property.name()).help(property.says());
    let names: Vec<PossibleValue> = properties.into_iter().map(value).collect();
    PossibleValuesParser::new(names).try_map(|name| Property::named(&name).ok_or("unknown"))
}
