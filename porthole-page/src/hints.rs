//! Hints from the names of elements (`class`, `id`, `role`) about the text in them.

use crate::steps;
use crate::token::Tokenizer;

/// A set of hints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hints(pub(crate) u32);

macro_rules! hints {
    ($($constant:ident $bit:literal $($word:literal)*;)*) => {
        impl Hints {
            $(pub(crate) const $constant: Hints = Hints(1 << $bit);)*
        }

        /// The hint of one word in lower case.
        fn of_word(word: &[u8]) -> Hints {
            $($(const { assert!($word.len() <= LONGEST) };)*)*
            match word {
                $($($word)|* => Hints::$constant,)*
                _ => Hints(0),
            }
        }
    };
}

/// Longest word with a hint.
const LONGEST: usize = 16;

hints! {
    NAVIGATION 0 b"nav" b"navbar" b"navi" b"navigation" b"menu" b"menus" b"submenu" b"megamenu" b"breadcrumb"
        b"breadcrumbs" b"crumbs" b"topbar" b"toolbar" b"pagination" b"pager" b"paging" b"dropdown" b"toc" b"skip"
        b"tablist" b"menubar" b"menuitem" b"directory" b"sitemap" b"hamburger" b"offcanvas" b"drawer";
    FOOTER 1 b"footer" b"foot" b"footers" b"copyright" b"colophon" b"legal" b"bottom" b"contentinfo" b"disclaimer";
    HEADER 2 b"header" b"masthead" b"top" b"logo" b"head" b"topper" b"brand" b"branding" b"site";
    SIDEBAR 3 b"sidebar" b"side" b"aside" b"rail" b"widget" b"widgets" b"complementary" b"secondary" b"sticky" b"right";
    RELATED 4 b"related" b"recommended" b"recommend" b"recommendation" b"recommendations" b"recirc" b"popular" b"trending"
        b"similar" b"suggested" b"latest" b"recent" b"also" b"upnext" b"more" b"teaser" b"teasers" b"featured" b"outbrain"
        b"taboola" b"readmore" b"next" b"prev" b"previous" b"upsell" b"crosssell" b"explore";
    SHARING 5 b"share" b"sharing" b"social" b"socials" b"follow" b"addtoany" b"sharedaddy" b"facebook" b"twitter"
        b"like" b"likes" b"vote" b"voting" b"votes" b"reactions" b"rating" b"ratings" b"print" b"email" b"actions"
        b"action" b"controls" b"buttons" b"button" b"btn";
    COMMENTS 6 b"comment" b"comments" b"commentlist" b"disqus" b"reply" b"replies" b"respond" b"review" b"reviews"
        b"testimonial" b"testimonials";
    ADVERTISEMENT 7 b"ad" b"ads" b"advert" b"advertisement" b"adslot" b"sponsor" b"sponsored" b"sponsors" b"promo"
        b"promotion" b"promotions" b"banner" b"dfp" b"gpt" b"affiliate" b"partner" b"partners" b"shop";
    SIGN_UP 8 b"newsletter" b"subscribe" b"subscription" b"signup" b"login" b"signin" b"register" b"cta" b"form"
        b"search" b"contact" b"account" b"donate" b"download" b"booking" b"mailing";
    ABOUT 9 b"meta" b"byline" b"author" b"authors" b"date" b"time" b"timestamp" b"published" b"tag" b"tags" b"tagged"
        b"category" b"categories" b"avatar" b"bio" b"credit" b"credits" b"info" b"posted" b"label" b"labels" b"badge"
        b"stats" b"user" b"profile" b"signature" b"eyebrow" b"kicker";
    NOTICE 10 b"cookie" b"cookies" b"consent" b"gdpr" b"modal" b"popup" b"overlay" b"dialog" b"alert" b"notice" b"paywall"
        b"tooltip" b"lightbox" b"toast" b"onetrust" b"alertdialog" b"notification" b"popover" b"loading" b"announcement";
    HIDDEN 11 b"hidden" b"hide" b"invisible" b"offscreen" b"visuallyhidden" b"screenreader" b"noprint" b"collapsed"
        b"collapse" b"sr" b"assistive";
    CARD 12 b"card" b"cards" b"tile" b"tiles" b"grid" b"carousel" b"slider" b"slide" b"slides" b"swiper" b"slick"
        b"gallery" b"thumbnail" b"thumb" b"thumbs" b"listing" b"listings" b"results" b"feed" b"products" b"collection";
    CONTENT 13 b"content" b"contents" b"body" b"main" b"text" b"prose" b"markdown" b"richtext" b"rte" b"wysiwyg" b"copy"
        b"maincontent" b"contentarea" b"bodytext" b"fulltext" b"paragraph" b"paragraphs" b"cms" b"editor" b"formatted";
    ARTICLE 14 b"article" b"entry" b"post" b"story" b"blog" b"single" b"articlebody" b"hentry" b"page" b"blogpost"
        b"recipe" b"chapter" b"lesson" b"news" b"essay" b"document" b"doc" b"docs" b"documentation" b"wiki";
    PRODUCT 15 b"product" b"description" b"details" b"detail" b"summary" b"specs" b"spec" b"specification"
        b"specifications" b"features" b"feature" b"overview" b"faq" b"faqs" b"accordion" b"tab" b"tabs" b"panel"
        b"ingredients" b"instructions" b"excerpt" b"intro" b"lead" b"hero" b"headline" b"subtitle" b"heading";
    FORUM 16 b"message" b"messages" b"thread" b"topic" b"topics" b"question" b"answer" b"answers" b"answercell" b"forum"
        b"posts" b"postbody" b"discussion" b"conversation" b"bbcode" b"quote" b"cooked";
    CAPTION 17 b"caption" b"figcaption" b"figure" b"image" b"img" b"media" b"video" b"photo" b"player" b"embed" b"icon";
    PRICE 18 b"price" b"prices" b"cart" b"buy" b"checkout" b"wishlist" b"qty" b"quantity" b"variant" b"variants"
        b"swatch" b"stock" b"sku" b"filter" b"filters" b"facet" b"facets" b"sort" b"sorting" b"compare";
}

