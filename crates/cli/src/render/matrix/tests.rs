use super::*;
use expect_test::expect;
use polder::{About, Availability, EngineClass, Fit, Gap};

fn engine(id: &'static str, works: bool, verdict: fn(Guarantee) -> Verdict) -> Surveyed {
    let availability = if works {
        Availability::Available { detail: "it is there".to_owned() }
    } else {
        Availability::Unavailable { reason: "it is not there".to_owned(), remedy: "get it".to_owned() }
    };
    let verdicts = Guarantee::ALL.into_iter().map(|guarantee| (guarantee, verdict(guarantee))).collect();
    let class = EngineClass::Namespace;
    let fit = Fit { engine: id, class, verdicts, impossible: Vec::new() };
    Surveyed { id, aliases: &[], class, about: About::UNTOLD, availability, fit }
}

fn mixed(guarantee: Guarantee) -> Verdict {
    let gap = |reason: &str, remedy: Option<&str>| Gap { reason: reason.to_owned(), remedy: remedy.map(str::to_owned) };
    match guarantee {
        Guarantee::Memory => Verdict::Weaker {
            by: "a bound for each process".to_owned(),
            gap: gap("all of them together are not bounded", Some("a cgroup that can be written")),
        },
        Guarantee::Cpus | Guarantee::Disk => Verdict::Cannot { gap: gap("nothing here counts it", None) },
        _ => Verdict::Enforced { by: "a wall".to_owned() },
    }
}

#[test]
fn a_table_with_a_legend_and_the_reasons() {
    let engines = [engine("first", true, mixed), engine("second-long", false, mixed)];
    expect![[r#"
        KEEPS       fs   prot 2nd  net  ipc  procs privs calls env  mem  cpus pids files disk out  time
        first       yes  yes  yes  yes  yes  yes   yes   yes   yes  weak no   yes  yes   no   yes  yes
        second-long -    -    -    -    -    -     -     -     -    -    -    -    -     -    -    -
        yes enforced, weak in part, no not at all, - the engine does not work here
        prot protect, 2nd second-layer, procs processes, privs privileges, calls syscalls, mem memory, out
        output, time timeout

        NOT KEPT IN FULL
        first: memory: weak, a bound for each process, but all of them together are not bounded; remedy: a
          cgroup that can be written
        first: cpus, disk: no, nothing here counts it"#]]
    .assert_eq(&lines(&engines, Paint::Plain).join("\n"));
}

#[test]
fn colours_change_nothing_but_the_colours() {
    let engines = [engine("first", true, mixed), engine("second", false, mixed)];
    let plain = lines(&engines, Paint::Plain);
    let painted = lines(&engines, Paint::Colour);
    assert_ne!(plain, painted);
    let bare = |line: &String| {
        let parts = line.split('\u{1b}').enumerate().map(|(index, part)| match (index, part.split_once('m')) {
            (0, _) | (_, None) => part,
            (_, Some((_, rest))) => rest,
        });
        parts.collect::<String>().trim_end().to_owned()
    };
    assert_eq!(painted.iter().map(bare).collect::<Vec<_>>(), plain);
}

#[test]
fn every_engine_fits_the_width() {
    for line in lines(&[engine("kept-by-a-x", true, mixed)], Paint::Plain) {
        assert!(line.chars().count() <= COLUMNS_MAX, "{line}");
    }
    assert!(polder::engines().iter().all(|engine| engine.id().len() < ENGINE_COLUMNS));
}
