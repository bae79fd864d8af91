//! `cache-optimized`: where the prompt cache of this conversation is likely to be (routing 4.18).

use crate::dice::Dice;
use crate::request::Traits;
use crate::strategy::{Field, Ranked, Strategy, StrategySettings, affinity};

/// Where the prompt is cached.
pub struct CacheOptimized;

impl Strategy for CacheOptimized {
    fn name(&self) -> &'static str {
        "cache-optimized"
    }

    fn doc_short(&self) -> &'static str {
        "where the prompt cache of the conversation is likely to be"
    }

    fn doc_long(&self) -> &'static str {
        "Requests with the same prompt_cache_key, or with the same messages before their second turn, \
         begin with the same target, and different ones are spread over all. When a target comes \
         or goes only the conversations move that were at it. A request that no cache could help \
         keeps the declared order."
    }

    fn example(&self) -> &'static str {
        r#"name = "cached"
strategy = "cache-optimized"
targets = [{ model = "openai/gpt-5" }, { model = "azure/gpt-5" }]"#
    }

    fn rank(&self, field: &Field<'_>, _: &mut dyn Dice) -> Ranked {
        let mut order: Vec<usize> = (0..field.pool.count()).collect();
        if let Some(key) = field.request.cache_key.as_ref().filter(|_| order.len() > 1) {
            affinity::sort(&mut order, field.pool, key);
        }
        Ranked::of(order)
    }

    fn follows_prompts(&self, _: &StrategySettings) -> bool {
        true
    }

    /// A session's prompt grows where the session is.
    fn yields_to_session(&self, request: &Traits) -> bool {
        request.cache_key.is_none() || request.keyed_by_prompt
    }
}

#[cfg(test)]
mod tests {
    use super::CacheOptimized;
    use crate::dice::Scripted;
    use crate::request::Traits;
    use crate::strategy::Strategy;
    use crate::strategy::table::{Facts, Table};

    fn take(key: Option<&str>) -> String {
        let row = |id: &str| Facts { connection: Some(id.into()), ..Facts::named(id) };
        let mut table = Table::of(["c1", "c2", "c3"].map(row).to_vec());
        table.request.cache_key = key.map(Into::into);
        table.take(&CacheOptimized, &mut Scripted::default()).join(",")
    }

    /// FC-100: a key that the first turn did not have moves no session.
    #[test]
    fn a_session_stays_unless_its_client_names_the_prompt() {
        let yields = |cache_key: Option<&str>, keyed_by_prompt| {
            let cache_key = cache_key.map(Into::into);
            CacheOptimized.yields_to_session(&Traits { cache_key, keyed_by_prompt, ..Traits::default() })
        };
        assert_eq!(
            [yields(None, false), yields(Some("k"), true), yields(Some("k"), false)],
            [true, true, false]
        );
    }

    #[test]
    fn row_60() {
        assert_eq!(take(Some("k1")), "c2,c3,c1");
    }

    #[test]
    fn row_61() {
        assert_eq!(take(Some("k2")), "c3,c1,c2");
        assert_eq!(take(None), "c1,c2,c3");
    }
}
