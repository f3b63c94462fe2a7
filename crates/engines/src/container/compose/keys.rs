//! The words of a compose file: those that are understood, and those that are refused for a reason of their own.

/// The keys of a whole file.
pub(super) const FILE: [&str; 5] = ["version", "name", "services", "volumes", "networks"];

/// The keys of a service.
pub(super) const SERVICE: [&str; 19] = [
    "image",
    "command",
    "entrypoint",
    "environment",
    "user",
    "working_dir",
    "depends_on",
    "healthcheck",
    "expose",
    "tmpfs",
    "read_only",
    "mem_limit",
    "cpus",
    "pids_limit",
    "stop_grace_period",
    "networks",
    "volumes",
    "restart",
    "init",
];

/// Keys that the command's own service cannot have, because the sandbox says it, and who says it instead.
pub(super) const NOT_FOR_THE_COMMAND: [(&str, &str); 7] = [
    ("user", "the command is whom the sandbox says"),
    ("working_dir", "`workdir` of the sandbox says where the command starts"),
    ("volumes", "`bind_paths` and `cache` of the sandbox say what the command sees"),
    ("tmpfs", "the command has `/tmp` and a home of its own"),
    ("mem_limit", "`limits` of the sandbox bound the command"),
    ("cpus", "`limits` of the sandbox bound the command"),
    ("pids_limit", "`limits` of the sandbox bound the command"),
];

const HOST: &str = "it would give the service a part of the host";
const RIGHTS: &str = "it would give the service more rights than it has without";
const FILES: &str = "it would bring another file in, which nobody has judged";
const NETWORK: &str = "services share the command's network, which is a loopback and nothing else";
const OURS: &str = "polder says this itself";

/// Keys that compose knows and polder refuses, with the reason.
const REFUSED: [(&str, &str); 63] = [
    ("privileged", RIGHTS),
    ("cap_add", RIGHTS),
    ("cap_drop", "no service has a capability to drop"),
    ("security_opt", RIGHTS),
    ("credential_spec", RIGHTS),
    ("group_add", RIGHTS),
    ("userns_mode", RIGHTS),
    ("use_api_socket", "nobody inside gets the daemon's socket"),
    ("devices", HOST),
    ("device_cgroup_rules", HOST),
    ("gpus", HOST),
    ("cgroup", HOST),
    ("cgroup_parent", HOST),
    ("pid", HOST),
    ("ipc", HOST),
    ("uts", HOST),
    ("isolation", HOST),
    ("runtime", "the sandbox's `options` say it"),
    ("sysctls", HOST),
    ("ulimits", HOST),
    ("oom_kill_disable", HOST),
    ("oom_score_adj", HOST),
    ("shm_size", "it would take memory that nobody counts"),
    ("storage_opt", HOST),
    ("blkio_config", HOST),
    ("volumes_from", HOST),
    ("volume_driver", HOST),
    ("extends", FILES),
    ("include", FILES),
    ("env_file", "write the variables under `environment`"),
    ("label_file", FILES),
    ("secrets", FILES),
    ("configs", FILES),
    ("develop", FILES),
    ("build", "services are made of images that are there; name one with `image`"),
    ("network_mode", NETWORK),
    ("ports", NETWORK),
    ("links", NETWORK),
    ("external_links", NETWORK),
    ("extra_hosts", NETWORK),
    ("dns", NETWORK),
    ("dns_opt", NETWORK),
    ("dns_search", NETWORK),
    ("mac_address", NETWORK),
    ("hostname", NETWORK),
    ("domainname", NETWORK),
    ("container_name", OURS),
    ("labels", OURS),
    ("annotations", OURS),
    ("logging", OURS),
    ("attach", OURS),
    ("pull_policy", "the sandbox's `options` say it"),
    ("platform", "images are of this machine's kind"),
    ("profiles", "what the command's service depends on is started, and nothing else"),
    ("deploy", "use `mem_limit`, `cpus` and `pids_limit`"),
    ("scale", "there is one of each service"),
    ("stdin_open", "a service has no input"),
    ("tty", "a service has no terminal"),
    ("stop_signal", "services are ended at once; everything they have goes with the run"),
    ("post_start", "it is not in this build"),
    ("pre_stop", "it is not in this build"),
    ("provider", "it would start a program of the host's"),
    ("models", "it is not in this build"),
];

/// Why a key is refused that compose knows.
pub(super) fn refused(key: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(name, _)| *name == key).map(|(_, why)| *why)
}
