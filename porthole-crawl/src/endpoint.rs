//! The URL of an endpoint that the user named, with a placeholder for what is asked.

use std::fmt::Write;

use porthole_types::CanonicalUrl;

/// A URL with a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointUrl {
    template: String,
    placeholder: &'static str,
}

impl EndpointUrl {
    /// Checks a template. `what` says what the placeholder is replaced by.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub(crate) fn new(template: &str, placeholder: &'static str, what: &str) -> Result<EndpointUrl, String> {
        if !template.contains(placeholder) {
            return Err(format!("{template} has no {placeholder}, which is replaced by {what}"));
        }
        CanonicalUrl::parse(&template.replace(placeholder, "x"))
            .map_err(|error| format!("{template}: {error}"))?;
        Ok(EndpointUrl { template: template.to_owned(), placeholder })
    }

    /// The URL for a value.
    pub(crate) fn with(&self, value: &str) -> Option<CanonicalUrl> {
        CanonicalUrl::parse(&self.template.replace(self.placeholder, &encoded(value))).ok()
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.template
    }
}

/// Percent-encodes a text as a query value.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(2 * text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