/// The hints of the current tag's attributes.
pub(crate) fn of_attributes(tokens: &Tokenizer<'_>) -> Hints {
    let mut hints = 0;
    for attribute in tokens.attributes() {
        let name = attribute.name;
        if ["class", "id", "role"].iter().any(|known| name.eq_ignore_ascii_case(known)) {
            hints |= of_words(attribute.value).0;
        } else if name.eq_ignore_ascii_case("hidden")
            || name.eq_ignore_ascii_case("aria-hidden") && attribute.value.eq_ignore_ascii_case("true")
            || name.eq_ignore_ascii_case("style") && is_invisible(attribute.value)
        {
            hints |= Hints::HIDDEN.0;
        }
    }
    Hints(hints)
}

/// The hints of a value's words. Words end at anything but a letter, and before a capital after a small letter.
fn of_words(value: &str) -> Hints {
    steps::add(value.len());
    let mut hints = 0;
    let mut word = [0; LONGEST];
    let (mut length, mut is_small) = (0, false);
    for &byte in value.as_bytes().iter().take(LONGEST_VALUE).chain(b" ") {
        if !byte.is_ascii_alphabetic() || is_small && byte.is_ascii_uppercase() {
            if length > 1 && length <= LONGEST {
                hints |= of_word(&word[..length]).0;
            }
            length = 0;
        }
        is_small = byte.is_ascii_lowercase();
        if byte.is_ascii_alphabetic() {
            if length < LONGEST {
                word[length] = byte.to_ascii_lowercase();
            }
            length += 1;
        }
    }
    Hints(hints)
}

/// Longer values are read up to here.
const LONGEST_VALUE: usize = 512;

/// Whether a `style` hides the element.
fn is_invisible(style: &str) -> bool {
    let mut parts = style.split(';').take(32).filter_map(|part| part.split_once(':'));
    parts.any(|(name, value)| {
        let (name, value) = (name.trim(), value.trim());
        name.eq_ignore_ascii_case("display") && value.get(..4).is_some_and(|v| v.eq_ignore_ascii_case("none"))
            || name.eq_ignore_ascii_case("visibility")
                && value.get(..6).is_some_and(|v| v.eq_ignore_ascii_case("hidden"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names() {
        for (value, expected) in [
            ("site-footer", Hints::FOOTER.0 | Hints::HEADER.0),
            ("mainNav", Hints::CONTENT.0 | Hints::NAVIGATION.0),
            ("Article__Body", Hints::ARTICLE.0 | Hints::CONTENT.0),
            ("related2 x", Hints::RELATED.0),
            ("navigational adventure", 0),
            ("", 0),
        ] {
            assert_eq!(of_words(value), Hints(expected), "for {value}");
        }
    }

    #[test]
    fn styles_that_hide() {
        for (style, expected) in [
            ("display:none", true),
            ("color: red; DISPLAY : None !important", true),
            ("visibility: hidden", true),
            ("display: nonesuch-block", true),
            ("display: block", false),
            ("display", false),
        ] {
            assert_eq!(is_invisible(style), expected, "for {style}");
        }
    }
}
