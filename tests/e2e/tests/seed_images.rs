//! The examples that name an image, unchanged, with an image of that name that was made here.

use polder_e2e::{Daemon, Place, Said, daemons, image, with_daemons};
use std::process::ExitCode;

/// The name in the examples.
const NAME: &str = "node:20-alpine";
/// One that nobody else uses.
const OWN: &str = "polder-test/own-path:local";

fn main() -> ExitCode {
    with_daemons(&[
        ("the_examples_with_an_image_run_unchanged", the_examples_with_an_image_run_unchanged),
        ("b15_an_image_keeps_its_own_path", b15_an_image_keeps_its_own_path),
    ])
}

/// An example, with `eslint` in the workspace; `npm` is in the image alone.
fn place(text: &str) -> Place {
    let place = Place::new();
    place.write("work/.visor.yaml", text);
    place.write("work/bin/eslint", "#!/bin/sh\necho eslint \"$@\" in $PWD\n");
    assert_eq!(place.sh("chmod 755 bin/eslint").code, 0);
    place
}

/// An image of that name in this daemon, with an `npm` that says that it was called. Gone with this value.
struct Image<'a>(&'a Daemon, &'static str);

impl<'a> Image<'a> {
    fn made(daemon: &'a Daemon, name: &'static str) -> Self {
        let place = Place::new();
        place.write("work/Dockerfile", format!("FROM {}\nCOPY npm /bin/npm\nENV PATH=/opt/own:/bin\n", image()));
        place.write("work/npm", "#!/bin/sh\necho npm \"$@\" in $PWD of the image\n");
        assert_eq!(place.sh("chmod 755 npm").code, 0);
        // Nothing behind its end: a daemon that has read so far closes the connection.
        let packed = place.command("tar").args(["-c", "-b", "1", "Dockerfile", "npm"]).output().expect("tar");
        assert!(packed.status.success(), "{packed:?}");
        daemon.make_image(name, &packed.stdout);
        Self(daemon, name)
    }
}

impl Drop for Image<'_> {
    fn drop(&mut self) {
        self.0.forget_image(self.1);
    }
}

fn steps(daemon: &Daemon, place: &Place, names: &[&str]) -> Said {
    let mut all = vec!["steps", "--env", "PATH=/workspace/bin:/usr/bin:/bin"];
    all.extend(names);
    daemon.says(place, &all)
}

fn the_examples_with_an_image_run_unchanged() {
    // An example with an image and without an engine means this one.
    for daemon in daemons().iter().filter(|daemon| daemon.engine == "docker") {
        let three = include_str!("seeds/three-engines.yaml");
        let _image = Image::made(daemon, NAME);
        let checks = include_str!("seeds/checks.yaml");
        // Where this example has a path in the workspace, which stays by itself, as `seeds.rs` shows, it gets another one.
        let full = include_str!("seeds/fast-and-full.yaml").replace("[node_modules]", "[/var/cache/npm]");
        for (text, build) in [(three, "build"), (checks, "heavy-build"), (&full, "build")] {
            let place = place(text);
            let said = steps(daemon, &place, &["lint", build]);
            let wanted = "eslint src/ in /workspace\nnpm run build in /workspace of the image\n";
            assert_eq!((said.code, said.out.as_str()), (0, wanted), "{said:?}");
            assert!(
                said.err.contains("lint (bubblewrap)") && said.err.contains(&format!("{build} (docker)")),
                "{said:?}"
            );
        }
    }
}

/// Where programs are is the image's to say, not the caller's.
fn b15_an_image_keeps_its_own_path() {
    for daemon in daemons().iter().filter(|daemon| daemon.engine == "docker") {
        let _image = Image::made(daemon, OWN);
        let place = place(&format!(
            "sandboxes: {{s: {{image: '{OWN}'}}}}\nsandbox: s\nsteps: {{a: {{type: command, exec: 'echo $PATH'}}}}\n"
        ));
        let said = daemon.says(&place, &["steps"]);
        assert_eq!((said.code, said.out.as_str()), (0, "/opt/own:/bin\n"), "{said:?}");
    }
}
