//! The fields of a JSON object at its first level: names, and values as they are written.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// In the order in which they were written.
pub(in crate::formats) struct Fields<'a>(Vec<(String, Cow<'a, str>)>);

impl<'a> Fields<'a> {
    /// `None`: it is no JSON object.
    pub(in crate::formats) fn read(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    pub(in crate::formats) fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// A value as it is written.
    pub(in crate::formats) fn raw(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, raw)| raw.as_ref())
    }

    /// Each value of a name, as it is written.
    pub(in crate::formats) fn raws(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, raw)| raw.as_ref())
    }

    /// Where each value of a name stands in the body that was read: of two nobody knows which one the
    /// upstream takes.
    pub(in crate::formats) fn places(
        &self,
        body: &'a [u8],
        name: &str,
    ) -> impl Iterator<Item = Range<usize>> {
        let written = self.0.iter().filter(move |(known, _)| known == name);
        written.filter_map(move |(_, raw)| match raw {
            Cow::Borrowed(raw) => {
                let start = raw.as_ptr() as usize - body.as_ptr() as usize;
                Some(start..start + raw.len())
            }
            Cow::Owned(_) => None,
        })
    }

    /// A value that is read.
    pub(in crate::formats) fn value(&self, name: &str) -> Option<Value> {
        serde_json::from_str(self.raw(name)?).ok()
    }

    /// Puts a value where it was, or last.
    pub(in crate::formats) fn set(&mut self, name: &str, raw: String) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = raw.into(),
            None => self.0.push((name.into(), raw.into())),
        }
    }

    pub(in crate::formats) fn remove(&mut self, names: &[&str]) {
        self.0.retain(|(known, _)| !names.contains(&known.as_str()));
    }

    pub(in crate::formats) fn write(&self) -> Bytes {
        let length = self.0.iter().map(|(name, raw)| name.len() + raw.len() + 4).sum::<usize>();
        let mut text = String::with_capacity(length + 2);
        for (name, raw) in &self.0 {
            text.push(if text.is_empty() { '{' } else { ',' });
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            text.push_str(raw);
        }
        if text.is_empty() {
            text.push('{');
        }
        text.push('}');
        text.into()
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, raw)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
                    // A name that is no text (half of a character) stays as it is written.
                    let name = serde_json::from_str(name.get()).unwrap_or_else(|_| name.get().to_owned());
                    fields.push((name, Cow::Borrowed(raw.get())));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Each)
    }
}
