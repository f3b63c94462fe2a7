use super::*;
use crate::shape::SANDBOX;
use crate::testing::parsed;
use crate::{Level, schema as make};

#[test]
fn it_is_the_same_every_time_and_closed() {
    for dialect in [Dialect::Own, Dialect::Visor] {
        let text = serde_json::to_string(&make(dialect)).unwrap();
        assert_eq!(text, serde_json::to_string(&make(dialect)).unwrap());
    }
    assert_eq!(make(Dialect::Own)["additionalProperties"], json!(false));
    assert_eq!(make(Dialect::Visor)["additionalProperties"], json!(true));
    for def in make(Dialect::Visor)["$defs"].as_object().unwrap().values() {
        assert_eq!(def["additionalProperties"], json!(false), "{def}");
    }
}

/// A value that has the shape a property asks for.
fn sample(schema: &Value, property: &Value) -> Value {
    if let Some(name) = property["$ref"].as_str() {
        let def = &schema["$defs"][name.trim_start_matches("#/$defs/")];
        let required = def["required"].as_array().cloned().unwrap_or_default();
        return required
            .iter()
            .map(|key| {
                let key = key.as_str().unwrap();
                (key.to_owned(), sample(schema, &def["properties"][key]))
            })
            .collect();
    }
    if let Some(options) = property["anyOf"].as_array() {
        return sample(schema, &options[0]);
    }
    if let Some(words) = property["enum"].as_array() {
        return words[0].clone();
    }
    match (property["type"].as_str(), property["pattern"].as_str()) {
        (Some("string"), Some(_)) => json!("7m"),
        (Some("string"), None) => json!("/x"),
        (Some("boolean"), _) => json!(false),
        (Some("integer" | "number"), _) => json!(1),
        (Some("array"), _) => json!([]),
        _ => json!({}),
    }
}

#[test]
fn what_the_schema_knows_the_parser_knows() {
    let schema = make(Dialect::Own);
    let tables = [("sandbox", "sandboxes"), ("step", "steps"), ("sandbox_defaults", "")];
    for (table, under) in tables {
        for (key, property) in schema["$defs"][table]["properties"].as_object().unwrap() {
            let value = json!({ key: sample(&schema, property) });
            let file = if under.is_empty() { json!({ table: value }) } else { json!({ under: { "a": value } }) };
            let text = file.to_string();
            if let Err(faults) = parsed("polder.json", &text, Level::System) {
                let faults = faults.to_string();
                assert!(!faults.contains("unknown key") && !faults.contains("must be a"), "{text}: {faults}");
            }
        }
    }
}

#[test]
fn a_key_that_the_schema_does_not_know_is_unknown_to_the_parser() {
    let schema = make(Dialect::Own);
    let known = schema["$defs"]["sandbox"]["properties"].as_object().unwrap();
    assert_eq!(known.len(), SANDBOX.keys(Dialect::Own).count());
    for key in ["type", "name", "extends", "steps", "Engine", "binds"] {
        assert!(!known.contains_key(key));
        let text = json!({ "sandboxes": { "a": { key: "x" } } }).to_string();
        let faults = parsed("polder.json", &text, Level::System).unwrap_err();
        assert!(faults.to_string().contains("unknown key"), "{faults}");
    }
}
