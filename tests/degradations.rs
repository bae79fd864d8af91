//! What is done instead of what was asked (rules 8, D1 to D8): responses in the background, too many
//! tools, and an answer when the money is out.

#[path = "degradations/background.rs"]
mod background;
#[path = "degradations/emergency.rs"]
mod emergency;
#[allow(dead_code, unused_imports, reason = "each test file uses its part")]
mod support;
#[path = "degradations/tools.rs"]
mod tools;
