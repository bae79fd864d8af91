//! Frames that say the same as the last one in other words.
//!
//! Most frames of a stream differ from the one before in the model's text alone, and in what
//! vendors count and pad them with. Such a frame is told by its bytes: what lies between those
//! places is compared, and the places are stepped over by the walk that a whole reading would take,
//! so both find the same (a property test holds them to it). Anything else is read whole, and is
//! the next pattern.

use super::super::walk::{Walk, Walked};
use super::Sight;

/// A pattern with more than this between its places is not kept.
const LONGEST: usize = 1024;
/// So many frames that were like none before them, and no more patterns are made.
const MOST_MISSES: u8 = 16;

/// Where a frame may differ and say the same.
#[derive(Default)]
pub(super) struct Places<'a> {
    /// The model's text or thought, if there is one and not more.
    words: Option<&'a [u8]>,
    /// There is more than one.
    many: bool,
    /// Values that nobody looks at, and that differ in every frame.
    ignored: [Option<&'a [u8]>; 2],
}

impl<'a> Places<'a> {
    /// The model's words, not empty, between their quotes.
    pub(super) fn words(&mut self, text: &'a [u8]) {
        self.many |= self.words.replace(text).is_some();
    }

    /// A value of one of the two keys that count and pad, as it is written.
    pub(super) fn ignored(&mut self, key: &[u8], value: &'a [u8]) {
        self.ignored[usize::from(key == b"obfuscation")] = Some(value);
    }
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hole {
    /// The words; they begin behind their quote.
    Words,
    /// A string that nobody reads, likewise.
    Text,
    /// A whole number.
    Number,
}

/// The last frame that was read whole, without what stood at its places.
#[derive(Debug, Default)]
pub(super) struct Pattern {
    sight: Sight,
    /// The name of its event, then what lies before each place and behind the last.
    bytes: Vec<u8>,
    /// Where the name ends.
    name: usize,
    /// Each place, and where in `bytes` it lies; none: there is no pattern.
    holes: Vec<(usize, Hole)>,
    misses: u8,
}

impl Pattern {
    /// What the frame says, if it is like the last one.
    #[inline]
    pub(super) fn tell(&mut self, name: &[u8], data: &[u8]) -> Option<Sight> {
        if self.holes.is_empty() || *name != self.bytes[..self.name] {
            return None;
        }
        let length = self.step(data).ok().flatten()?;
        self.misses = 0;
        // Thoughts count none.
        let text = if self.sight.text > 0 { length } else { 0 };
        Some(Sight { text, ..self.sight })
    }

    /// The length of its words; none: they are empty, which says something else.
    #[inline]
    fn step(&self, data: &[u8]) -> Walked<Option<usize>> {
        let (mut walk, mut from, mut words) = (Walk::new(data), self.name, None);
        for &(to, hole) in &self.holes {
            walk.literal(&self.bytes[from..to])?;
            from = to;
            match hole {
                Hole::Words => words = Some(walk.measure()?).filter(|length| *length > 0),
                Hole::Text => drop(walk.measure()?),
                Hole::Number => walk.digits()?,
            }
        }
        walk.literal(&self.bytes[from..])?;
        walk.end().map(|()| words)
    }

    /// Keeps a frame that was read whole, if others may be like it.
    pub(super) fn learn(&mut self, (name, data): (&[u8], &[u8]), sight: Sight, places: &Places<'_>) {
        let Some(words) = places.words.filter(|_| !places.many && self.misses < MOST_MISSES) else { return };
        self.misses += 1;
        self.holes.clear();
        let mut holes = [(Hole::Words, Some(words)), (Hole::Text, None), (Hole::Text, None)];
        for (hole, value) in holes[1..].iter_mut().zip(places.ignored) {
            *hole = match value {
                Some([b'"', inner @ .., b'"']) => (Hole::Text, Some(inner)),
                Some(digits) if digits.iter().all(u8::is_ascii_digit) => (Hole::Number, Some(digits)),
                _ => continue,
            };
        }
        let start = |part: &[u8]| part.as_ptr().addr() - data.as_ptr().addr();
        holes.sort_by_key(|(_, value)| value.map(start));
        let placed = holes.iter().filter_map(|(hole, value)| value.map(|value| (*hole, value)));
        if data.len() - placed.clone().map(|(_, value)| value.len()).sum::<usize>() > LONGEST {
            return;
        }
        (self.sight, self.name) = (sight, name.len());
        self.bytes.clear();
        self.bytes.extend_from_slice(name);
        let mut from = 0;
        for (hole, value) in placed {
            let at = start(value);
            self.bytes.extend_from_slice(&data[from..at]);
            self.holes.push((self.bytes.len(), hole));
            // The closing quote goes with its string.
            from = at + value.len() + usize::from(hole != Hole::Number);
        }
        self.bytes.extend_from_slice(&data[from..]);
    }
}
