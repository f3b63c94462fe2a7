//! Without network there is a loopback and nothing else.

use crate::answer::Answer;
use crate::attack::Attack;

pub(crate) const ATTACK: Attack = Attack {
    id: "T054b",
    name: "no_interface_leads_out",
    holds: "without network the only interface is a loopback, and no address outside can be reached",
    attempt: |_| {
        let text = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
        let names: Vec<&str> = text.lines().skip(2).filter_map(|line| line.split(':').next()).map(str::trim).collect();
        match names.as_slice() {
            [] => Answer::Broken("no interfaces at all".to_owned()),
            ["lo"] => match std::net::UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.connect("192.0.2.1:53")) {
                Ok(()) => Answer::Reached("there is a route to 192.0.2.1".to_owned()),
                Err(error) => Answer::of_error("route", &error, &[libc::ENETUNREACH]),
            },
            more => Answer::Reached(format!("interfaces {more:?}")),
        }
    },
    ..Attack::PLAIN
};
