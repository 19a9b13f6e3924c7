//! HTTP headers as they came, in order, names compared without case.

/// A list of header fields. Values are text: bytes outside UTF-8 were replaced when they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(Box<str>, Box<str>)>);

impl Headers {
    /// No headers.
    pub fn new() -> Self {
        Headers::default()
    }

    /// Adds a field behind those that are there; a name may occur more than once.
    pub fn push(&mut self, name: &str, value: &str) {
        self.0.push((name.into(), value.into()));
    }

    /// The first value of a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a name, in order.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.0.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Headers {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(fields: I) -> Self {
        Headers(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_without_case_and_keep_their_order() {
        let headers: Headers =
            [("Link", "<a>"), ("content-type", "text/html"), ("LINK", "<b>")].into_iter().collect();
        assert_eq!(headers.get("Content-Type"), Some("text/html"));
        assert_eq!(headers.all("link").collect::<Vec<_>>(), ["<a>", "<b>"]);
        assert_eq!(headers.get("host"), None);
    }
}
