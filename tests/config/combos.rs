//! `[[combos]]`, `[[model_combo_mappings]]` and `[aliases]` of the file (routing 1, 2.9).

use policy::combo::{Nesting, TargetSpec};
use policy::strategy::auto::Weights;
use policy::strategy::{FusionSettings, QuotaWindow, RelaySettings};
use switchtower::settings::{Combo, ComboConfig, Settings, load};

use crate::support::{Folder, check, combo, connection, lookup, only_finding, settings};

fn with(lines: &str) -> String {
    format!("{}{lines}", connection("models = [\"*\"]"))
}

fn combos(lines: &str) -> Vec<Combo> {
    settings(&with(lines)).combos
}

/// A combo called `m` with these lines.
fn of(lines: &str) -> String {
    combo(&format!("[\"p/a\"]\n{lines}"))
}

#[test]
fn routing_1_3_the_defaults() {
    let config = ComboConfig::default();
    assert_eq!((config.max_retries, config.retry_delay_ms, config.fallback_delay_ms), (1, 2_000, 0));
    assert_eq!((config.max_set_retries, config.set_retry_delay_ms), (0, 2_000));
    assert_eq!((config.target_timeout_ms, config.combo_timeout_ms), (0, 0));
    assert!(config.failover_before_retry && config.combo_cooldown_wait_enabled && !config.last_resort);
    assert_eq!((config.max_depth, config.nesting), (3, Nesting::Flatten));
    assert_eq!(config.strategy, Default::default(), "what strategies read stands in policy, too");
    assert_eq!(
        (config.queue.concurrency_per_model, config.queue.timeout_ms, config.queue.depth),
        (None, 30_000, 20),
        "nobody is throttled who did not ask for it"
    );
    assert!(config.strategy.sessions);
    assert!(!config.context.strict && config.context.min_window.is_none() && !config.compat_filter_fail_open);
    assert_eq!((config.hedging.gate, config.hedging.enabled, config.hedging.delay_ms), (false, false, 500));
}

#[test]
fn routing_1_2_every_form_of_a_step() {
    let lines = r#"[[combos]]
name = "My Combo/1"
models = [
  "p/a", "low",
  { model = "a/b", provider = "p", weight = 2.5, connection = "c" },
  { model = "p/a/b", provider = "p", allowed_connections = ["c"], fallback_only_on_quota_exhaustion = true },
  { combo = "low", weight = 7 }, { model = "low", kind = "combo-ref", id = "again" },
]
[[combos]]
name = "low"
targets = ["p/x"]
"#;
    let combo = &combos(lines)[0];
    let shown: Vec<String> = combo
        .targets
        .iter()
        .map(|step| match &step.target {
            TargetSpec::Combo(name) => format!("{} ref {name} {}", step.id, step.weight),
            TargetSpec::Model(model) => {
                format!(
                    "{} {} {} {} {}",
                    step.id, model.provider, model.model, step.weight, model.only_on_quota
                )
            }
        })
        .collect();
    assert_eq!(
        shown,
        [
            "my-combo-1-model-1-p-a p a 0 false",
            "my-combo-1-ref-2-low ref low 0",
            "my-combo-1-model-3-p-a-b-c p a/b 2.5 false",
            "my-combo-1-model-4-p-a-b p a/b 0 true",
            "my-combo-1-ref-5-low ref low 7",
            "again ref low 0",
        ]
    );
    let long = format!("[[combos]]\nname = \"{}\"\ntargets = [\"p/{}\"]", "n".repeat(100), "m".repeat(200));
    assert_eq!(combos(&long)[0].targets[0].id.len(), 200, "routing 1.2f");
}

