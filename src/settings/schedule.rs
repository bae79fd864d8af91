//! The hours of a key (routing 10.5): `{ from = "08:00", until = "18:00", days = [1, 2], tz =
//! "+02:00" }`. The canonical form says everything, defaults too.

use policy::keys::Schedule;
use serde_json::{Map, Value as Json, json};

use super::data::Fault;

pub(super) const ACCEPTED: &str = "{ enabled, from, until, days, tz }, with from and until such as \"08:00\"";
const TIME: &str = "a time of the day from \"00:00\" to \"23:59\"";
const DAYS: &str = "a list of days from 0, Sunday, to 6, Saturday";
const TZ: &str = "\"UTC\" or an offset from \"-14:00\" to \"+14:00\"";

/// Every field, or what is wrong.
pub(super) fn check(json: &Json, faults: &mut Vec<Fault>) -> Map<String, Json> {
    let Some(entries) = json.as_object() else {
        faults.push(Fault::new("", ACCEPTED));
        return Map::new();
    };
    let mut checked = Map::from_iter([
        ("enabled".to_owned(), json!(true)),
        ("days".to_owned(), json!([])),
        ("tz".to_owned(), json!("UTC")),
    ]);
    let wanted = ["from", "until"].into_iter().filter(|name| entries.get(*name).is_none_or(Json::is_null));
    faults.extend(wanted.map(|name| Fault::new(name, TIME)));
    for (name, value) in entries {
        let (fits, accepted) = match name.as_str() {
            "enabled" => (value.is_boolean(), "true or false"),
            "from" | "until" => (minutes(value).is_some(), TIME),
            "days" => (days(value).is_some(), DAYS),
            "tz" => (offset(value).is_some(), TZ),
            _ => {
                faults.push(Fault::new("", ACCEPTED));
                continue;
            }
        };
        match value {
            Json::Null => {}
            value if fits => drop(checked.insert(name.clone(), value.clone())),
            _ => faults.push(Fault::new(name, accepted)),
        }
    }
    checked
}

/// What a checked value means; `None`: it is switched off.
pub(super) fn read(json: &Json) -> Option<Schedule> {
    let schedule = Schedule {
        from_min: minutes(&json["from"])?,
        until_min: minutes(&json["until"])?,
        days: days(&json["days"])?,
        offset_min: offset(&json["tz"])?,
    };
    (json["enabled"] == true).then_some(schedule)
}

/// `HH:MM` as minutes.
fn minutes(json: &Json) -> Option<u16> {
    clock(json.as_str()?)
        .filter(|(hour, minute)| *hour < 24 && *minute < 60)
        .map(|(hour, minute)| hour * 60 + minute)
}

fn clock(text: &str) -> Option<(u16, u16)> {
    let (hour, minute) = text.split_once(':')?;
    let two = |part: &str| {
        (part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit())).then(|| part.parse().ok())
    };
    Some((two(hour)??, two(minute)??))
}

fn days(json: &Json) -> Option<[bool; 7]> {
    let mut days = [false; 7];
    for day in json.as_array()? {
        *days.get_mut(usize::try_from(day.as_u64()?).ok()?)? = true;
    }
    Some(days)
}

/// Minutes ahead of UTC.
fn offset(json: &Json) -> Option<i16> {
    let text = json.as_str()?;
    if text.eq_ignore_ascii_case("utc") || text == "Z" {
        return Some(0);
    }
    let (sign, rest) = text.split_at_checked(1)?;
    let (hour, minute) =
        clock(rest).filter(|(hour, minute)| *minute < 60 && hour * 60 + minute <= 14 * 60)?;
    let ahead = i16::try_from(hour * 60 + minute).ok()?;
    match sign {
        "+" => Some(ahead),
        "-" => Some(-ahead),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use policy::keys::Schedule;
    use serde_json::{Value as Json, json};

    use super::check;

    #[test]
    fn a_schedule_is_read_whole_or_not_at_all() {
        let read = |value: &Json| {
            let mut faults = Vec::new();
            let checked = check(value, &mut faults);
            let wrong: Vec<String> = faults.into_iter().map(|fault| fault.path).collect();
            (wrong, Json::Object(checked))
        };
        let (wrong, checked) = read(&json!({"from": "08:00", "until": "18:30"}));
        let whole = json!({"enabled": true, "from": "08:00", "until": "18:30", "days": [], "tz": "UTC"});
        assert_eq!((wrong.is_empty(), &checked), (true, &whole));
        let expected = Schedule { from_min: 480, until_min: 1_110, days: [false; 7], offset_min: 0 };
        assert_eq!(super::read(&checked), Some(expected));
        let (_, far) = read(
            &json!({"from": "22:00", "until": "06:00", "days": [0, 6, 6], "tz": "-05:30", "enabled": null}),
        );
        let days = [true, false, false, false, false, false, true];
        let expected = Schedule { from_min: 1_320, until_min: 360, days, offset_min: -330 };
        assert_eq!(super::read(&far), Some(expected));
        let (_, off) = read(&json!({"from": "22:00", "until": "06:00", "enabled": false}));
        assert_eq!(super::read(&off), None);
        for (value, places) in [
            (json!([]), vec![""]),
            (json!({}), vec!["from", "until"]),
            (json!({"from": "8:00", "until": "24:00"}), vec!["from", "until"]),
            (json!({"from": "08:60", "until": 8}), vec!["from", "until"]),
            (json!({"from": "+8:00", "until": null}), vec!["until", "from"]),
            (json!({"from": "08:00", "until": "09:00", "days": [7]}), vec!["days"]),
            (json!({"from": "08:00", "until": "09:00", "days": "1"}), vec!["days"]),
            (json!({"from": "08:00", "until": "09:00", "tz": "Europe/Berlin"}), vec!["tz"]),
            (json!({"from": "08:00", "until": "09:00", "tz": "+14:01"}), vec!["tz"]),
            (json!({"from": "08:00", "until": "09:00", "tz": "02:00"}), vec!["tz"]),
            (json!({"from": "08:00", "until": "09:00", "enabled": "yes"}), vec!["enabled"]),
            (json!({"from": "08:00", "until": "09:00", "to": "x"}), vec![""]),
        ] {
            assert_eq!(read(&value).0, places, "{value}");
        }
    }
}
