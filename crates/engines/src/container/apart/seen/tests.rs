use super::*;

const STATUS: &str =
    "Name:\tpolder\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nCapInh:\t0000000000000000\nCapEff:\t0000000000000000\n";
const LINKS: &str = "Inter-| Receive\n face |bytes\n    lo:       0       0\n";
const MOUNTS: &str = "8 8 0:8 / / ro  - 9p none ro,trans=fd\n\
                      11 8 0:10 / /tmp rw,noexec  - tmpfs none rw,size=1m\n\
                      17 8 0:16 / /work\\040space rw  - 9p none rw\n\
                      22 17 0:21 / /work\\040space/secret ro  - 9p none ro\n";
const FILE: FileSeen = FileSeen { mode: 0o40755, size: 4096, changed: (5, 6), modified: (3, 4) };

fn seen() -> Seen {
    Seen {
        release: "4.4.0".to_owned(),
        version: "#1 SMP".to_owned(),
        status: STATUS.to_owned(),
        mounts: MOUNTS.to_owned(),
        links: LINKS.to_owned(),
        files: vec![Some(FILE)],
    }
}

fn judged(seen: &Seen) -> Result<(), Doubt> {
    let mounted = |at: &str, read_only, from| Mounted { at: at.into(), read_only, from };
    let mounts = [
        mounted("/tmp", false, From::Memory { mode: 0o1777 }),
        mounted("/work space", false, From::Users("/home/u".into())),
        mounted("/work space/secret", true, From::Hidden { directory: false }),
    ];
    let held = [(Path::new("/work space"), FILE)];
    let expected =
        Expected { kernel: ("6.1.0", "#1 SMP"), runtime: "runsc", ids: (7, 8), mounts: &mounts, held: &held };
    judge(seen, &expected)
}

#[test]
fn what_was_asked_for_is_taken() {
    assert_eq!(judged(&seen()), Ok(()));
}

#[test]
fn the_hosts_own_kernel_is_not_another_one() {
    let same = Seen { release: "6.1.0".to_owned(), ..seen() };
    assert_eq!(judged(&same), Err(Doubt::SameKernel("runsc".to_owned())));
}

#[test]
fn a_right_a_link_or_another_user_ends_the_launch() {
    let with = |from: &str, to: &str| judged(&Seen { status: STATUS.replace(from, to), ..seen() });
    assert!(matches!(with("CapEff:\t0000000000000000", "CapEff:\t0000000000000001"), Err(Doubt::Right(_))));
    assert!(matches!(with("CapEff", "Other"), Err(Doubt::Right(_))), "nothing said is nothing shown");
    assert!(matches!(with("Uid:\t7\t7", "Uid:\t7\t0"), Err(Doubt::Right(_))));
    assert!(matches!(with("Gid", "Other"), Err(Doubt::Right(_))));
    let linked = Seen { links: format!("{LINKS}  eth0:  1\n"), ..seen() };
    assert_eq!(judged(&linked), Err(Doubt::Link("eth0".to_owned())));
}

#[test]
fn a_mount_that_is_elsewhere_or_can_be_written_ends_the_launch() {
    let with = |from: &str, to: &str| judged(&Seen { mounts: MOUNTS.replace(from, to), ..seen() });
    let secret = Err(Doubt::Mount("/work space/secret".into()));
    // Somebody made a link of a directory on the way, and the mask lies where that leads.
    assert_eq!(with("/work\\040space/secret", "/elsewhere/secret"), secret);
    assert_eq!(with("/secret ro", "/secret rw"), secret);
    assert_eq!(with("/ / ro", "/ / rw"), Err(Doubt::Mount("/".into())));
    assert_eq!(with("tmpfs", "9p"), Err(Doubt::Mount("/tmp".into())), "memory, and not somebody's directory");
    let again = format!("{MOUNTS}23 17 0:22 / /work\\040space/secret rw - 9p none rw\n");
    assert_eq!(judged(&Seen { mounts: again, ..seen() }), secret, "what came last is what is there");
}

#[test]
fn another_file_at_the_place_ends_the_launch() {
    let other = Some(FileSeen { changed: (5, 7), ..FILE });
    for files in [vec![other], vec![None], Vec::new()] {
        assert_eq!(judged(&Seen { files, ..seen() }), Err(Doubt::File("/work space".into())));
    }
}
