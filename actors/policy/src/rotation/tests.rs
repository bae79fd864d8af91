//! Core 3.5.1–3.5.3, E61.

use super::{Gate, PerKind, RotationSettings, SwitchOverride};
use crate::verdict::Rotation::{Forces, Holds, Rotates};

const T0: u64 = 1_768_478_400_000;

fn gate(change: impl FnOnce(&mut RotationSettings)) -> Gate {
    let mut settings = RotationSettings::default();
    change(&mut settings);
    Gate::new(settings)
}

#[test]
fn core_3_5_1_as_built_in_every_failure_rotates() {
    let mut gate = Gate::default();
    for status in [400, 401, 404, 429, 500, 502, 503, 529, 599] {
        assert_eq!(gate.note(status, T0), Rotates, "{status}");
        assert_eq!(gate.note(status, T0), Rotates, "{status} again");
    }
}

#[test]
fn e61_a_kind_that_is_off_holds() {
    let mut off = gate(|settings| settings.switches.on_429.rotates = false);
    assert_eq!((off.note(429, T0), off.note(503, T0)), (Holds, Rotates), "E61");
    let mut off = gate(|settings| settings.switches.on_500.rotates = false);
    assert_eq!([500, 503, 529, 599].map(|status| off.note(status, T0)), [Holds; 4], "every 5xx");
    assert_eq!([502, 429, 408, 401].map(|status| off.note(status, T0)), [Rotates; 4], "but 502");
    let mut off = gate(|settings| settings.switches.on_502.rotates = false);
    assert_eq!((off.note(502, T0), off.note(503, T0)), (Holds, Rotates));
}

#[test]
fn core_3_5_2_the_master_switch_blocks_all_but_400() {
    let mut off = gate(|settings| settings.enabled = false);
    assert_eq!([429, 500, 502].map(|status| off.note(status, T0)), [Holds; 3]);
    assert_eq!([400, 401, 404].map(|status| off.note(status, T0)), [Rotates; 3]);
}

#[test]
fn core_3_5_2_a_400_is_forced_when_it_is_on() {
    let mut forced = gate(|settings| settings.switches.on_400.rotates = true);
    assert_eq!(forced.note(400, T0), Forces(120_000));
    let mut delayed = gate(|settings| {
        settings.switches.on_400.rotates = true;
        settings.forced_ms = Some(30_000);
    });
    assert_eq!(delayed.note(400, T0), Forces(30_000));
    let mut patient = gate(|settings| {
        settings.switches.on_400.rotates = true;
        settings.switches.on_400.threshold = 2;
    });
    assert_eq!((patient.note(400, T0), patient.note(400, T0)), (Rotates, Forces(120_000)), "never blocked");
    let mut master = gate(|settings| {
        settings.switches.on_400.rotates = true;
        settings.enabled = false;
    });
    assert_eq!(master.note(400, T0), Rotates);
}

#[test]
fn core_3_5_3_the_nth_failure_rotates_and_empties_the_window() {
    let mut third = gate(|settings| settings.switches.on_429.threshold = 3);
    let said: Vec<_> = (0..6).map(|n| third.note(429, T0 + n)).collect();
    assert_eq!(said, [Holds, Holds, Rotates, Holds, Holds, Rotates]);
    // Kinds are counted apart.
    assert_eq!((third.note(429, T0), third.note(500, T0)), (Holds, Rotates));
    // At exactly the window's length a failure has left it.
    let mut second = gate(|settings| settings.switches.on_429.threshold = 2);
    assert_eq!((second.note(429, T0), second.note(429, T0 + 120_000)), (Holds, Holds));
    assert_eq!(second.note(429, T0 + 239_999), Rotates);
}

#[test]
fn zero_is_read_as_the_least_number() {
    let mut gate = gate(|settings| {
        settings.switches.on_429.threshold = 0;
        settings.switches.on_502.threshold = 2;
        settings.switches.on_502.window_ms = 0;
    });
    assert_eq!(gate.note(429, T0), Rotates);
    assert_eq!((gate.note(502, T0), gate.note(502, T0 + 999)), (Holds, Rotates));
    assert_eq!((gate.note(502, T0), gate.note(502, T0 + 1_000)), (Holds, Holds));
}

#[test]
fn a_connection_overrides_what_it_names() {
    let own = PerKind {
        on_429: SwitchOverride { threshold: Some(5), ..SwitchOverride::default() },
        on_500: SwitchOverride { rotates: Some(false), ..SwitchOverride::default() },
        on_502: SwitchOverride { window_ms: Some(7_000), ..SwitchOverride::default() },
        on_400: SwitchOverride { rotates: Some(true), ..SwitchOverride::default() },
    };
    let with = RotationSettings::default().with(&own).switches;
    assert_eq!((with.on_429.rotates, with.on_429.threshold, with.on_429.window_ms), (true, 5, 120_000));
    assert_eq!((with.on_500.rotates, with.on_500.threshold), (false, 1));
    assert_eq!((with.on_502.rotates, with.on_502.window_ms), (true, 7_000));
    assert!(with.on_400.rotates);
    assert_eq!(RotationSettings::default().with(&PerKind::default()), RotationSettings::default());
}

#[test]
fn new_numbers_keep_what_was_seen() {
    let mut gate = gate(|settings| settings.switches.on_429.threshold = 3);
    assert_eq!(gate.note(429, T0), Holds);
    let mut settings = RotationSettings::default();
    settings.switches.on_429.threshold = 2;
    gate.configure(settings);
    assert_eq!(gate.note(429, T0), Rotates);
}
