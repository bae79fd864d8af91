//! Pools of accounts that client keys share (flow 2.3, 2.7, 2.10): as they are stored, and what a
//! body of the management API may say of one.
//!
//! A pool lives in the store alone. One that does not fit any more (an account left the file)
//! stays and contributes less; it never keeps the process from starting.

use std::collections::BTreeMap;

use policy::ids::{ConnectionId, ProviderId};
use policy::quota::{Rule, Unit, UsageWindow, slug};
use policy::time::Millis;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value as Json};

use super::connection_fields::Detail;
use super::{Settings, is_id};

/// Pools by id.
pub type QuotaPools = BTreeMap<String, QuotaPool>;

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuotaPool {
    /// What people call it.
    pub name: String,
    /// Its group in the names of its models; absent: its name (flow 2.3).
    #[serde(default)]
    pub group: Option<String>,
    /// Its accounts, all of one provider.
    pub connections: Vec<ConnectionId>,
    /// Which key gets which part.
    #[serde(default)]
    pub allocations: Vec<PoolAllocation>,
    /// What one account offers.
    #[serde(default)]
    pub limits: Vec<PoolLimit>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Millis,
    /// When it was last changed.
    #[serde(default)]
    pub updated_at: Millis,
}

impl QuotaPool {
    /// Its group as it stands in the names of its models.
    pub fn slug(&self) -> String {
        slug(self.group.as_deref().unwrap_or(&self.name))
    }

    /// The provider of its accounts, as they are configured now.
    pub fn provider(&self, settings: &Settings) -> Option<ProviderId> {
        let known = |id: &ConnectionId| settings.connections.iter().find(|known| known.id == *id);
        self.connections.iter().find_map(known).map(|connection| connection.provider.clone())
    }
}

/// A key's part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolAllocation {
    /// The key's name.
    pub key_id: String,
    /// Percent of the pool.
    pub weight: f64,
    /// What happens when it is used up. What nobody knows counts as hard (flow 2.7).
    #[serde(default, deserialize_with = "stored_rule")]
    pub policy: Rule,
    /// The most it may use whatever the others left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap_value: Option<f64>,
    /// Of what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap_unit: Option<Unit>,
}

fn stored_rule<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
    String::deserialize(deserializer).map(|name| Rule::stored(&name))
}

/// What one account offers of a unit in a window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PoolLimit {
    /// What is counted.
    pub unit: Unit,
    /// In which window.
    pub window: UsageWindow,
    /// How much.
    pub limit: f64,
}

/// The fields of a body.
const FIELDS: [&str; 5] = ["name", "group", "connections", "allocations", "limits"];
const LONGEST_NAME: usize = 200;
/// Accounts of a pool, its keys and its limits; more than a plan holds is of no use.
const MOST: usize = 1_000;

/// Reads a whole pool from a body; every mistake at once.
pub fn read_pool(body: &Map<String, Json>, settings: &Settings) -> Result<QuotaPool, Vec<Detail>> {
    let mut reader = Reader { details: Vec::new() };
    for field in body.keys().filter(|field| !FIELDS.contains(&field.as_str())) {
        reader.refuse(field, format!("unknown field, accepted: {}", FIELDS.join(", ")));
    }
    let pool = QuotaPool {
        name: reader.text(body, "name").unwrap_or_default(),
        group: body.get("group").filter(|value| !value.is_null()).and_then(|_| reader.text(body, "group")),
        connections: reader.connections(body, settings),
        allocations: reader.allocations(body),
        limits: reader.limits(body),
        created_at: 0,
        updated_at: 0,
    };
    if reader.details.is_empty() { Ok(pool) } else { Err(reader.details) }
}

struct Reader {
    details: Vec<Detail>,
}

impl Reader {
    fn refuse(&mut self, field: &str, message: impl Into<String>) {
        self.details.push(Detail::new(field, message));
    }

    fn text(&mut self, body: &Map<String, Json>, field: &str) -> Option<String> {
        let text = body.get(field).and_then(Json::as_str).map(str::trim);
        let fits = |text: &&str| {
            (1..=LONGEST_NAME).contains(&text.chars().count()) && !text.contains(char::is_control)
        };
        match text.filter(fits) {
            Some(text) => Some(text.to_owned()),
            None if body.contains_key(field) => {
                self.refuse(field, format!("accepted: a text of 1 to {LONGEST_NAME} characters"));
                None
            }
            None => {
                self.refuse(field, "is missing");
                None
            }
        }
    }

