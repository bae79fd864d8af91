//! `GET /api/usage/history`: what requests took, by day (UTC), key and who answered (contract 8).

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use policy::time::Millis;
use policy::usage::{Day, GroupBy, RETENTION_DAYS, Tally, Who};
use serde_json::{Map, Value, json};

use super::access::Operator;
use super::errors::Refusal;
use crate::storage::{ReadUsage, Unread};

/// More rows than this are a mistake of the question.
const MOST: usize = 10_000;
/// Days shown when nobody says from when, the last one besides.
const USUAL_DAYS: u32 = 29;

type Query = Result<web::Query<BTreeMap<String, String>>, actix_web::Error>;

/// The rows of these days, added up.
pub(super) async fn history(admin: Operator, query: Query) -> Result<HttpResponse, Refusal> {
    let query = query.map_err(|_| Refusal::invalid("query", format!("accepted: {ACCEPTED}")))?;
    let asked = asked(&query, admin.owners.clock.now()).map_err(Refusal::Fields)?;
    let store = admin.store.load_full().ok_or(Refusal::Unavailable)?;
    let groups = match store.send(asked).await {
        Ok(Ok(groups)) => groups,
        Ok(Err(Unread::TooMany)) => {
            let message = format!("there are more than {MOST} rows: name fewer days, or a groupBy");
            return Err(Refusal::invalid("from", message));
        }
        Ok(Err(Unread::Store(error))) => {
            tracing::error!(%error, "the usage history cannot be read");
            return Err(Refusal::Unavailable);
        }
        Err(_) => return Err(Refusal::Unavailable),
    };
    let items: Vec<Value> = groups.into_sums().map(|(group, tally)| item(asked.by, group, &tally)).collect();
    Ok(HttpResponse::Ok().json(json!({ "items": items })))
}

const ACCEPTED: &str = "from, to, groupBy";

/// What a query asks for, or all that is wrong with it.
fn asked(query: &BTreeMap<String, String>, now: Millis) -> Result<ReadUsage, Vec<(String, String)>> {
    let today = Day::of(now);
    let mut wrong = Vec::new();
    let mut tell = |field: &str, message: &str| wrong.push((field.to_owned(), message.to_owned()));
    let (mut from, mut to, mut by) = (None, None, None);
    for (name, value) in query {
        match name.as_str() {
            "from" | "to" => match day(value) {
                Some(day) if name == "from" => from = Some(day),
                Some(day) => to = Some(day),
                None => tell(name, "must be a day like 2026-11-30, or an instant as RFC 3339 has it"),
            },
            "groupBy" => match GroupBy::ALL.iter().find(|(known, _)| known == value) {
                Some((_, known)) => by = Some(*known),
                None => tell(name, "accepted: key, model, provider, connection, day"),
            },
            _ => tell(name, &format!("unknown field; accepted: {ACCEPTED}")),
        }
    }
    let to = to.unwrap_or(today);
    let from = from.unwrap_or_else(|| to.back(USUAL_DAYS));
    if from > to {
        tell("from", "must not lie behind `to`");
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    // Nothing is kept beyond these.
    Ok(ReadUsage { from: from.max(today.back(RETENTION_DAYS)), to: to.min(today), by, most: MOST })
}

fn day(text: &str) -> Option<Day> {
    text.parse().ok().or_else(|| {
        // A plus sign in a query is a blank.
        let at: jiff::Timestamp = text.replace(' ', "+").parse().ok()?;
        Some(Day::of(at.as_millisecond().try_into().ok()?))
    })
}

/// What was grouped away is absent; null is what there is none of.
fn item(by: Option<GroupBy>, (day, who): (Option<Day>, Who), tally: &Tally) -> Value {
    let shows = |groups: &[GroupBy]| by.is_none_or(|by| groups.contains(&by));
    let names = [
        (GroupBy::Key, "key", who.key.map(|key| key.to_string())),
        (GroupBy::Provider, "provider", who.provider.map(|provider| provider.to_string())),
        (GroupBy::Connection, "connection", who.connection.map(|connection| connection.to_string())),
        (GroupBy::Model, "model", who.model.map(|model| model.to_string())),
    ];
    let mut item = Map::new();
    if let Some(day) = day {
        item.insert("day".into(), day.to_string().into());
    }
    for (group, field, name) in names {
        // A connection's provider follows from it.
        let shown = if group == GroupBy::Provider { &[group, GroupBy::Connection][..] } else { &[group] };
        if shows(shown) {
            item.insert(field.into(), name.into());
        }
    }
    let tokens = &tally.tokens;
    let numbers = [
        ("requests", tally.requests),
        ("inputTokens", tokens.input),
        ("cachedTokens", tokens.cached),
        ("cacheWriteTokens", tokens.cache_write),
        ("outputTokens", tokens.output),
        ("reasoningTokens", tokens.reasoning),
        ("attempts", tally.attempts),
        ("failedRequests", tally.failed),
        ("partialRequests", tally.partial),
        ("estimatedRequests", tally.estimated),
        ("unknownRequests", tally.unknown),
    ];
    item.extend(numbers.map(|(name, number)| (name.to_owned(), number.into())));
    item.into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use policy::time::DAY;
    use policy::usage::GroupBy;

    use super::{ReadUsage, asked};

    /// 2026-11-30, at noon.
    const NOW: u64 = 20_787 * DAY + DAY / 2;

    fn read(query: &[(&str, &str)]) -> Result<ReadUsage, Vec<(String, String)>> {
        let query = query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        asked(&query.collect::<BTreeMap<_, _>>(), NOW)
    }

    type Row = (&'static [(&'static str, &'static str)], &'static str, &'static str);

    #[test]
    fn what_is_not_named_is_the_usual() {
        let rows: [Row; 7] = [
            (&[], "2026-11-01", "2026-11-30"),
            (&[("to", "2026-10-30")], "2026-10-01", "2026-10-30"),
            (&[("from", "2026-11-29")], "2026-11-29", "2026-11-30"),
            (&[("from", "1999-01-01"), ("to", "2999-01-01")], "2025-10-26", "2026-11-30"),
            (
                &[("from", "2026-11-29T23:59:59.999Z"), ("to", "2026-11-30T00:00:00Z")],
                "2026-11-29",
                "2026-11-30",
            ),
            (&[("from", "2026-11-30T00:30:00+01:00")], "2026-11-29", "2026-11-30"),
            (&[("from", "2026-11-30T00:30:00 01:00")], "2026-11-29", "2026-11-30"),
        ];
        for (query, from, to) in rows {
            let asked = read(query).unwrap();
            assert_eq!(
                (asked.from.to_string().as_str(), asked.to.to_string().as_str()),
                (from, to),
                "{query:?}"
            );
        }
        for (name, by) in GroupBy::ALL {
            assert_eq!(read(&[("groupBy", name)]).unwrap().by, Some(by));
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_by_field() {
        let wrong =
            read(&[("from", "yesterday"), ("groupBy", "colour"), ("limit", "5"), ("to", "")]).unwrap_err();
        let fields: Vec<&str> = wrong.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["from", "groupBy", "limit", "to"]);
        let wrong = read(&[("from", "2026-11-30"), ("to", "2026-11-29")]).unwrap_err();
        assert_eq!(wrong[0].0, "from");
    }
}
