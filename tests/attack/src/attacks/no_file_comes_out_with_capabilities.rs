//! File capabilities are setuid by another name. The control is the root of a user namespace.

use crate::answer::{Answer, DENIED};
use crate::attack::{Attack, Control};
use crate::field::Field;

pub(crate) const ATTACK: Attack = Attack {
    id: "T024b",
    name: "no_file_comes_out_with_capabilities",
    holds: "no file in the workspace can get capabilities",
    bait: |stage| {
        stage.file("ws/program", "x")?;
        Ok(())
    },
    control: Control::NamespaceRoot,
    attempt: |field: &Field| {
        // Revision 2, effective, every capability permitted.
        let value = [1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0];
        let set = polder_sys::attempt::set_attribute(&field.workspace("program"), c"security.capability", &value);
        Answer::of("setxattr security.capability", set, DENIED)
    },
    ..Attack::PLAIN
};
