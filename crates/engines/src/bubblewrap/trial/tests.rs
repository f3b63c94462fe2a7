use super::*;

#[test]
fn versions_are_read() {
    assert_eq!(Version::parse("bubblewrap 0.8.0\n"), Some(Version(0, 8, 0)));
    assert_eq!(Version::parse("bubblewrap 0.12.1-rc2\nmore\n"), Some(Version(0, 12, 1)));
    assert_eq!(Version::parse("bubblewrap 1.0"), Some(Version(1, 0, 0)));
    assert!(Version(0, 12, 0) > Version(0, 5, 1) && Version(0, 4, 1) < OLDEST);
}

#[test]
fn what_is_no_version_is_none() {
    for text in [
        "",
        "\n",
        "0.8.0",
        "bubblewrap",
        "bubblewrap x.y.z",
        "bubblewrap 8",
        "bubblewrap -1.0",
        "bash 5.2.0",
        "bubblewrap 0.8.0 extra",
    ] {
        assert_eq!(Version::parse(text), None, "{text:?}");
    }
}

#[test]
fn every_distribution_gets_its_line() {
    let cases = [
        ("ID=debian\nVERSION_ID=\"12\"\n", "sudo apt install bubblewrap"),
        ("NAME=x\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", "sudo apt install bubblewrap"),
        ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n", "sudo dnf install bubblewrap"),
        ("ID=fedora\n", "sudo dnf install bubblewrap"),
        ("ID=manjaro\nID_LIKE=arch\n", "sudo pacman -S bubblewrap"),
        ("ID=alpine\n", "sudo apk add bubblewrap"),
        ("ID='opensuse-leap'\nID_LIKE='suse opensuse'\n", "sudo zypper install bubblewrap"),
    ];
    for (os_release, line) in cases {
        assert_eq!(install_line_for(os_release), line, "{os_release}");
    }
    let unknown = install_line_for("ID=plan9\n");
    assert!(["apt", "dnf", "pacman", "apk"].iter().all(|tool| unknown.contains(tool)), "{unknown}");
}
