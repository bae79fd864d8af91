//! What combos make of the requests that they send on.

use crate::formats::reshape::{Reshape, ToolFilter};
use crate::relay::Reshapes;
use crate::settings::{Combo, Settings};

/// Of every combo that changes something.
pub fn reshapes(settings: &Settings) -> Reshapes {
    let of = |combo: &Combo| {
        // What cannot be read was refused when the config was.
        let tools = combo.tool_filter.as_deref().and_then(|expression| ToolFilter::new(expression).ok());
        let reshape = Reshape::new(combo.system_message.as_deref(), tools)?;
        Some((combo.name.as_str().into(), reshape))
    };
    settings.combos.iter().filter_map(of).collect()
}