#[test]
fn what_a_strategy_reads_is_in_its_words() {
    let lines = "strategy = \"weighted\"\nconfig = { sticky_weighted_limit = 0, sticky_round_robin_limit = 4, reset_window_windows = [\"monthly\"], reset_window_include_session = true, quota_weighted_floor_percent = 2.5, reset_aware_quota_cache_max_stale_ms = \"1m\", weights = { health = 2, cost_inv = 1 }, predictive_ttft_ms = 1 }";
    let config = &settings(&of(lines)).combos[0].config;
    let strategy = &config.strategy;
    assert_eq!((strategy.rotation.sticky_weighted_limit, strategy.rotation.sticky_round_robin_limit), (1, 4));
    assert_eq!(strategy.reset_window.windows, [QuotaWindow::Monthly, QuotaWindow::Session]);
    assert_eq!((strategy.quota.floor_percent, strategy.quota.stale_after_ms), (2.5, 60_000));
    assert_eq!(strategy.auto.weights, Some(Weights::of([("cost_inv", 1.0), ("health", 2.0)])));
    assert!(config.hedging.gate && !config.hedging.enabled, "routing 1.5");
}

#[test]
fn what_asks_several_models_is_told_so() {
    let lines = "config = { judge_model = \"p/j\", fusion_tuning = { min_panel = 3, straggler_grace_ms = 1, panel_hard_timeout_ms = 2, max_panel = 4 }, handoff_threshold = 0.6, handoff_model = \"p/s\", handoff_providers = [\"p\"], max_messages_for_summary = 7 }";
    let strategy = &settings(&of(lines)).combos[0].config.strategy;
    let fusion = FusionSettings {
        judge: Some("p/j".into()),
        min_panel: 3,
        straggler_grace_ms: 1,
        panel_hard_timeout_ms: 2,
        max_panel: Some(4),
    };
    assert_eq!(strategy.fusion, fusion);
    let relay = RelaySettings {
        threshold: 0.6,
        model: Some("p/s".into()),
        providers: vec!["p".into()],
        max_messages: 7,
    };
    assert_eq!(strategy.relay, relay);
}

/// Routing 6.1h: it is ignored, and that is told.
#[test]
fn routing_6_1h_what_only_a_panel_has_is_a_warning_elsewhere() {
    let text = |strategy: &str| {
        let panel = "judge_model = \"p/j\", fusion_tuning = { min_panel = 3 }, handoff_threshold = 0.6";
        of(&format!("strategy = \"{strategy}\"\nconfig = {{ {panel} }}"))
    };
    let told = |strategy: &str| {
        let folder = Folder::with(&text(strategy));
        let loaded = load(&folder.config(), &lookup(&[]), &["fusion", "p2c"]).unwrap();
        let told = loaded.warnings.into_iter().filter(|warning| warning.key.contains(".config."));
        let mut told: Vec<_> = told.map(|warning| (warning.key, warning.problem)).collect();
        told.sort();
        told
    };
    let keys = ["combos[].config.fusion_tuning.min_panel", "combos[].config.judge_model"];
    let wanted = keys.map(|key| (key.to_owned(), "does nothing under `p2c`".to_owned()));
    assert_eq!((told("p2c"), told("fusion")), (wanted.to_vec(), vec![]));
}

