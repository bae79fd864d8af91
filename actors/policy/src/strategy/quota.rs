//! Numbers that strategies read out of an account's quota (routing 4.22, 4.23), and turns among
//! those that are alike.

use crate::reading::{AccountReading, WindowReading};
use crate::strategy::{Note, QuotaSettings, QuotaWindow, Ranked, Tail, sort};
use crate::time::Millis;

/// Score of an account that has said nothing (routing 4.22).
const UNKNOWN: f64 = 0.5;
/// How much of the score is left to a session that is spent, at least.
const SPENT: f64 = 0.05;

/// Routing 4.22: higher is better. What is left counts, and so does what would be lost at a reset
/// that is near.
pub(super) fn score(reading: Option<&AccountReading>, settings: &QuotaSettings, now: Millis) -> f64 {
    let Some(reading) = reading else { return UNKNOWN };
    if reading.is_limited(now) {
        return f64::NEG_INFINITY;
    }
    let (session_part, weekly_part) = parts(settings);
    let (session, weekly) =
        (part(reading, QuotaWindow::Session, now), part(reading, QuotaWindow::Weekly, now));
    let mut score = session_part * session.weigh(0.45) + weekly_part * weekly.weigh(0.25);
    if reading.monthly.is_some() {
        score = 0.75 * score + 0.25 * part(reading, QuotaWindow::Monthly, now).weigh(0.25);
    }
    let guard = settings.guard_percent / 100.0;
    let spent = session.left < guard && session.urgency < 1.0;
    if spent { score * (session.left / guard).max(SPENT) } else { score }
}

/// The parts of the two windows, as shares of one.
fn parts(settings: &QuotaSettings) -> (f64, f64) {
    let part = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    let (session, weekly) = (part(settings.session_weight), part(settings.weekly_weight));
    if session + weekly > 0.0 {
        return (session / (session + weekly), weekly / (session + weekly));
    }
    let usual = QuotaSettings::default();
    (usual.session_weight, usual.weekly_weight)
}

struct Part {
    left: f64,
    urgency: f64,
}

impl Part {
    /// What is left has this weight, and urgency the rest of it where something was used.
    fn weigh(&self, left: f64) -> f64 {
        left * self.left + (1.0 - left) * self.urgency * (1.0 - self.left)
    }
}

fn part(reading: &AccountReading, window: QuotaWindow, now: Millis) -> Part {
    let named = reading.window(window);
    let used = named.or(reading.overall).map(|read| read.used).filter(|used| used.is_finite());
    // The whole account's reset is that of the week (routing 4.22).
    let whole = reading.overall.filter(|_| window == QuotaWindow::Weekly);
    let resets_at = named.and_then(|read| read.resets_at).or_else(|| whole?.resets_at);
    let length = window.length_ms() as f64;
    let urgency = |at: Millis| (1.0 - at.saturating_sub(now) as f64 / length).clamp(0.0, 1.0);
    Part {
        left: used.map_or(0.5, |used| (1.0 - used).clamp(0.0, 1.0)),
        urgency: resets_at.map_or(0.5, urgency),
    }
}

/// Routing 4.22: how near the reset of the quota is, 0 to 1; 0.5 where nobody knows.
pub(super) fn urgency(reading: Option<&AccountReading>, now: Millis) -> f64 {
    reading.map_or(0.5, |reading| part(reading, QuotaWindow::Weekly, now).urgency)
}

/// Routing 4.23: ms until a window starts anew, 0 when that has passed; `None`: unknown, or the
/// limit is reached.
pub(super) fn reset_in(
    reading: Option<&AccountReading>,
    windows: &[QuotaWindow],
    now: Millis,
) -> Option<Millis> {
    let reading = reading.filter(|reading| !reading.is_limited(now))?;
    let soonest = |windows: &[QuotaWindow]| {
        let known = windows.iter().filter_map(|window| reading.window(*window)?.resets_at);
        known.min()
    };
    let whole = || reading.overall.and_then(|WindowReading { resets_at, .. }| resets_at);
    let at = soonest(windows).or_else(|| soonest(&QuotaWindow::ALL)).or_else(whole)?;
    Some(at.saturating_sub(now))
}

/// Sorts those that come after a first choice, best score first; they come in declared order. Equal
/// ones follow it in a circle: were it always the first of the list, that one would serve for
/// everybody who fails (FC-050).
pub(super) fn sort_after(first: usize, order: &mut [usize], scores: &[f64]) -> Option<Tail> {
    let circle = order.partition_point(|index| *index <= first);
    order.rotate_left(circle);
    sort::front(order, |index| sort::descending(scores[index]))
}

