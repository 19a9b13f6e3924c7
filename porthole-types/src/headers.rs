//! HTTP headers as received: in order, with case-insensitive names.

/// A list of header fields. Values are text: invalid UTF-8 was replaced.
///
/// All fields are in one string: a page has about ten, which would need two allocations each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    text: String,
    /// For each field, the ends of its name and value in the string.
    ends: Vec<(usize, usize)>,
}

impl Headers {
    /// No headers.
    pub fn new() -> Self {
        Headers::default()
    }

    /// No headers, with capacity for a number of fields and their total size.
    pub fn with_capacity(fields: usize, bytes: usize) -> Self {
        Headers { text: String::with_capacity(bytes), ends: Vec::with_capacity(fields) }
    }

    /// Appends a field; a name may occur more than once.
    pub fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(name);
        let name_end = self.text.len();
        self.text.push_str(value);
        self.ends.push((name_end, self.text.len()));
    }

    /// The first value with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values with this name, in order.
    pub fn all<'a, 'n>(&'a self, name: &'n str) -> impl Iterator<Item = &'a str> + use<'a, 'n> {
        self.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.iter().map(move |&(name_end, end)| {
            let field = (&self.text[start..name_end], &self.text[name_end..end]);
            start = end;
            field
        })
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Headers {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(fields: I) -> Self {
        let mut headers = Headers::new();
        fields.into_iter().for_each(|(name, value)| headers.push(name, value));
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_case_insensitive_and_keep_their_order() {
        let headers: Headers =
            [("Link", "<a>"), ("content-type", "text/html"), ("LINK", "<b>")].into_iter().collect();
        assert_eq!(headers.get("Content-Type"), Some("text/html"));
        assert_eq!(headers.all("link").collect::<Vec<_>>(), ["<a>", "<b>"]);
        assert_eq!(headers.get("host"), None);
        assert_eq!(headers.iter().last(), Some(("LINK", "<b>")));
        // The concatenated text is the same.
        let others: Headers =
            [("Link", "<a>content-type"), ("text/", "html"), ("LINK", "<b>")].into_iter().collect();
        assert_ne!(headers, others);
    }
}
