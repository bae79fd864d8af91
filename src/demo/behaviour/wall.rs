//! The names of an account at its usage wall: `wall-N`, and what its slower lane does.

use std::fmt;

use super::number;

/// An account whose window is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wall {
    /// Until the window resets, s.
    pub resets_in: u64,
    /// What the lane does.
    pub lane: Lane,
}

/// What becomes of a request in the slower lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// It is served.
    Serves,
    /// No lane is offered.
    Control,
    /// It is served, and did not need the lane.
    NotNeeded,
    /// The first so many of a credential find no place.
    Busy {
        /// How many.
        count: u64,
    },
    /// The first so many of a credential find no room at all.
    Overloaded {
        /// How many.
        count: u64,
    },
    /// It is refused for a reason.
    Refuses(Reason),
}

/// Why a lane refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The week's limit is reached.
    WeeklyLimit,
    /// The lane's budget is spent.
    BudgetExhausted,
    /// There is no lane any more.
    Off,
    /// Not for this account.
    Ineligible,
}

impl Reason {
    const ALL: [Self; 4] = [Self::WeeklyLimit, Self::BudgetExhausted, Self::Off, Self::Ineligible];

    /// The word of the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WeeklyLimit => "weekly_limit",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Off => "off",
            Self::Ineligible => "ineligible",
        }
    }

    /// The word of the name.
    fn name(self) -> String {
        self.as_str().replace('_', "-")
    }
}

impl Wall {
    /// Reads what stands behind `wall-`.
    pub(super) fn parse(parameter: &str) -> Option<Self> {
        let Some((seconds, lane)) = parameter.split_once('-') else {
            return Some(Self { resets_in: number(parameter)?, lane: Lane::Serves });
        };
        let lane = match lane.split_once('-') {
            Some(("busy", count)) => Lane::Busy { count: number(count)? },
            Some(("overloaded", count)) => Lane::Overloaded { count: number(count)? },
            _ if lane == "control" => Lane::Control,
            _ if lane == "not-needed" => Lane::NotNeeded,
            _ => Lane::Refuses(Reason::ALL.into_iter().find(|reason| reason.name() == lane)?),
        };
        Some(Self { resets_in: number(seconds)?, lane })
    }
}

impl fmt::Display for Wall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "wall-{}", self.resets_in)?;
        match self.lane {
            Lane::Serves => Ok(()),
            Lane::Control => out.write_str("-control"),
            Lane::NotNeeded => out.write_str("-not-needed"),
            Lane::Busy { count } => write!(out, "-busy-{count}"),
            Lane::Overloaded { count } => write!(out, "-overloaded-{count}"),
            Lane::Refuses(reason) => write!(out, "-{}", reason.name()),
        }
    }
}