/// The same where they are sorted already, equal ones in declared order.
pub(super) fn circle_after(first: usize, sorted: &mut [usize], scores: &[f64]) {
    let alike = |a: &usize, b: &usize| scores[*a].to_bits() == scores[*b].to_bits();
    for alike in sorted.chunk_by_mut(alike).filter(|alike| alike.len() > 1) {
        let circle = alike.partition_point(|index| *index <= first);
        alike.rotate_left(circle);
    }
}

/// Those that could be asked by a key, the smallest first; those that are like the first take turns:
/// `cursor` says whose it is. A turn is taken only where there are several. The others go last, for
/// their gates to say why (routing 4.21): a turn must not fall on one of them.
pub(super) fn in_turns(
    (mut order, unable): (Vec<usize>, Vec<usize>),
    key: impl Fn(usize) -> u64,
    alike: impl Fn(usize, usize) -> bool,
    cursor: u64,
) -> Ranked {
    let mut tail = sort::front(&mut order, key);
    let first = order.first().copied();
    let tied = order.iter().filter(|index| first.is_some_and(|first| alike(first, **index))).count();
    if let Some(tail) = tail.take_if(|tail| tail.start() < tied) {
        tail.settle(&mut order);
    }
    let mut notes = Vec::new();
    if tied > 1 {
        order[..tied].rotate_left((cursor % tied as u64) as usize);
        notes.push(Note::Cursor(cursor.wrapping_add(1)));
    }
    order.extend(unable);
    Ranked { notes, tail, ..Ranked::of(order) }
}

#[cfg(test)]
pub(super) mod tests {
    use super::score;
    use crate::reading::{AccountReading, WindowReading};
    use crate::strategy::QuotaSettings;
    use crate::strategy::table::{Facts, Table};
    use crate::time::{DAY, HOUR, Millis};

    pub const NOW: Millis = 1_768_500_000_000;

    /// A use, and how long until its window starts anew.
    pub fn window(used: f64, left_ms: Millis) -> Option<WindowReading> {
        Some(WindowReading { used, resets_at: Some(NOW + left_ms) })
    }

    /// A use of a window that does not say when it ends.
    pub fn untimed(used: f64) -> Option<WindowReading> {
        Some(WindowReading { used, resets_at: None })
    }

    pub fn seen() -> AccountReading {
        AccountReading { seen_at: NOW, ..AccountReading::default() }
    }

    pub fn limited() -> AccountReading {
        AccountReading { limit_reached: true, ..seen() }
    }

    /// Routing 16 #33: .3599 and .5784.
    pub fn first() -> AccountReading {
        AccountReading { session: window(0.2, HOUR), weekly: window(0.5, 84 * HOUR), ..seen() }
    }

    pub fn second() -> AccountReading {
        AccountReading { session: window(0.8, HOUR), weekly: window(0.9, 12 * HOUR), ..seen() }
    }

    /// Accounts A, B, C.. with these readings.
    pub fn table(readings: Vec<Option<AccountReading>>) -> Table {
        let facts = |reading| Facts { reading, ..Facts::default() };
        Table { now: NOW, ..Table::of(readings.into_iter().map(facts).collect()) }
    }

    fn rounded(reading: &AccountReading, settings: &QuotaSettings) -> f64 {
        (score(Some(reading), settings, NOW) * 10_000.0).round() / 10_000.0
    }

    /// Routing 16 #33, #36, #37.
    #[test]
    fn the_scores_are_those_of_the_table() {
        let usual = QuotaSettings::default();
        assert_eq!((rounded(&first(), &usual), rounded(&second(), &usual)), (0.3599, 0.5784));
        let spent = AccountReading { session: window(0.95, HOUR), ..first() };
        let unguarded = QuotaSettings { guard_percent: 0.0, ..usual };
        assert_eq!((rounded(&spent, &unguarded), rounded(&spent, &usual)), (0.3573, 0.1787));
        let monthly = AccountReading { monthly: window(0.8, 3 * DAY), ..first() };
        assert_eq!(rounded(&monthly, &usual), 0.4174);
    }

    #[test]
    fn what_is_not_known_is_neutral() {
        let usual = QuotaSettings::default();
        assert_eq!(score(None, &usual, NOW), 0.5);
        assert_eq!(score(Some(&limited()), &usual, NOW), f64::NEG_INFINITY);
        let nothing = QuotaSettings { session_weight: 0.0, weekly_weight: f64::NAN, ..usual };
        assert_eq!(rounded(&first(), &nothing), 0.3599, "no weights are the usual ones");
        let past =
            AccountReading { session: Some(WindowReading { used: 1.0, resets_at: Some(NOW) }), ..seen() };
        assert!(rounded(&past, &usual) > 0.3, "a session that has started anew is not spent");
    }
}
