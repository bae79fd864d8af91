//! Combos that ask several for one answer (routing 6): each is asked in the request's dialect, so the
//! steps of a line, or a panel and its judge, that have none in common can be asked by no route; nor
//! can a combo whose judge leads back to it by another name. These are warnings: what providers speak
//! and what names stand for may change, and the rest of the config is right.

use std::collections::{BTreeMap, BTreeSet};

use policy::catalogue::matches;
use policy::combo::{DEEPEST, TargetSpec};
use policy::strategy::{Fusion, Pipeline, Strategy};

use super::combo_config::JUDGE;
use super::combos::{LISTED, NAME, ONLY_STORED, STRATEGY};
use super::{Context, Known, KnownProvider};
use crate::settings::combos::{Alias, Combo, Mapping};
use crate::settings::finding::{Problem, quoted};
use crate::settings::sheet::Sheet;
use crate::settings::{Format, Settings};

/// What names stand for.
struct Names<'a> {
    providers: &'a BTreeMap<String, KnownProvider>,
    combos: &'a [Combo],
    mappings: &'a [Mapping],
    aliases: &'a BTreeMap<String, Alias>,
}

/// What one of them stands for.
enum Led<'a> {
    Combo(&'a Combo),
    Provider(&'a KnownProvider),
    /// It hangs on more than is read here.
    Unknown,
}

/// What has a name, or is one for others.
pub(in crate::settings) type Named = (Vec<Combo>, Vec<Mapping>, BTreeMap<String, Alias>);

impl Settings {
    /// What a change of combos, mappings and aliases would close: a way from a combo back to itself by
    /// another name. `None`: nothing that was not there before.
    pub(in crate::settings) fn closes(&self, change: impl FnOnce(&mut Named)) -> Option<Problem> {
        let known = Known::of(&self.providers);
        let circles = |named: &Named| {
            let (combos, mappings, aliases) = named;
            Names { providers: &known.providers, combos, mappings, aliases }.circles()
        };
        let mut named = (self.combos.clone(), self.mappings.clone(), self.aliases.clone());
        let before = circles(&named);
        change(&mut named);
        let way = circles(&named).difference(&before).next().cloned()?;
        let problem = format!("closes a circle: {way}");
        Some(Problem::new(problem, "a model, or a combo that does not lead back"))
    }
}

/// Tells which combos no request can come through.
pub(super) fn check(
    context: &mut Context<'_>,
    combos: &[Combo],
    mappings: &[Mapping],
    aliases: &BTreeMap<String, Alias>,
) {
    if !context.checks_references() {
        return;
    }
    let names = Names { providers: &context.known.providers, combos, mappings, aliases };
    let mut found: Vec<(&Combo, &'static str, Problem)> = Vec::new();
    for combo in combos {
        if let Some(judge) = names.lost(combo).filter(|judge| !context.known.answers(judge)) {
            let problem = format!("leads to {}, which nobody answers to", quoted(judge));
            found.push((combo, JUDGE, Problem::new(problem, "PROVIDER/MODEL, a combo, or an alias")));
        } else if let Some(way) = names.circle(combo) {
            let problem = format!("leads back to its combo: {}", way.join(" -> "));
            found.push((combo, JUDGE, Problem::new(problem, "a model, or a combo that leads to models")));
        } else if Format::ALL.iter().all(|(format, _)| !names.passes(combo, (*format, DEEPEST))) {
            found.extend(foreign(combo).map(|(key, problem)| (combo, key, problem)));
        }
    }
    let root = context.root;
    for (combo, key, problem) in found {
        let mut sheets = [LISTED, ONLY_STORED].iter().flat_map(|list| root.list(list));
        let sheet = sheets.rfind(|sheet| sheet.text(NAME).as_ref() == Some(&combo.name));
        context.findings.warn(sheet.map_or(root, |sheet: &Sheet| sheet).place_of(key), key, problem);
    }
}

/// Why nobody can ask it; `None`: where its targets stand in for each other, that is told of requests.
fn foreign(combo: &Combo) -> Option<(&'static str, Problem)> {
    let told =
        |who, accepted| Problem::new(format!("cannot be asked: {who} speak no dialect in common"), accepted);
    if combo.strategy == Pipeline.name() {
        Some((STRATEGY, told("its steps", "steps of providers that share a format")))
    } else if combo.strategy == Fusion.name() && combo.config.strategy.fusion.judge.is_some() {
        Some((JUDGE, told("its targets and its judge", "a judge of a format that its targets speak")))
    } else {
        None
    }
}

impl<'a> Names<'a> {
    fn combo(&self, name: &str) -> Option<&'a Combo> {
        let find = |name: &str| self.combos.iter().find(|combo| combo.name == name);
        find(name).or_else(|| find(name.strip_prefix("combo/")?))
    }

    /// Routing 2.1, 12.3, as far as it can be known here.
    fn led(&self, name: &str) -> Led<'a> {
        let mapped = || {
            let fits = |mapping: &&Mapping| mapping.enabled && matches(&mapping.pattern, name);
            let first = self.mappings.iter().filter(fits).min_by_key(|mapping| mapping.priority)?;
            self.combo(&first.combo)
        };
        if let Some(combo) = self.combo(name).or_else(mapped) {
            return Led::Combo(combo);
        }
        match self.aliases.get(name) {
            Some(alias) => self.meant(&alias.to),
            None => match self.provider(name) {
                Some(provider) => Led::Provider(provider),
                None => {
                    let fits = self.aliases.iter().filter(|(pattern, _)| matches(pattern, name));
                    let letters = |pattern: &str| pattern.bytes().filter(|byte| *byte != b'*').count();
                    let most = fits.max_by_key(|(pattern, _)| letters(pattern));
                    most.map_or(Led::Unknown, |(_, alias)| self.meant(&alias.to))
                }
            },
        }
    }

    fn meant(&self, target: &str) -> Led<'a> {
        let provider = || self.provider(target).map(Led::Provider);
        self.combo(target).map(Led::Combo).or_else(provider).unwrap_or(Led::Unknown)
    }

    fn provider(&self, name: &str) -> Option<&'a KnownProvider> {
        self.providers.get(name.split_once('/')?.0.trim())
    }

    /// The judge of which nothing can be said here.
    fn lost(&self, combo: &'a Combo) -> Option<&'a str> {
        let name = combo.config.strategy.fusion.judge.as_deref();
        let renamed = |name: &str| self.aliases.keys().any(|pattern| matches(pattern, name));
        let unknown = |judge: Led<'a>| !matches!(judge, Led::Combo(_));
        name.filter(|name| self.judge(combo).is_some_and(unknown) && !renamed(name))
    }

    fn judge(&self, combo: &'a Combo) -> Option<Led<'a>> {
        let judge = combo.config.strategy.fusion.judge.as_deref();
        judge.filter(|_| combo.strategy == Fusion.name()).map(|judge| self.led(judge))
    }

    /// The way from a combo back to itself by whom it asks for one answer; one that needs no other
    /// names is told where combos are looked at.
    fn circle(&self, start: &'a Combo) -> Option<Vec<&'a str>> {
        let (mut seen, mut ways) = (BTreeSet::new(), vec![(start, false, vec![start.name.as_str()])]);
        while let Some((combo, renamed, way)) = ways.pop() {
            for (next, by_another) in self.asked(combo) {
                let renamed = renamed || by_another;
                let way = [&way[..], &[&next.name]].concat();
                if next.name == start.name && renamed {
                    return Some(way);
                }
                if next.name != start.name && seen.insert((next.name.as_str(), renamed)) {
                    ways.push((next, renamed, way));
                }
            }
        }
        None
    }

    /// The combos that one asks for its answer, each with whether it has another name there. Of other
    /// strategies the targets stand in for each other: they ask none.
    fn asked(&self, combo: &'a Combo) -> Vec<(&'a Combo, bool)> {
        if combo.strategy != Fusion.name() && combo.strategy != Pipeline.name() {
            return Vec::new();
        }
        let member = |target: &'a TargetSpec| match target {
            TargetSpec::Combo(name) => self.combos.iter().find(|other| *other.name == **name),
            TargetSpec::Model(_) => None,
        };
        let members = combo.targets.iter().filter_map(|step| member(&step.target));
        let mut asked: Vec<_> = members.map(|member| (member, false)).collect();
        if let Some(Led::Combo(judge)) = self.judge(combo) {
            asked.push((judge, self.renames(combo)));
        }
        asked
    }

    /// Its judge is named by an alias, or as a mapping has it.
    fn renames(&self, combo: &Combo) -> bool {
        combo.config.strategy.fusion.judge.as_ref().is_some_and(|name| self.combo(name).is_none())
    }

    /// Every way from a combo back to itself by other names, told where another name stands in it.
    fn circles(&self) -> BTreeSet<String> {
        let renaming = self.combos.iter().filter(|combo| self.renames(combo));
        renaming.filter_map(|combo| self.circle(combo)).map(|way| way.join(" -> ")).collect()
    }

    /// Whether a request comes through: all steps of a line speak its format, one target of others,
    /// and the judge of a panel.
    fn passes(&self, combo: &'a Combo, (format, depth): (Format, u32)) -> bool {
        let speaks = |known: &KnownProvider| known.formats.is_empty() || known.formats.contains(&format);
        let inside = |inner: &'a Combo| depth == 0 || self.passes(inner, (format, depth - 1));
        let way = |target: &'a TargetSpec| match target {
            TargetSpec::Model(model) => self.providers.get(model.provider.as_str()).is_none_or(speaks),
            TargetSpec::Combo(name) => {
                self.combos.iter().find(|other| *other.name == **name).is_none_or(inside)
            }
        };
        let ways: Vec<bool> = combo.targets.iter().map(|step| way(&step.target)).collect();
        let able = ways.iter().filter(|way| **way).count();
        match combo.strategy == Pipeline.name() {
            _ if ways.is_empty() => true,
            true => able == ways.len(),
            // A lone voice has no judge.
            false if able > 1 => self.judge(combo).is_none_or(|judge| match judge {
                Led::Combo(judge) => inside(judge),
                Led::Provider(known) => speaks(known),
                Led::Unknown => true,
            }),
            false => able > 0,
        }
    }
}
