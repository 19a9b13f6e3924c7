//! Converts the parameters that the user gave to values.

use porthole_types::{TopicId, TopicRow};

use super::{NamedQuery, Parameter, ParameterKind};
use crate::{Error, Result, SqlValue};

/// The parameters of a query, with their colons and values. The last value given for a parameter wins.
pub(crate) fn values(
    query: &NamedQuery,
    given: &[(&str, &str)],
    topics: impl Fn() -> Result<Vec<TopicRow>>,
) -> Result<Vec<(String, SqlValue)>> {
    let of_query = |name: &str| query.parameters.iter().any(|parameter| parameter.name == name);
    if let Some((name, _)) = given.iter().find(|(name, _)| !of_query(name)) {
        return Err(Error::UnknownParameter { query: query.name.to_owned(), parameter: (*name).to_owned() });
    }
    let text = |name: &str| given.iter().rev().find(|(given, _)| *given == name).map(|(_, text)| *text);
    let value = |parameter: &Parameter| {
        let text = text(parameter.name).or(parameter.default).ok_or_else(|| Error::MissingParameter {
            query: query.name.to_owned(),
            parameter: parameter.name.to_owned(),
            meaning: parameter.description.to_owned(),
        })?;
        Ok((format!(":{}", parameter.name), of_kind(parameter, text, &topics)?))
    };
    query.parameters.iter().map(value).collect()
}

fn of_kind(
    parameter: &Parameter,
    text: &str,
    topics: &impl Fn() -> Result<Vec<TopicRow>>,
) -> Result<SqlValue> {
    let wrong =
        |wanted| Error::WrongValue { parameter: parameter.name.to_owned(), value: text.to_owned(), wanted };
    match (parameter.kind, SqlValue::parse(text)) {
        (ParameterKind::Topic, _) if text.starts_with('/') => {
            let topic = find(&topics()?, text).ok_or_else(|| Error::NoSuchTopic(text.to_owned()))?;
            Ok(SqlValue::Integer(topic.0.into()))
        }
        (ParameterKind::Topic, value @ SqlValue::Integer(_)) => Ok(value),
        (ParameterKind::Topic, _) => Err(wrong("the path of a topic, such as /Recreation/Cycling")),
        (ParameterKind::Whole, value @ SqlValue::Integer(0..)) => Ok(value),
        (ParameterKind::Whole, _) => Err(wrong("a whole number from 0")),
        (ParameterKind::Number, value @ (SqlValue::Integer(_) | SqlValue::Real(_))) => Ok(value),
        (ParameterKind::Number, _) => Err(wrong("a number")),
    }
}

/// The topic at a path, name by name from the root.
fn find(topics: &[TopicRow], path: &str) -> Option<TopicId> {
    let below = |at: TopicId, name: &str| {
        let child = |row: &&TopicRow| row.id != TopicId::ROOT && row.parent == at && row.name == name;
        topics.iter().find(child).map(|row| row.id)
    };
    path.split('/').filter(|name| !name.is_empty()).try_fold(TopicId::ROOT, below)
}
