//! The description of the API is true: it is the committed one, every operation in it answers, and answers are as their
//! schemas say.

use std::path::Path;

use serde_json::{Value, json};

use super::server::{Server, crawled};

fn committed() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web/openapi.json");
    let text = std::fs::read_to_string(file).expect("web/openapi.json");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn the_committed_description_is_the_servers() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let served = server.read("/api/v1/openapi.json");
    assert_eq!(served, committed(), "run `porthole serve --openapi > web/openapi.json`");
}

#[test]
fn every_operation_answers_as_described() {
    let folder = crawled();
    let server = Server::start(folder.path());
    let description = committed();
    let mut answered = 0;
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let reply = match method.as_str() {
                "get" if path.ends_with("/events") => continue,
                "get" => server.get(&format!("/api/v1{}", filled(path, operation))),
                "post" if path.ends_with("/query") => {
                    let query = json!({ "sql": "select url, oid, 1.5, null from crawl" });
                    server.post(&format!("/api/v1{}", filled(path, operation)), &query)
                }
                "post" => server.post(&format!("/api/v1{}", filled(path, operation)), &json!({})),
                other => panic!("{other} {path}"),
            };
            assert!((200..500).contains(&reply.status) && reply.status != 405, "{method} {path}: {reply:?}");
            let responses = &operation["responses"];
            let response = match reply.status {
                200 => &responses["200"],
                _ => &responses["4XX"],
            };
            let Some(schema) = response["content"].get("application/json") else { continue };
            if let Err(why) = conforms(&description, &schema["schema"], &reply.json(), true) {
                panic!("{method} {path} ({}): {why}\n{}", reply.status, reply.body);
            }
            answered += u32::from(reply.status == 200);
        }
    }
    assert!(answered > 5, "{answered} operations were answered with 200");
}

/// The path of an operation with values for its parameters.
fn filled(path: &str, operation: &Value) -> String {
    let mut path =
        path.replace("{w}", "ws").replace("{seq}", "0").replace("{id}", "1").replace("{kind}", "pages");
    path = path.replace("{name}", "none");
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let needed = parameters.iter().filter(|found| found["in"] == "query" && found["required"] == true);
    for (number, parameter) in needed.enumerate() {
        let value = match parameter["name"].as_str().unwrap() {
            "url" => "http://birds.test/1",
            "q" => "owl",
            other => panic!("no value for {other}"),
        };
        let separator = if number == 0 { '?' } else { '&' };
        path += &format!("{separator}{}={value}", parameter["name"].as_str().unwrap());
    }
    assert!(!path.contains('{'), "{path}");
    path
}

/// Whether a value is as a schema says; the keywords that the description uses. A schema that is one of several for the
/// same value describes a part of its fields.
fn conforms(root: &Value, schema: &Value, value: &Value, is_whole: bool) -> Result<(), String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let found = root.pointer(&reference[1..]).ok_or_else(|| format!("no {reference}"))?;
        return conforms(root, found, value, is_whole);
    }
    for all in schema["allOf"].as_array().into_iter().flatten() {
        conforms(root, all, value, false)?;
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(some) = schema[keyword].as_array()
            && !some.iter().any(|schema| conforms(root, schema, value, is_whole).is_ok())
        {
            return Err(format!("{value} is none of {keyword}"));
        }
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        return Err(format!("{value} is none of {allowed:?}"));
    }
    let is_type = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the type {other}"),
    };
    let has_type = match &schema["type"] {
        Value::String(name) => is_type(name),
        Value::Array(names) => names.iter().any(|name| is_type(name.as_str().unwrap())),
        _ => true,
    };
    if !has_type {
        return Err(format!("{value} is no {}", schema["type"]));
    }
    if let Some(fields) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap()) {
                return Err(format!("{name} is missing"));
            }
        }
        for (name, field) in fields {
            if let Some(schema) = schema["properties"].get(name) {
                conforms(root, schema, field, true).map_err(|why| format!("{name}: {why}"))?;
            } else if is_whole && schema.get("properties").is_some() && schema.get("allOf").is_none() {
                let is_open = schema.get("additionalProperties").is_some_and(|more| *more != false);
                if !is_open && !schema["properties"].as_object().unwrap().is_empty() {
                    return Err(format!("{name} is not described"));
                }
            }
        }
    }
    if let (Some(items), Some(values)) = (schema.get("items"), value.as_array()) {
        for value in values {
            conforms(root, items, value, true)?;
        }
    }
    Ok(())
}
