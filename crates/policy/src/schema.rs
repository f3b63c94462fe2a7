//! The table of keys as a JSON schema, for editors and for `polder config schema`.

use crate::dialect::Dialect;
use crate::shape::{STEP, Shape, TOP, Table};
use polder_facts::Guarantee;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The JSON schema (draft 2020-12) of a configuration file.
pub fn schema(dialect: Dialect) -> Value {
    let mut defs = Defs { dialect, done: BTreeMap::new() };
    let mut top = defs.table(&TOP, dialect == Dialect::Visor);
    let title = match dialect {
        Dialect::Own => "polder configuration",
        Dialect::Visor => "the part of a .visor.yaml that polder reads",
    };
    top.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    top.insert("title".into(), json!(title));
    let done: Map<String, Value> = defs.done.into_iter().map(|(name, def)| (name.to_owned(), def)).collect();
    top.insert("$defs".into(), Value::Object(done));
    Value::Object(top)
}

struct Defs {
    dialect: Dialect,
    done: BTreeMap<&'static str, Value>,
}

impl Defs {
    fn table(&mut self, table: &'static Table, open: bool) -> Map<String, Value> {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for key in table.keys(self.dialect) {
            let mut property = self.shape(&key.shape);
            if let Some(property) = property.as_object_mut() {
                property.insert("description".into(), json!(key.doc));
            }
            properties.insert(key.name.into(), property);
            if key.required {
                required.push(key.name);
            }
        }
        let mut object = Map::new();
        object.insert("type".into(), json!("object"));
        object.insert("properties".into(), Value::Object(properties));
        object.insert("additionalProperties".into(), json!(open));
        if !required.is_empty() {
            object.insert("required".into(), json!(required));
        }
        object
    }

    fn reference(&mut self, table: &'static Table) -> Value {
        if !self.done.contains_key(table.name) {
            // Taken first, so that a table that contains itself ends here.
            self.done.insert(table.name, Value::Null);
            let object = Value::Object(self.table(table, false));
            self.done.insert(table.name, object);
        }
        json!({ "$ref": format!("#/$defs/{}", table.name) })
    }

    fn shape(&mut self, shape: &'static Shape) -> Value {
        match shape {
            Shape::Bool => json!({ "type": "boolean" }),
            Shape::Text | Shape::UnreadName => json!({ "type": "string" }),
            Shape::Count => json!({ "type": "integer", "minimum": 1 }),
            Shape::Number => json!({ "type": "number", "exclusiveMinimum": 0 }),
            Shape::Size => json!({ "anyOf": [
                { "type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,3})? ?([KMGTkmgt]?[iI]?[bB]?)$" },
                { "type": "integer", "minimum": 1 },
            ] }),
            Shape::Span => json!({ "type": "string", "pattern": "^[0-9]+(\\.[0-9]{1,3})? ?(ms|s|m|min|h|d)$" }),
            Shape::Word(words) => json!({ "enum": words }),
            Shape::Guarantee => json!({ "enum": Guarantee::ALL.map(Guarantee::name) }),
            Shape::Map(table) => self.reference(table),
            Shape::MapOf(shape) => json!({ "type": "object", "additionalProperties": self.shape(shape) }),
            Shape::ListOf(shape) => json!({ "type": "array", "items": self.shape(shape) }),
            Shape::Either(shapes) => {
                let shapes: Vec<_> = shapes.iter().map(|shape| self.shape(shape)).collect();
                json!({ "anyOf": shapes })
            }
            Shape::Scalar => json!({ "type": ["string", "number", "boolean"] }),
            Shape::Opaque => json!({ "type": "object" }),
            Shape::Unread => json!({}),
            Shape::Step => self.step(),
        }
    }

    /// In a `.visor.yaml` a step of another type may carry keys that are not ours.
    fn step(&mut self) -> Value {
        let strict = self.reference(&STEP);
        match self.dialect {
            Dialect::Own => strict,
            Dialect::Visor => {
                let foreign = json!({
                    "type": "object",
                    "anyOf": [
                        { "properties": { "type": { "type": "string", "not": { "const": "command" } } }, "required": ["type"] },
                        { "not": { "anyOf": [{ "required": ["type"] }, { "required": ["exec"] }, { "required": ["command"] }] } },
                    ],
                });
                json!({ "anyOf": [strict, foreign] })
            }
        }
    }
}

#[cfg(test)]
mod tests;
