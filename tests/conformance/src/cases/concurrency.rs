//! Many at once.

use crate::scene::Scene;
use polder::Guarantee;

pub(super) fn twenty_runs_in_one_workspace_do_not_disturb_each_other(scene: &Scene) {
    scene.control(&scene.work(), "git init -q .");
    // The same name for all of them, where each has a file system of its own.
    let private = !scene.accepted().contains(&Guarantee::Fs);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..20)
            .map(|number| {
                scope.spawn(move || {
                    let sandbox = scene.sandbox().timeout("60s");
                    let place = if private { "/tmp/x".to_owned() } else { format!("x-{number}") };
                    let script = format!(
                        "echo {number} >{place}; echo {number} >own-{number}; sleep 0.1; cat {place}; exit {number}"
                    );
                    (number, scene.sh(&sandbox, &script))
                })
            })
            .collect();
        for run in runs {
            let (number, finished) = run.join().expect("a run");
            assert_eq!(finished.outcome.exit_code(), number, "{}", crate::scene::told(&finished));
            assert_eq!(String::from_utf8_lossy(&finished.stdout), format!("{number}\n"));
            assert_eq!(scene.read(format!("work/own-{number}")), format!("{number}\n"));
        }
    });
}