#[test]
fn routing_8_2_the_sticky_limit_of_all_counts_where_it_is_set() {
    let limit = |settings: Settings| settings.combos[0].config.strategy.rotation.sticky_round_robin_limit;
    let all = "[settings]\nsticky_round_robin_limit = 5\n";
    assert_eq!(limit(settings(&of(""))), 1);
    assert_eq!(limit(settings(&format!("{all}{}", of("")))), 5);
    assert_eq!(limit(settings(&format!("{all}{}", of("config = { sticky_round_robin_limit = 0 }")))), 1);
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn routing_2_9_each_mistake_of_nesting_is_found_at_its_line() {
    let two = |one: &str, other: &str| {
        with(&format!(
            "[[combos]]\nname = \"a\"\ntargets = [{one}]\n[[combos]]\nname = \"b\"\ntargets = [{other}]\n"
        ))
    };
    let chain: String = (0..4)
        .map(|level| format!("[[combos]]\nname = \"r{level}\"\ntargets = [\"r{}\"]\n", level + 1))
        .collect();
    let deep = with(&format!("{chain}[[combos]]\nname = \"r4\"\ntargets = [\"p/a\"]\n"));
    let tiers = |text: &str| of(&format!("config = {{ composite_tiers = {text} }}"));
    let cases: &[(&str, usize, &str, &str)] = &[
        (&two("\"a\"", "\"p/x\""), 13, "combos[].targets[].model", "a -> a"),
        (&two("{ combo = \"b\" }", "\"a\""), 13, "combos[].targets[].combo", "a -> b -> a"),
        (&two("{ combo = \"b\" }", "\"a\""), 16, "combos[].targets[].model", "b -> a -> b"),
        (
            &two("{ combo = \"c\" }", "\"p/x\""),
            13,
            "combos[].targets[].combo",
            "does not exist, accepted: a, b",
        ),
        (
            &two("{ combo = \"b\", model = \"p/x\" }", "\"p/x\""),
            13,
            "combos[].targets[].combo",
            "one of the two",
        ),
        (&two("{ weight = 1 }", "\"p/x\""), 13, "combos[].targets[].model", "is missing"),
        (
            &two("{ model = \"p/x\", id = \"s\" }, { model = \"p/y\", id = \"s\" }", "\"p/x\""),
            13,
            "combos[].targets[].model",
            "has the id",
        ),
        (&deep, 12, "combos[].name", "4 deep; at most 3"),
        (
            &tiers("{ tiers = { t = { step_id = \"x\" } } }"),
            11,
            "combos[].config.composite_tiers.default_tier",
            "is missing",
        ),
        (
            &tiers("{ default_tier = \"u\", tiers = { t = { step_id = \"m-model-1-p-a\" } } }"),
            14,
            "combos[].config.composite_tiers.default_tier",
            "no tier \"u\"",
        ),
        (
            &tiers("{ default_tier = \"t\", tiers = { t = { step_id = \"x\" } } }"),
            14,
            "combos[].config.composite_tiers.tiers.*.step_id",
            "no step has the id",
        ),
        (
            &tiers(
                "{ default_tier = \"t\", tiers = { t = { step_id = \"m-model-1-p-a\", fallback_tier = \"u\" } } }",
            ),
            14,
            "combos[].config.composite_tiers.tiers.*.fallback_tier",
            "no tier \"u\"",
        ),
        (&of("models = [\"p/a\"]"), 13, "combos[].targets", "two spellings"),
        (&of("allowed_providers = [\"q\"]"), 14, "combos[].allowed_providers", "`q`, which does not exist"),
        (
            &of("config = { candidate_pool = [\"q\"] }"),
            14,
            "combos[].config.candidate_pool",
            "does not exist",
        ),
        (&of("shoes = \"x\""), 14, "combos[].shoes", "unknown key"),
        (&of("config = { shadow_routing = 1 }"), 14, "combos[].config.shadow_routing", "unknown key"),
        (&of("config = { weights = { luck = 1 } }"), 14, "combos[].config.weights.luck", "unknown key"),
    ];
    check(cases);
}

#[test]
fn mappings_and_aliases_lead_somewhere() {
    let mapping = |lines: &str| format!("{}[[model_combo_mappings]]\n{lines}\n", of(""));
    let text = mapping(
        "pattern = \"x-*\"\ncombo = \"m\"\n[[model_combo_mappings]]\npattern = \"x-\"\ncombo = \"m\"",
    );
    let ids: Vec<String> = settings(&text).mappings.into_iter().map(|mapping| mapping.id).collect();
    assert_eq!(ids, ["x", "x-2"]);
    let cases: &[(&str, usize, &str, &str)] = &[
        (&mapping("combo = \"m\""), 15, "model_combo_mappings[].pattern", "is missing"),
        (
            &mapping("pattern = \"x\"\ncombo = \"n\""),
            17,
            "model_combo_mappings[].combo",
            "does not exist, accepted: m",
        ),
        (
            &mapping(
                "id = \"x\"\npattern = \"x\"\ncombo = \"m\"\n[[model_combo_mappings]]\nid = \"x\"\npattern = \"y\"\ncombo = \"m\"",
            ),
            20,
            "model_combo_mappings[].id",
            "another mapping's id",
        ),
        (&format!("{}[aliases]\na = \"q/x\"", with("")), 11, "aliases", "a provider that does not exist"),
        (&format!("{}[aliases]\na = 1", with("")), 11, "aliases", "is wrong at a"),
        (&format!("{}[aliases]\na = \"a\"", with("")), 11, "aliases", "is wrong at a"),
        ("aliases = \"x\"", 1, "aliases", "a table of names"),
    ];
    check(cases);
    let aliases = settings(&format!(
        "{}[aliases]\na = \"p/x\"\n\"b*\" = {{ provider = \"p\", model = \"y\" }}\nc = \"bare\"",
        with("")
    ));
    let to: Vec<&str> = aliases.aliases.values().map(|alias| alias.to.as_str()).collect();
    assert_eq!(to, ["p/x", "p/y", "bare"]);
}

/// Routing 12.3: an alias is never followed to another one, and catalogues may change.
#[test]
fn an_alias_that_nobody_answers_to_is_a_warning() {
    let aliases =
        "[aliases]\na = \"p/a\"\nb = \"gone\"\nc = \"a\"\nd = \"p/gone\"\ne = \"listed\"\nf = \"m\"";
    let told = |models: &str| {
        let text = format!(
            "[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"http://h\"\n{models}\n\
             [[combos]]\nname = \"m\"\ntargets = [\"p/a\"]\n{aliases}"
        );
        let folder = Folder::with(&text);
        let loaded = load(&folder.config(), &lookup(&[]), &["priority"]).unwrap();
        let told = loaded.warnings.into_iter().filter(|warning| warning.key == "aliases");
        let mut told: Vec<String> = told.map(|warning| warning.problem).collect();
        told.sort();
        told
    };
    let gone = |name: &str, to: &str| format!("says that `{name}` leads to `{to}`, which nobody answers to");
    let alias = "says that `c` leads to `a`, which is an alias, too, and is not followed";
    // `a` is a model that is listed; an alias of that name is no matter.
    assert_eq!(told("models = [\"a\", \"listed\"]"), [gone("b", "gone"), gone("d", "p/gone")]);
    assert_eq!(told("# any model"), [gone("b", "gone"), alias.to_owned(), gone("e", "listed")]);
}

#[test]
fn routing_6_2_a_line_that_no_route_can_ask_is_a_warning() {
    let told = |strategy: &str, second: &str, targets: &str| {
        let provider = |id: &str, format: &str| {
            format!("[[providers]]\nid = \"{id}\"\nformat = {format}\nbase_url = \"http://h\"\n")
        };
        let text = format!(
            "{}{}[[combos]]\nname = \"m\"\nstrategy = \"{strategy}\"\ntargets = {targets}\n\
             [[combos]]\nname = \"either\"\ntargets = [\"p/x\", \"q/x\"]\n",
            provider("p", "\"openai\""),
            provider("q", second)
        );
        let folder = Folder::with(&text);
        let loaded = load(&folder.config(), &lookup(&[]), &["priority", "pipeline", "fusion"]).unwrap();
        loaded
            .warnings
            .iter()
            .map(|warning| format!("{}: {}", warning.key, warning.problem))
            .collect::<Vec<_>>()
    };
    let warning = "combos[].strategy: cannot be asked: its steps speak no dialect in common";
    let both = "[\"p/x\", \"q/x\"]";
    assert_eq!(told("pipeline", "\"anthropic\"", both), [warning]);
    assert_eq!(told("pipeline", "[\"anthropic\", \"openai\"]", both), [""; 0]);
    assert_eq!(told("priority", "\"anthropic\"", both), [""; 0]);
    assert_eq!(told("pipeline", "\"anthropic\"", "[{ combo = \"either\" }, \"q/x\"]"), [""; 0]);
    assert_eq!(told("pipeline", "\"anthropic\"", "[{ combo = \"either\" }, \"p/x\", \"q/y\"]"), [warning]);
}

/// Routing 6.1g, 2.6: a panel would be paid for what is known before.
#[test]
fn routing_6_1_a_judge_that_is_of_no_use_is_a_warning() {
    let told = |judge: &str, names: &str| {
        let provider = |id: &str, format: &str| {
            format!(
                "[[providers]]\nid = \"{id}\"\nformat = \"{format}\"\nbase_url = \"http://h\"\nmodels = [\"x\", \"y\"]\n"
            )
        };
        let text = format!(
            "{}{}[[combos]]\nname = \"m\"\nstrategy = \"fusion\"\ntargets = [\"p/x\", \"p/y\"]\n\
             config = {{ judge_model = \"{judge}\" }}\n{names}",
            provider("p", "openai"),
            provider("q", "anthropic"),
        );
        let folder = Folder::with(&text);
        let loaded = load(&folder.config(), &lookup(&[]), &["priority", "fusion"]).unwrap();
        let told = loaded.warnings.iter().filter(|warning| warning.key.contains("judge"));
        told.map(|warning| warning.problem.clone()).collect::<Vec<_>>()
    };
    let foreign = "cannot be asked: its targets and its judge speak no dialect in common";
    let back = "leads back to its combo: m -> m";
    let alias = |to: &str| format!("[aliases]\nbest = \"{to}\"\n");
    assert_eq!(told("q/x", ""), [foreign]);
    assert_eq!(told("best", &alias("q/x")), [foreign]);
    assert_eq!(told("best", &alias("p/x")), [""; 0]);
    assert_eq!(told("best", &alias("combo/m")), [back]);
    let mapping = "[[model_combo_mappings]]\nid = \"g\"\npattern = \"gpt-*\"\ncombo = \"m\"\n";
    assert_eq!(told("gpt-5", mapping), [back]);
    assert_eq!(told("gpt-5", &mapping.replace("combo =", "enabled = false\ncombo =")).len(), 1);
    assert_eq!(told("p/gone", ""), ["leads to `p/gone`, which nobody answers to"]);
    assert_eq!(told("p/x", ""), [""; 0]);
    assert_eq!(told("auto", ""), [""; 0]);
}

#[test]
fn models_say_what_they_can_do() {
    let text = "[[providers]]\nid = \"p\"\nformat = \"openai\"\nbase_url = \"http://h\"\nmodels = [\"a\", { id = \"b\", max_output = 9, capabilities = [\"tools\"] }, { id = \"c\", capabilities = [] }]";
    let provider = &settings(text).providers[0];
    assert_eq!(provider.max_benched_percent, 100);
    let half = text.replace("models =", "max_benched_percent = 50\nmodels =");
    assert_eq!(settings(&half).providers[0].max_benched_percent, 50);
    let [a, b, c] = &provider.models.as_ref().unwrap()[..] else { panic!("three models") };
    assert_eq!((a.abilities, a.max_output, b.max_output), (None, None, Some(9)));
    let can = |model: &switchtower::settings::Model| {
        let abilities = model.abilities.unwrap();
        (abilities.tools, abilities.vision, abilities.structured)
    };
    assert_eq!((can(b), can(c)), ((true, false, false), (false, false, false)));
    let (_, key, told) = only_finding(&text.replace("\"tools\"", "\"flight\""));
    assert_eq!(key, "providers[].models[].capabilities");
    assert!(told.contains("tools | vision | structured"), "{told}");
}

#[test]
fn routing_1_1_an_expression_that_cannot_be_read_is_a_finding() {
    let (_, key, told) = only_finding(&of("tool_filter_regex = \"read(\""));
    assert_eq!(key, "combos[].tool_filter_regex");
    assert!(
        told.starts_with("cannot be read: found open group without closing ')', accepted: a regular"),
        "{told}"
    );
    let lines = "tool_filter_regex = \"^read\"\nsystem_message = \"a\\nb\"\ncontext_length = 1000";
    let combo = &settings(&of(lines)).combos[0];
    assert_eq!(combo.tool_filter.as_deref(), Some("^read"));
    assert_eq!((combo.system_message.as_deref(), combo.context_length), (Some("a\nb"), Some(1_000)));
}
