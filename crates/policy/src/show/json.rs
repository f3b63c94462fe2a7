//! The effective policy as JSON, with the same names as the configuration.

use super::{engine_word, limit_rows};
use crate::model::{Access, GitIdentityUse, Image, Policy, Project, Workdir};
use polder_facts::Sourced;
use serde_json::{Map, Value, json};

/// The policy as JSON: every value as `{"value": …, "origin": …}`.
pub fn to_json(policy: &Policy) -> Value {
    let Policy {
        name,
        engine,
        network,
        access,
        workdir,
        workspace,
        observe,
        scope,
        profiles,
        path,
        git_identity,
        env,
        binds,
        limits,
        protect,
        deny_read,
        unprotect,
        credentials,
        cache,
        untrusted,
        service,
        beside,
        image,
        visor_path,
        require,
        accept,
        allow_unsandboxed,
        engine_options,
    } = policy;
    let limits: Map<String, Value> = limit_rows(limits)
        .into_iter()
        .map(|(key, value, origin)| (key.to_owned(), json!({ "value": value, "origin": origin.to_string() })))
        .collect();
    let options: Map<String, Value> =
        engine_options.iter().map(|(engine, table)| (engine.clone(), one(table, Clone::clone))).collect();
    json!({
        "name": name,
        "engine": one(engine, |engine| engine_word(engine).into()),
        "network": one(network, |network| json!({
            "mode": network.mode.name(),
            "allow": many(&network.allow, |peer| peer.as_str().into()),
            "deny": many(&network.deny, |peer| peer.as_str().into()),
        })),
        "read_only": one(access, |access| (*access == Access::ReadOnly).into()),
        "observe": one(observe, |observe| observe.name().into()),
        "scope": one(scope, |scope| scope.name().into()),
        "profiles": many(profiles, |name| name.as_str().into()),
        "path": many(path, |path| path.to_string_lossy().into()),
        "git_identity": one(git_identity, |identity| (*identity == GitIdentityUse::Given).into()),
        "workdir": one(workdir, |workdir| match workdir {
            Workdir::Host => "host".into(),
            Workdir::At(path) => path.to_string().into(),
        }),
        "workspace": one(workspace, |workspace| json!({
            "mode": workspace.mode.name(),
            "name": workspace.name,
            "projects": projects(&workspace.projects),
            "main_project_name": workspace.main_project_name,
            "from": workspace.from,
            "keep": workspace.keep,
        })),
        "env_passthrough": many(&env.pass, |pattern| json!({ "glob": pattern.glob, "negated": pattern.negated })),
        "env": many(&env.set, |(name, value)| json!({ "name": name, "value": value })),
        "bind_paths": many(binds, |bind| json!({
            "host": bind.host.to_string(),
            "container": bind.guest.to_string(),
            "read_only": bind.access == Access::ReadOnly,
            "optional": bind.optional,
        })),
        "limits": limits,
        "protect": many(protect, |path| path.0.as_str().into()),
        "deny_read": many(deny_read, |path| path.0.as_str().into()),
        "unprotect": many(unprotect, |path| path.0.as_str().into()),
        "credentials": many(credentials, |c| json!({ "name": c.name, "source": c.source, "hosts": c.hosts, "via": c.via.name() })),
        "cache": cache.as_ref().map(|cache| one(cache, |cache| json!({
            "paths": cache.paths.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "prefix": cache.prefix,
            "fallback_prefix": cache.fallback_prefix,
            "ttl": cache.ttl.to_string(),
            "max_scopes": cache.max_scopes,
        }))),
        "untrusted": untrusted.as_ref().map(|untrusted| one(untrusted, |()| true.into())),
        "beside": beside.as_ref().map(|beside| one(beside, |beside| beside.services.clone().into())),
        "service": service.as_ref().map(|service| one(service, |service| service.name.as_str().into())),
        "image": image.as_ref().map(|image| one(image, image_json)),
        "visor_path": visor_path.as_ref().map(|path| one(path, |path| path.to_string().into())),
        "require": many(require, |guarantee| guarantee.name().into()),
        "accept": many(accept, |guarantee| guarantee.name().into()),
        "allow_unsandboxed": allow_unsandboxed.as_ref().map(|allowed| one(allowed, |()| true.into())),
        "options": options,
    })
}

fn image_json(image: &Image) -> Value {
    match image {
        Image::Named(name) => json!({ "image": name }),
        Image::Recipe(file) => json!({ "dockerfile": file }),
        Image::Inline(text) => json!({ "dockerfile_inline": text }),
        Image::Compose { file, service } => json!({ "compose": file, "service": service }),
    }
}

fn projects(projects: &[Project]) -> Map<String, Value> {
    projects.iter().map(|project| (project.name.clone(), project.host.to_string().into())).collect()
}

fn one<T>(value: &Sourced<T>, json: impl FnOnce(&T) -> Value) -> Value {
    json!({ "value": json(&value.value), "origin": value.origin.to_string() })
}

fn many<T>(values: &[Sourced<T>], json: impl Fn(&T) -> Value) -> Value {
    values.iter().map(|value| one(value, &json)).collect()
}
