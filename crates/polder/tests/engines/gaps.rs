//! `accept` and `require` mean the same for every engine: what is not kept stops the run, unless it is accepted by
//! name, and what is required cannot be accepted away.

use crate::machine::{Caller, broken, whole};
use polder::{Engine, EngineClass, Fit, Gap, Guarantee, HostFacts, Origin, Plan, Refused, Verdict, reference};
use polder_facts::Sourced;
use polder_policy::EngineChoice;
use std::sync::Arc;

fn said<T>(value: T) -> Sourced<T> {
    Sourced::new(value, Origin::Flag("--test".to_owned()))
}

/// The reference plan, asked of this engine by name, with these guarantees accepted and required.
fn plan(engine: &dyn Engine, host: &HostFacts, accept: &[Guarantee], require: &[Guarantee]) -> Arc<Plan> {
    let mut plan = reference(engine.world(), host);
    plan.engine = said(EngineChoice::Named(engine.id().to_owned()));
    plan.accept = accept.iter().copied().map(said).collect();
    plan.require = require.iter().copied().map(said).collect();
    if enforces_nothing(engine) {
        plan.unsandboxed_permitted = Some(Origin::Flag("--test".to_owned()));
    }
    Arc::new(plan)
}

fn enforces_nothing(engine: &dyn Engine) -> bool {
    engine.class() == EngineClass::None
}

fn is_kept(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Enforced { .. })
}

/// What the judgement of a fit refuses by name, and what it goes without.
fn judged(fit: Fit, plan: &Arc<Plan>, host: &HostFacts) -> Result<Vec<Guarantee>, Refused> {
    let fitted = fit.require(plan, &Arc::new(host.clone()))?;
    Ok(fitted.accepted().iter().map(|accepted| accepted.guarantee).collect())
}

fn refuses(refused: &Refused, guarantee: Guarantee, acceptable: bool) -> bool {
    refused.refusals.iter().any(|refusal| refusal.guarantee == Some(guarantee) && refusal.acceptable == acceptable)
}

/// Every answer that engines give: of a machine on which everything works, and of one on which nothing does.
fn every_fit(check: impl Fn(&dyn Engine, &HostFacts, Fit)) {
    for engine in polder::engines() {
        for host in [Caller::User, Caller::Root].into_iter().flat_map(|caller| [whole(caller), broken(caller)]) {
            let fit = engine.fit_at_home(&plan(engine.as_ref(), &host, &[], &[]), &host);
            check(engine.as_ref(), &host, fit);
        }
    }
}

/// The same answer, with one guarantee kept or not and the others kept.
fn altered(fit: &Fit, guarantee: Guarantee, verdict: Verdict) -> Fit {
    let mut fit = fit.clone();
    fit.impossible.clear();
    fit.verdicts = Guarantee::ALL
        .into_iter()
        .map(|other| (other, Verdict::Enforced { by: "a wall".to_owned() }))
        .chain([(guarantee, verdict)])
        .collect();
    fit
}

#[test]
fn each_guarantee_that_is_not_kept_refuses_unless_it_is_accepted() {
    let gap = || Gap { reason: "a hole".to_owned(), remedy: None };
    every_fit(|engine, host, fit| {
        for guarantee in Guarantee::ALL {
            for hole in [Verdict::Cannot { gap: gap() }, Verdict::Weaker { by: "half a wall".to_owned(), gap: gap() }] {
                let fit = altered(&fit, guarantee, hole);
                let told = format!("{} {guarantee}", engine.id());
                let silent = judged(fit.clone(), &plan(engine, host, &[], &[]), host);
                match silent {
                    // Who permits running without a sandbox accepts what is missing.
                    Ok(accepted) => assert!(enforces_nothing(engine) && accepted == [guarantee], "{told}"),
                    Err(refused) => assert!(!enforces_nothing(engine) && refuses(&refused, guarantee, true), "{told}"),
                }
                let others: Vec<Guarantee> = Guarantee::ALL.into_iter().filter(|other| *other != guarantee).collect();
                if !enforces_nothing(engine) {
                    let wrong = judged(fit.clone(), &plan(engine, host, &others, &[]), host);
                    assert!(wrong.is_err_and(|refused| refuses(&refused, guarantee, true)), "{told}: another accepted");
                }
                let accepted = judged(fit.clone(), &plan(engine, host, &[guarantee], &[]), host);
                assert_eq!(accepted, Ok(vec![guarantee]), "{told}");
                for accept in [&[][..], &[guarantee]] {
                    let required = judged(fit.clone(), &plan(engine, host, accept, &[guarantee]), host);
                    assert!(required.is_err_and(|refused| refuses(&refused, guarantee, false)), "{told}: required");
                }
                assert_eq!(
                    judged(fit, &plan(engine, host, &[guarantee], &others), host),
                    Ok(vec![guarantee]),
                    "{told}"
                );
            }
        }
    });
}

#[test]
fn what_engines_really_say_is_judged_the_same_way() {
    every_fit(|engine, host, fit| {
        let told = engine.id();
        let open: Vec<Guarantee> =
            fit.verdicts.iter().filter(|(_, verdict)| !is_kept(verdict)).map(|(guarantee, _)| *guarantee).collect();
        let all = judged(fit.clone(), &plan(engine, host, &Guarantee::ALL, &[]), host);
        if !fit.impossible.is_empty() {
            let refused = all.expect_err("nothing makes the impossible possible");
            assert!(
                refused.refusals.iter().any(|refusal| refusal.guarantee.is_none() && !refusal.acceptable),
                "{told}"
            );
            return;
        }
        assert_eq!(all.as_deref(), Ok(&open[..]), "{told}: accepting all is accepting what is open");
        if !enforces_nothing(engine) {
            let silent = judged(fit.clone(), &plan(engine, host, &[], &[]), host);
            match silent {
                Ok(_) => assert!(open.is_empty(), "{told}"),
                Err(refused) => {
                    let named: Vec<Guarantee> =
                        refused.refusals.iter().filter_map(|refusal| refusal.guarantee).collect();
                    assert_eq!(named, open, "{told}: every reason at once");
                }
            }
        }
        for (guarantee, verdict) in &fit.verdicts {
            let required = judged(fit.clone(), &plan(engine, host, &Guarantee::ALL, &[*guarantee]), host);
            assert_eq!(required.is_ok(), is_kept(verdict), "{told} {guarantee}: required");
        }
    });
}

#[test]
fn every_engine_speaks_of_every_guarantee_or_of_none() {
    every_fit(|engine, _, fit| {
        let told = engine.id();
        assert!(fit.verdicts.is_empty() || fit.verdicts.len() == Guarantee::ALL.len(), "{told}: {:?}", fit.verdicts);
        assert!(!fit.verdicts.is_empty() || !fit.impossible.is_empty(), "{told} says nothing at all");
        assert_eq!((fit.engine, fit.class), (told, engine.class()));
    });
}

#[test]
fn no_name_means_two_engines() {
    let engines = polder::engines();
    let mut names: Vec<&str> =
        engines.iter().flat_map(|engine| engine.aliases().iter().copied().chain([engine.id()])).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
