//! Detection of "soft 404" pages: error pages that were sent with a success status.

use crate::page::Page;

/// A page with more terms has other content: an article about the error, or a site that shows its contents instead.
const MOST_TERMS: usize = 120;

/// Longer titles are not error messages.
const LONGEST_TITLE: usize = 100;

/// Phrases in the titles of such pages, in lower case.
const PHRASES: &[&str] = &[
    "page not found",
    "page cannot be found",
    "page can't be found",
    "page can\u{2019}t be found",
    "page could not be found",
    "page doesn't exist",
    "page doesn\u{2019}t exist",
    "page does not exist",
    "file not found",
    "document not found",
    "404 not found",
    "404 error",
    "error 404",
    "404 - not found",
    "http 404",
    "seite nicht gefunden",
    "seite wurde nicht gefunden",
    "page introuvable",
    "page non trouv\u{e9}e",
    "p\u{e1}gina no encontrada",
    "p\u{e1}gina n\u{e3}o encontrada",
    "pagina non trovata",
    "pagina niet gevonden",
    "sidan hittades inte",
    "siden blev ikke fundet",
    "siden ble ikke funnet",
    "sivua ei l\u{f6}ydy",
    "nie znaleziono strony",
    "str\u{e1}nka nenalezena",
    "az oldal nem tal\u{e1}lhat\u{f3}",
    "sayfa bulunamad\u{131}",
    "\u{441}\u{442}\u{440}\u{430}\u{43d}\u{438}\u{446}\u{430} \u{43d}\u{435} \u{43d}\u{430}\u{439}\u{434}\u{435}\u{43d}\u{430}",
    "\u{441}\u{442}\u{43e}\u{440}\u{456}\u{43d}\u{43a}\u{443} \u{43d}\u{435} \u{437}\u{43d}\u{430}\u{439}\u{434}\u{435}\u{43d}\u{43e}",
    "\u{9875}\u{9762}\u{4e0d}\u{5b58}\u{5728}",
    "\u{627e}\u{4e0d}\u{5230}\u{9875}\u{9762}",
    "\u{9875}\u{9762}\u{672a}\u{627e}\u{5230}",
    "\u{30da}\u{30fc}\u{30b8}\u{304c}\u{898b}\u{3064}\u{304b}\u{308a}\u{307e}\u{305b}\u{3093}",
];

impl Page {
    /// Whether the page is a "soft 404": its title or first `h1` is such a phrase, and it has little other text.
    pub fn says_not_found(&self) -> bool {
        if self.terms().len() > MOST_TERMS {
            return false;
        }
        let headings = (0..self.leaf_count()).filter_map(|number| self.leaf(number));
        let heading = headings.filter(|leaf| leaf.tag == "h1" && !leaf.text.is_empty()).map(|leaf| leaf.text);
        std::iter::once(self.title.as_str()).chain(heading.take(1)).any(says_not_found)
    }
}

fn says_not_found(title: &str) -> bool {
    if title.is_empty() || title.len() > LONGEST_TITLE {
        return false;
    }
    let title = title.to_lowercase();
    let bare = title.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(bare, "404" | "not found") || PHRASES.iter().any(|phrase| title.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_soft_404_pages() {
        for (title, says) in [
            ("404", true),
            ("Not Found", true),
            ("Page not found | Example", true),
            ("Oops! That page can\u{2019}t be found.", true),
            ("Error 404 (Not Found)!!1", true),
            ("Seite nicht gefunden \u{2013} Imkerei", true),
            ("\u{9875}\u{9762}\u{4e0d}\u{5b58}\u{5728}", true),
            ("", false),
            ("Lost and found", false),
            ("Owls not found in Britain", false),
            ("Peugeot 404", false),
            ("404 kilometres of cycle paths", false),
        ] {
            assert_eq!(says_not_found(title), says, "{title}");
        }
    }
}
