//! Mutated configs never panic.

use std::fs;

use switchtower::settings::load;

use crate::meaning::ENTITIES;
use crate::support::{Folder, SHIPPED, STRATEGIES};

/// A small deterministic generator (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }
}

const GARBAGE: &[&str] = &[
    "=",
    "[",
    "]]",
    "\"",
    "'''",
    "{",
    "}",
    "#",
    "\u{0}",
    "é",
    "\n",
    "= 1e999",
    "= -9223372036854775808",
    "= 0xFFFFFFFFFFFFFFFFFFFF",
    "= 1979-05-27",
    "= nan",
    "= [[[]]]",
    ".",
    "[[providers]]",
    "*",
    "= {a={b={}}}",
];

fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(6) {
        let at = dice.below(lines.len());
        match dice.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines.swap(at, 0),
            3 => {
                let line: Vec<char> = lines[at].chars().collect();
                let cut = dice.below(line.len() + 1);
                let garbage = GARBAGE[dice.below(GARBAGE.len())];
                lines[at] = line[..cut].iter().collect::<String>()
                    + garbage
                    + &line[cut..].iter().collect::<String>();
            }
            _ => lines[at] = lines[at].chars().rev().collect(),
        }
    }
    lines.join("\n")
}

#[test]
fn mutated_configs_never_panic() {
    let uncommented = SHIPPED
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap_or(line).to_owned() + "\n")
        .collect::<String>();
    let folder = Folder::with("");
    let mut dice = Dice(0x5eed_cafe);
    let mut refused = 0;
    for round in 0..600 {
        let text = match round % 3 {
            0 => mutate(SHIPPED, &mut dice),
            1 => mutate(ENTITIES, &mut dice),
            _ => mutate(&uncommented, &mut dice),
        };
        fs::write(folder.config(), &text).unwrap();
        let last = text.lines().count().max(1) + 1;
        if let Err(found) = load(&folder.config(), &|_| None, STRATEGIES) {
            refused += 1;
            assert!(found.iter().any(|each| !each.warning));
            for each in &found {
                assert!(each.line <= last, "{each} in {last} lines");
                assert!(!each.to_string().contains("sk-literal"), "{each}");
            }
        }
    }
    assert!(refused > 200, "{refused}");
}
