//! One `usage` object, read for its numbers and nothing else: no tree is built, and what is not a
//! count is passed over, whatever it is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

/// What a name counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Input,
    /// Google's tools put more into the prompt and count it apart.
    Tools,
    Cached,
    CacheWrite,
    Output,
    Reasoning,
    Total,
}

/// What stands under a name.
#[derive(Clone, Copy)]
enum Field {
    Number(Count),
    /// An object with more of the input, or of the output.
    Details(Level),
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Input,
    Output,
}

/// Names of numbers, each with the object it stands in.
const NUMBERS: [(Level, &str, Count); 20] = [
    (Level::Top, "prompt_tokens", Count::Input),
    (Level::Top, "input_tokens", Count::Input),
    (Level::Top, "promptTokenCount", Count::Input),
    (Level::Top, "toolUsePromptTokenCount", Count::Tools),
    (Level::Top, "cache_read_input_tokens", Count::Cached),
    (Level::Top, "cachedContentTokenCount", Count::Cached),
    (Level::Top, "prompt_cache_hit_tokens", Count::Cached),
    (Level::Top, "cached_tokens", Count::Cached),
    (Level::Input, "cached_tokens", Count::Cached),
    (Level::Top, "cache_creation_input_tokens", Count::CacheWrite),
    (Level::Input, "cache_write_tokens", Count::CacheWrite),
    (Level::Input, "cache_creation_tokens", Count::CacheWrite),
    (Level::Top, "completion_tokens", Count::Output),
    (Level::Top, "output_tokens", Count::Output),
    (Level::Top, "candidatesTokenCount", Count::Output),
    (Level::Top, "thoughtsTokenCount", Count::Reasoning),
    (Level::Top, "reasoning_tokens", Count::Reasoning),
    (Level::Output, "reasoning_tokens", Count::Reasoning),
    (Level::Top, "total_tokens", Count::Total),
    (Level::Top, "totalTokenCount", Count::Total),
];

const DETAILS: [(&str, Level); 4] = [
    ("prompt_tokens_details", Level::Input),
    ("input_tokens_details", Level::Input),
    ("completion_tokens_details", Level::Output),
    ("output_tokens_details", Level::Output),
];

/// More tokens than any answer takes: such a number is a fault of who says it. Believed, one of them
/// would use up a client's budget and drown a day's sums.
pub(super) const MOST: u64 = 1_000_000_000;

/// The numbers of one object; 0 where it says none. Of several names for one the largest holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) input: u64,
    pub(super) tools: u64,
    pub(super) cached: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
    pub(super) reasoning: u64,
    pub(super) total: u64,
    /// Anthropic's names for the cache's numbers, which are not in its input.
    pub(super) names_apart: bool,
    /// A name of another dialect's input, which holds them.
    pub(super) names_within: bool,
    /// It speaks as Google does.
    pub(super) google: bool,
}

impl Said {
    fn put(&mut self, count: Count, number: u64) {
        if number > MOST {
            return;
        }
        let place = match count {
            Count::Input => &mut self.input,
            Count::Tools => &mut self.tools,
            Count::Cached => &mut self.cached,
            Count::CacheWrite => &mut self.cache_write,
            Count::Output => &mut self.output,
            Count::Reasoning => &mut self.reasoning,
            Count::Total => &mut self.total,
        };
        *place = (*place).max(number);
    }

    fn hear(&mut self, level: Level, name: &str) -> Field {
        if level == Level::Top {
            match name {
                "cache_read_input_tokens" | "cache_creation_input_tokens" => self.names_apart = true,
                "prompt_tokens" | "input_tokens_details" => self.names_within = true,
                "promptTokenCount" | "totalTokenCount" => self.google = true,
                _ => {}
            }
            if let Some((_, level)) = DETAILS.iter().find(|(known, _)| *known == name) {
                return Field::Details(*level);
            }
        }
        let number = NUMBERS.iter().find(|(place, known, _)| *known == name && *place == level);
        number.map_or(Field::Other, |(.., count)| Field::Number(*count))
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut said = Self::default();
        Object { level: Level::Top, said: &mut said }.deserialize(deserializer)?;
        Ok(said)
    }
}

/// An object whose numbers are read.
struct Object<'a> {
    level: Level,
    said: &'a mut Said,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// What is no count: passed over.
macro_rules! pass_over {
    ($value:expr) => {
        fn visit_bool<E: de::Error>(self, _: bool) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_i64<E: de::Error>(self, _: i64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_f64<E: de::Error>(self, _: f64) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_str<E: de::Error>(self, _: &str) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok($value)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($value)
        }
    };
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    pass_over!(());

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(field) = map.next_key_seed(Name { level: self.level, said: &mut *self.said })? {
            match field {
                Field::Number(count) => {
                    let number = map.next_value::<Number>()?.0;
                    self.said.put(count, number);
                }
                Field::Details(level) => map.next_value_seed(Object { level, said: &mut *self.said })?,
                Field::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Name<'a> {
    level: Level,
    said: &'a mut Said,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Field;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Field, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name<'_> {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Field, E> {
        Ok(self.said.hear(self.level, name))
    }
}

/// A count; anything else is 0.
struct Number(u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNumber)
    }
}

struct AnyNumber;

impl<'de> Visitor<'de> for AnyNumber {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    pass_over!(Number(0));

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Number(0))
    }
}