    /// The entries of a list; absent or null is none.
    fn list<'a>(&mut self, body: &'a Map<String, Json>, field: &str) -> &'a [Json] {
        match body.get(field) {
            None | Some(Json::Null) => &[],
            Some(Json::Array(list)) if list.len() <= MOST => list,
            Some(_) => {
                self.refuse(field, format!("accepted: a list of up to {MOST}"));
                &[]
            }
        }
    }

    fn connections(&mut self, body: &Map<String, Json>, settings: &Settings) -> Vec<ConnectionId> {
        let before = self.details.len();
        let list = self.list(body, "connections");
        if list.is_empty() && self.details.len() == before {
            self.refuse("connections", "accepted: at least one connection");
        }
        let mut members: Vec<ConnectionId> = Vec::new();
        let mut provider: Option<&ProviderId> = None;
        for (index, value) in list.iter().enumerate() {
            let field = format!("connections[{index}]");
            let known = value
                .as_str()
                .filter(|id| is_id(id))
                .and_then(|id| settings.connections.iter().find(|connection| connection.id.as_str() == id));
            let Some(known) = known else {
                self.refuse(&field, "is no connection that exists");
                continue;
            };
            if *provider.get_or_insert(&known.provider) != &known.provider {
                self.refuse(&field, "belongs to another provider than the ones before it");
            } else if members.contains(&known.id) {
                self.refuse(&field, "is in the list twice");
            }
            members.push(known.id.clone());
        }
        members
    }

    fn allocations(&mut self, body: &Map<String, Json>) -> Vec<PoolAllocation> {
        let mut allocations: Vec<PoolAllocation> = Vec::new();
        for (index, value) in self.list(body, "allocations").iter().enumerate() {
            let at = format!("allocations[{index}]");
            let fields = ["keyId", "weight", "policy", "capValue", "capUnit"];
            let Some(entry) = self.object(value, &at, &fields) else { continue };
            let Some(allocation) = self.allocation(entry, &at) else { continue };
            if allocations.iter().any(|other| other.key_id == allocation.key_id) {
                self.refuse(&format!("{at}.keyId"), "has an allocation already");
            }
            allocations.push(allocation);
        }
        allocations
    }

    fn allocation(&mut self, entry: &Map<String, Json>, at: &str) -> Option<PoolAllocation> {
        let before = self.details.len();
        let key_id = entry.get("keyId").and_then(Json::as_str).filter(|key| !key.trim().is_empty());
        if key_id.is_none() {
            self.refuse(&format!("{at}.keyId"), "accepted: the name of a key");
        }
        let weight = match entry.get("weight") {
            None | Some(Json::Null) => Some(0.0),
            Some(value) => value.as_f64().filter(|weight| (0.0..=100.0).contains(weight)),
        };
        if weight.is_none() {
            self.refuse(&format!("{at}.weight"), "accepted: a number from 0 to 100");
        }
        let policy = self.choice(entry, (at, "policy"), &Rule::ALL).unwrap_or_default();
        let cap_unit = self.choice(entry, (at, "capUnit"), &Unit::ALL);
        let value = entry.get("capValue").filter(|value| !value.is_null());
        let cap_value = value.and_then(Json::as_f64).filter(|cap| *cap > 0.0 && cap.is_finite());
        let unit_given = entry.get("capUnit").is_some_and(|unit| !unit.is_null());
        if value.is_some() && cap_value.is_none() {
            self.refuse(&format!("{at}.capValue"), "accepted: a number above 0");
        } else if value.is_some() != unit_given {
            self.refuse(&format!("{at}.capUnit"), "capValue and capUnit come together");
        }
        let (key_id, weight) = (key_id?.to_owned(), weight?);
        (self.details.len() == before).then_some(PoolAllocation {
            key_id,
            weight,
            policy,
            cap_value,
            cap_unit,
        })
    }

    fn limits(&mut self, body: &Map<String, Json>) -> Vec<PoolLimit> {
        let mut limits: Vec<PoolLimit> = Vec::new();
        for (index, value) in self.list(body, "limits").iter().enumerate() {
            let at = format!("limits[{index}]");
            let Some(entry) = self.object(value, &at, &["unit", "window", "limit"]) else { continue };
            let unit = self.required(entry, (&at, "unit"), &Unit::ALL);
            let window = self.required(entry, (&at, "window"), &UsageWindow::ALL);
            // 0 and less are limits, too: nothing may be used (flow 2.11).
            let limit = entry.get("limit").and_then(Json::as_f64).filter(|limit| limit.is_finite());
            if limit.is_none() {
                self.refuse(&format!("{at}.limit"), "accepted: a finite number");
            }
            let (Some(unit), Some(window), Some(limit)) = (unit, window, limit) else { continue };
            if limits.iter().any(|other| (other.unit, other.window) == (unit, window)) {
                self.refuse(&at, "this unit has a limit in this window already");
            }
            limits.push(PoolLimit { unit, window, limit });
        }
        limits
    }

    fn object<'a>(&mut self, value: &'a Json, at: &str, fields: &[&str]) -> Option<&'a Map<String, Json>> {
        let Some(entry) = value.as_object() else {
            self.refuse(at, format!("accepted: an object of {}", fields.join(", ")));
            return None;
        };
        for field in entry.keys().filter(|field| !fields.contains(&field.as_str())) {
            self.refuse(&format!("{at}.{field}"), format!("unknown field, accepted: {}", fields.join(", ")));
        }
        Some(entry)
    }

    /// One of the names; absent or null is none.
    fn choice<T: Copy>(
        &mut self,
        entry: &Map<String, Json>,
        (at, field): (&str, &str),
        all: &[(T, &str)],
    ) -> Option<T> {
        let value = entry.get(field).filter(|value| !value.is_null())?;
        let found = all.iter().find(|(_, name)| value.as_str() == Some(name)).map(|(found, _)| *found);
        if found.is_none() {
            let names: Vec<&str> = all.iter().map(|(_, name)| *name).collect();
            self.refuse(&format!("{at}.{field}"), format!("accepted: {}", names.join(", ")));
        }
        found
    }

    fn required<T: Copy>(
        &mut self,
        entry: &Map<String, Json>,
        (at, field): (&str, &str),
        all: &[(T, &str)],
    ) -> Option<T> {
        if entry.get(field).is_none_or(Json::is_null) {
            self.refuse(&format!("{at}.{field}"), "is missing");
            return None;
        }
        self.choice(entry, (at, field), all)
    }
}
