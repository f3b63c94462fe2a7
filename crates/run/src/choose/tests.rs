use super::*;
use polder_engine::{EngineClass, Fit, LaunchError, Running, Services, Verdict};
use polder_facts::{CacheFacts, Entry, Gap, Guarantee, OtherNames, SystemPath, TreeFacts, UserFacts};
use polder_plan::compile_in;
use polder_policy::built_in;
use std::collections::BTreeMap;

/// What a made-up engine says when it is asked.
#[derive(Clone, Copy)]
enum Answer {
    Keeps,
    Cannot(&'static [Guarantee]),
    NotHere,
}

struct MadeUp(&'static str, World, Answer);

impl Engine for MadeUp {
    fn id(&self) -> &'static str {
        self.0
    }

    fn class(&self) -> EngineClass {
        EngineClass::Namespace
    }

    fn world(&self) -> World {
        self.1
    }

    fn probe(&self, _: &HostFacts) -> Availability {
        match self.2 {
            Answer::NotHere => {
                Availability::Unavailable { reason: "it is not there".to_owned(), remedy: "get it".to_owned() }
            }
            Answer::Keeps | Answer::Cannot(_) => Availability::Available { detail: String::new() },
        }
    }

    fn fit(&self, _: &Plan, _: &HostFacts) -> Fit {
        let missing = if let Answer::Cannot(missing) = self.2 { missing } else { &[] };
        let verdict = |guarantee: Guarantee| {
            let gap = Gap { reason: format!("no {guarantee} here"), remedy: None };
            let kept = !missing.contains(&guarantee);
            if kept { Verdict::Enforced { by: "a wall".to_owned() } } else { Verdict::Cannot { gap } }
        };
        let verdicts = Guarantee::ALL.into_iter().map(|guarantee| (guarantee, verdict(guarantee))).collect();
        Fit { engine: self.0, class: self.class(), verdicts, impossible: Vec::new() }
    }

    fn launch(&self, _: Fitted, _: Services<'_>) -> Result<Box<dyn Running>, LaunchError> {
        unreachable!("nothing is started")
    }
}

fn host() -> Arc<HostFacts> {
    let (uid, gid) = (1000, 1000);
    let user = UserFacts { uid, gid, name: "u".to_owned(), inside_uid: uid, inside_gid: gid, home: "/home/u".into() };
    Arc::new(HostFacts {
        mechanisms: BTreeMap::new(),
        landlock_abi: 0,
        memory_bytes: Some(16 << 30),
        cgroup: None,
        user,
        system: vec![SystemPath { path: "/usr".into(), entry: Entry::Directory }],
        tree: TreeFacts {
            root: "/srv/project".into(),
            start: "/srv/project".into(),
            worktree: None,
            enclosing: None,
            entries: BTreeMap::new(),
            matches: BTreeMap::new(),
            mounts: Vec::new(),
            other_names: OtherNames::none(),
            captured: None,
            submodules: Vec::new(),
            git: polder_facts::git::GitFacts::default(),
            sources: BTreeMap::new(),
        },
        caches: CacheFacts::unasked(),
        git_identity: polder_facts::git::GitIdentity::unknown(),
        environment: BTreeMap::new(),
    })
}

fn among(engines: &[(&'static str, Answer)]) -> Result<Chosen, Unfit> {
    let made = |&(id, answer): &(&'static str, Answer)| Box::new(MadeUp(id, World::Made, answer)) as Box<dyn Engine>;
    let host = host();
    let plan_in = |world| compile_in(world, &built_in(), &host, &["true".into()]);
    choose_among(engines.iter().map(made).collect(), AUTO, &host, plan_in).expect("a plan").1
}

#[test]
fn the_first_that_fits_is_taken_without_a_word() {
    let chosen = among(&[("a", Answer::Keeps), ("b", Answer::Keeps)]).expect("one fits");
    assert_eq!((chosen.engine.id(), chosen.reason.as_str()), ("a", AUTO));
    assert!(chosen.passed_over.is_empty());
}

#[test]
fn who_was_passed_over_is_told_with_the_reason() {
    let engines = [
        ("a", Answer::Cannot(&[Guarantee::Fs, Guarantee::Net])),
        ("b", Answer::NotHere),
        ("c", Answer::Keeps),
        ("d", Answer::Keeps),
    ];
    let chosen = among(&engines).expect("one fits");
    assert_eq!(chosen.engine.id(), "c");
    let told: Vec<String> = chosen.passed_over.iter().map(Unfit::in_short).collect();
    let expected =
        ["`a` cannot enforce this policy: fs: no fs here, and 1 more", "`b` does not work here: it is not there"];
    assert_eq!(told, expected);
    assert_eq!(chosen.reason, format!("{AUTO}; {}; {}", expected[0], expected[1]));
}

#[test]
fn where_none_fits_every_reason_is_told() {
    let engines = [("a", Answer::Cannot(&[Guarantee::Ipc])), ("b", Answer::NotHere)];
    let Err(Unfit::NoneLeft(reasons)) = among(&engines) else { panic!("none fits") };
    assert_eq!(reasons.len(), 2);
    let Err(Unfit::Refused(refused)) = among(&engines[..1]) else { panic!("it does not fit") };
    assert_eq!(refused.engine, "a");
}

#[test]
fn a_plan_is_made_for_the_world_of_the_engine_that_is_taken() {
    let host = host();
    let engines: Vec<Box<dyn Engine>> =
        vec![Box::new(MadeUp("a", World::Made, Answer::NotHere)), Box::new(MadeUp("b", World::Ruled, Answer::Keeps))];
    let plan_in = |world| compile_in(world, &built_in(), &host, &["true".into()]);
    let (plan, chosen) = choose_among(engines, AUTO, &host, plan_in).expect("a plan");
    assert_eq!((plan.world, chosen.is_ok()), (World::Ruled, true));
}
