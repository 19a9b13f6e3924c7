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
            let topics = topics()?;
            let topic = find(&topics, text).ok_or_else(|| Error::NoSuchTopic(with_hint(&topics, text)))?;
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

/// A path that does not exist, with the paths of topics of that name.
fn with_hint(topics: &[TopicRow], path: &str) -> String {
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let alike = topics.iter().filter(|row| !name.is_empty() && row.name.eq_ignore_ascii_case(name));
    let alike: Vec<String> = alike.map(|row| path_of(topics, row)).collect();
    if alike.is_empty() { path.to_owned() } else { format!("{path} (did you mean {}?)", alike.join(" or ")) }
}

fn path_of(topics: &[TopicRow], row: &TopicRow) -> String {
    let (mut path, mut at) = (String::new(), row);
    // Bounded, whatever the rows are.
    for _ in 0..topics.len() {
        path = format!("/{}{path}", at.name);
        match topics.iter().find(|above| above.id == at.parent && above.id != TopicId::ROOT) {
            Some(above) => at = above,
            None => break,
        }
    }
    path
}

/// The topic at a path, name by name from the root.
fn find(topics: &[TopicRow], path: &str) -> Option<TopicId> {
    let below = |at: TopicId, name: &str| {
        let child = |row: &&TopicRow| row.id != TopicId::ROOT && row.parent == at && row.name == name;
        topics.iter().find(child).map(|row| row.id)
    };
    path.split('/').filter(|name| !name.is_empty()).try_fold(TopicId::ROOT, below)
}
