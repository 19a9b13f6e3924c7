//! Tag names as small numbers, with their properties in the HTML standard's tree construction.

/// A tag name. Names in the standard are numbers below 256; any other name is a hash above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagName(u32);

/// In the standard's "special" category: ends the search for a matching formatting element.
const SPECIAL: u16 = 1;
/// Goes into the list of active formatting elements.
const FORMATTING: u16 = 1 << 1;
/// Never has content.
const VOID: u16 = 1 << 2;
/// Ends the search "in scope".
const SCOPE: u16 = 1 << 3;
/// Its start tag closes an open `p`, and it has no other rule.
const BLOCK: u16 = 1 << 4;
/// Its end tag closes everything inside it, if it is in scope.
const BLOCK_END: u16 = 1 << 5;
/// Closed where its end tag is implied.
const IMPLIED: u16 = 1 << 6;
/// `h1` to `h6`.
const HEADING: u16 = 1 << 7;
/// Its content is text up to its end tag.
const RAW: u16 = 1 << 8;
/// Ends SVG or MathML if it starts inside it.
const BREAKOUT: u16 = 1 << 9;
/// Belongs in the head.
const HEAD: u16 = 1 << 10;
/// Formatting scope marker: `applet`, `marquee`, `object`.
const MARKER: u16 = 1 << 11;

/// Only allowed in a table.
const PART: u16 = 1 << 12;

/// Its start and end change which text is the page's own.
const PLACE: u16 = 1 << 13;

macro_rules! tags {
    ($($constant:ident $name:literal $flags:expr;)*) => {
        // Names that no rule mentions are included for their flags and spelling.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, dead_code)]
        #[repr(u8)]
        enum TagIndex { $($constant),* }

        #[allow(dead_code)]
        impl TagName {
            $(pub(crate) const $constant: TagName = TagName(TagIndex::$constant as u32);)*
        }

        const NAMES: &[&str] = &[$($name),*];
        const FLAGS: &[u16] = &[$($flags),*];
    };
}

tags! {
    A "a" FORMATTING;
    ABBR "abbr" 0;
    ACRONYM "acronym" 0;
    ADDRESS "address" SPECIAL | BLOCK | BLOCK_END;
    ANNOTATION_XML "annotation-xml" 0;
    APPLET "applet" SPECIAL | SCOPE | MARKER;
    AREA "area" SPECIAL | VOID;
    ARTICLE "article" SPECIAL | BLOCK | BLOCK_END | PLACE;
    ASIDE "aside" SPECIAL | BLOCK | BLOCK_END | PLACE;
    AUDIO "audio" 0;
    B "b" FORMATTING | BREAKOUT;
    BASE "base" SPECIAL | VOID | HEAD;
    BASEFONT "basefont" SPECIAL | VOID | HEAD;
    BDI "bdi" 0;
    BDO "bdo" 0;
    BGSOUND "bgsound" SPECIAL | VOID | HEAD;
    BIG "big" FORMATTING | BREAKOUT;
    BLINK "blink" 0;
    BLOCKQUOTE "blockquote" SPECIAL | BLOCK | BLOCK_END | BREAKOUT;
    BODY "body" SPECIAL | BREAKOUT;
    BR "br" SPECIAL | VOID | BREAKOUT;
    BUTTON "button" SPECIAL | BLOCK_END | PLACE;
    CANVAS "canvas" 0;
    CAPTION "caption" SPECIAL | SCOPE | PART;
    CENTER "center" SPECIAL | BLOCK | BLOCK_END | BREAKOUT;
    CITE "cite" 0;
    CODE "code" FORMATTING | BREAKOUT;
    COL "col" SPECIAL | VOID | PART;
    COLGROUP "colgroup" SPECIAL | PART;
    DATA "data" 0;
    DATALIST "datalist" 0;
    DD "dd" SPECIAL | IMPLIED | BREAKOUT;
    DEL "del" 0;
    DESC "desc" 0;
    DETAILS "details" SPECIAL | BLOCK | BLOCK_END;
    DFN "dfn" 0;
    DIALOG "dialog" BLOCK | BLOCK_END | PLACE;
    DIR "dir" SPECIAL | BLOCK | BLOCK_END;
    DIV "div" SPECIAL | BLOCK | BLOCK_END | BREAKOUT;
    DL "dl" SPECIAL | BLOCK | BLOCK_END | BREAKOUT;
    DT "dt" SPECIAL | IMPLIED | BREAKOUT;
    EM "em" FORMATTING | BREAKOUT;
    EMBED "embed" SPECIAL | VOID | BREAKOUT;
    FIELDSET "fieldset" SPECIAL | BLOCK | BLOCK_END;
    FIGCAPTION "figcaption" SPECIAL | BLOCK | BLOCK_END;
    FIGURE "figure" SPECIAL | BLOCK | BLOCK_END;
    FONT "font" FORMATTING;
    FOOTER "footer" SPECIAL | BLOCK | BLOCK_END | PLACE;
    FOREIGNOBJECT "foreignobject" 0;
    FORM "form" SPECIAL;
    FRAME "frame" SPECIAL | VOID;
    FRAMESET "frameset" SPECIAL;
    H1 "h1" SPECIAL | HEADING | BREAKOUT;
    H2 "h2" SPECIAL | HEADING | BREAKOUT;
    H3 "h3" SPECIAL | HEADING | BREAKOUT;
    H4 "h4" SPECIAL | HEADING | BREAKOUT;
    H5 "h5" SPECIAL | HEADING | BREAKOUT;
    H6 "h6" SPECIAL | HEADING | BREAKOUT;
    HEAD "head" SPECIAL | BREAKOUT;
    HEADER "header" SPECIAL | BLOCK | BLOCK_END | PLACE;
    HGROUP "hgroup" SPECIAL | BLOCK | BLOCK_END;
    HR "hr" SPECIAL | VOID | BREAKOUT;
    HTML "html" SPECIAL | SCOPE;
    I "i" FORMATTING | BREAKOUT;
    IFRAME "iframe" SPECIAL | RAW;
    IMAGE "image" 0;
    IMG "img" SPECIAL | VOID | BREAKOUT;
    INPUT "input" SPECIAL | VOID;
    INS "ins" 0;
    KBD "kbd" 0;
    KEYGEN "keygen" SPECIAL | VOID;
    LABEL "label" 0;
    LAYER "layer" 0;
    LEGEND "legend" 0;
    LI "li" SPECIAL | IMPLIED | BREAKOUT;
    LINK "link" SPECIAL | VOID | HEAD;
    LISTING "listing" SPECIAL | BLOCK_END | BREAKOUT;
    MAIN "main" SPECIAL | BLOCK | BLOCK_END | PLACE;
    MAP "map" 0;
    MARK "mark" 0;
    MARQUEE "marquee" SPECIAL | SCOPE | MARKER;
    MATH "math" 0;
    MENU "menu" SPECIAL | BLOCK | BLOCK_END | BREAKOUT;
    META "meta" SPECIAL | VOID | HEAD | BREAKOUT;
    METER "meter" 0;
    MI "mi" 0;
    MN "mn" 0;
    MO "mo" 0;
    MS "ms" 0;
    MTEXT "mtext" 0;
    NAV "nav" SPECIAL | BLOCK | BLOCK_END | PLACE;
    NOBR "nobr" FORMATTING | BREAKOUT;
    NOEMBED "noembed" SPECIAL | RAW;
    NOFRAMES "noframes" SPECIAL | RAW | HEAD;
    NOSCRIPT "noscript" SPECIAL | PLACE;
    OBJECT "object" SPECIAL | SCOPE | MARKER;
    OL "ol" SPECIAL | BLOCK | BLOCK_END | BREAKOUT;
    OPTGROUP "optgroup" IMPLIED;
    OPTION "option" IMPLIED;
    OUTPUT "output" 0;
    P "p" SPECIAL | BLOCK | IMPLIED | BREAKOUT;
    PARAM "param" SPECIAL | VOID;
    PICTURE "picture" 0;
    PLAINTEXT "plaintext" SPECIAL;
    PRE "pre" SPECIAL | BLOCK_END | BREAKOUT;
    PROGRESS "progress" 0;
    Q "q" 0;
    RB "rb" IMPLIED;
    RP "rp" IMPLIED;
    RT "rt" IMPLIED;
    RTC "rtc" IMPLIED;
    RUBY "ruby" BREAKOUT;
    S "s" FORMATTING | BREAKOUT;
    SAMP "samp" 0;
    SCRIPT "script" SPECIAL | RAW | HEAD;
    SEARCH "search" SPECIAL | BLOCK | BLOCK_END;
    SECTION "section" SPECIAL | BLOCK | BLOCK_END;
    SELECT "select" SPECIAL | SCOPE | BLOCK_END | PLACE;
    SLOT "slot" 0;
    SMALL "small" FORMATTING | BREAKOUT;
    SOURCE "source" SPECIAL | VOID;
    SPAN "span" BREAKOUT;
    STRIKE "strike" FORMATTING | BREAKOUT;
    STRONG "strong" FORMATTING | BREAKOUT;
    STYLE "style" SPECIAL | RAW | HEAD;
    SUB "sub" BREAKOUT;
    SUMMARY "summary" SPECIAL | BLOCK | BLOCK_END;
    SUP "sup" BREAKOUT;
    SVG "svg" PLACE;
    TABLE "table" SPECIAL | SCOPE | BREAKOUT;
    TBODY "tbody" SPECIAL | PART;
    TD "td" SPECIAL | SCOPE | PART;
    TEMPLATE "template" SPECIAL | SCOPE | HEAD;
    TEXTAREA "textarea" SPECIAL | RAW;
    TFOOT "tfoot" SPECIAL | PART;
    TH "th" SPECIAL | SCOPE | PART;
    THEAD "thead" SPECIAL | PART;
    TIME "time" 0;
    TITLE "title" SPECIAL | RAW | HEAD;
    TR "tr" SPECIAL | PART;
    TRACK "track" SPECIAL | VOID;
    TT "tt" FORMATTING | BREAKOUT;
    U "u" FORMATTING | BREAKOUT;
    UL "ul" SPECIAL | BLOCK | BLOCK_END | BREAKOUT;
    VAR "var" BREAKOUT;
    VIDEO "video" 0;
    WBR "wbr" SPECIAL | VOID;
    XMP "xmp" SPECIAL | RAW;
}

/// Number of names in the standard.
pub(crate) const KNOWN: usize = NAMES.len();

impl TagName {
    /// The name spelt by these bytes, case-insensitive.
    pub(crate) fn of(bytes: &[u8]) -> TagName {
        if bytes.len() > 16 { TagName::unknown(bytes) } else { TagName::with_key(packed(bytes), bytes) }
    }

    /// The name of `length` bytes at a position.
    #[inline]
    pub(crate) fn at(text: &[u8], start: usize, length: usize) -> TagName {
        match text[start..].first_chunk::<8>() {
            Some(window) if length <= 8 => {
                let used = u64::MAX.checked_shr(64 - 8 * length as u32).unwrap_or(0);
                TagName::with_key(
                    (lowered(u64::from_le_bytes(*window)) & used, 0),
                    &text[start..start + length],
                )
            }
            _ => TagName::of(&text[start..start + length]),
        }
    }

    #[inline]
    fn with_key(key: (u64, u64), bytes: &[u8]) -> TagName {
        let mut slot = slot_of(key);
        loop {
            match TABLE[slot] {
                0 => return TagName::unknown(bytes),
                index if KEYS[index as usize - 1] == key => return TagName(u32::from(index) - 1),
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }

    fn unknown(bytes: &[u8]) -> TagName {
        let mut hash: u32 = 0x811c_9dc5;
        for byte in bytes {
            hash = (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193);
        }
        TagName(hash | 0x8000_0000)
    }

    /// Its number, if it is in the standard.
    pub(crate) fn index(self) -> Option<usize> {
        (self.0 < KNOWN as u32).then_some(self.0 as usize)
    }

    /// Its byte in a tag path: 255 for a name that is not in the standard.
    pub(crate) fn path_byte(self) -> u8 {
        u8::try_from(self.0).unwrap_or(u8::MAX)
    }

    fn flags(self) -> u16 {
        self.index().map_or(0, |index| FLAGS[index])
    }

    pub(crate) fn is_special(self) -> bool {
        self.flags() & SPECIAL != 0
    }

    pub(crate) fn is_formatting(self) -> bool {
        self.flags() & FORMATTING != 0
    }

    pub(crate) fn is_void(self) -> bool {
        self.flags() & VOID != 0
    }

    pub(crate) fn is_scope(self) -> bool {
        self.flags() & SCOPE != 0
    }

    pub(crate) fn is_block(self) -> bool {
        self.flags() & BLOCK != 0
    }

    pub(crate) fn is_block_end(self) -> bool {
        self.flags() & BLOCK_END != 0
    }

    pub(crate) fn is_implied(self) -> bool {
        self.flags() & IMPLIED != 0
    }

    pub(crate) fn is_heading(self) -> bool {
        self.flags() & HEADING != 0
    }

    pub(crate) fn is_raw(self) -> bool {
        self.flags() & RAW != 0
    }

    pub(crate) fn is_breakout(self) -> bool {
        self.flags() & BREAKOUT != 0
    }

    pub(crate) fn is_head(self) -> bool {
        self.flags() & HEAD != 0
    }

    pub(crate) fn is_marker(self) -> bool {
        self.flags() & MARKER != 0
    }

    pub(crate) fn is_table_part(self) -> bool {
        self.flags() & PART != 0
    }

    /// Whether it starts a block of text, or changes which text is the page's own.
    pub(crate) fn is_boundary(self) -> bool {
        self.flags() & (SPECIAL | PLACE) != 0
    }

    pub(crate) fn changes_place(self) -> bool {
        self.flags() & PLACE != 0
    }

    pub(crate) fn is_one_of(self, names: &[TagName]) -> bool {
        names.contains(&self)
    }
}

/// Byte that stands for no element.
pub(crate) const NO_TAG: u8 = u8::MAX;

/// Whether a byte of a tag path is one of `h1` to `h6`.
pub(crate) fn is_heading(path_byte: u8) -> bool {
    TagName(path_byte.into()).is_heading()
}

/// Spelling of a byte of a tag path.
pub(crate) fn spelling(path_byte: u8) -> &'static str {
    NAMES.get(path_byte as usize).copied().unwrap_or("?")
}

const SLOTS: usize = 1024;

/// A name of up to 16 bytes in lower case, as two numbers.
const fn packed(bytes: &[u8]) -> (u64, u64) {
    let (mut low, mut high) = (0u64, 0u64);
    let mut i = 0;
    while i < bytes.len() {
        let byte = lowered(bytes[i] as u64) & 0xff;
        if i < 8 {
            low |= byte << (8 * i);
        } else {
            high |= byte << (8 * (i - 8));
        }
        i += 1;
    }
    (low, high)
}

/// Sets bit 5 of eight bytes: lowers letters, and leaves digits and hyphens unchanged. Other bytes never become a valid
/// name.
const fn lowered(bytes: u64) -> u64 {
    bytes | 0x2020_2020_2020_2020
}

const fn slot_of(key: (u64, u64)) -> usize {
    ((key.0 ^ key.1.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54) as usize % SLOTS
}

static KEYS: [(u64, u64); KNOWN] = {
    let mut keys = [(0, 0); KNOWN];
    let mut i = 0;
    while i < KNOWN {
        keys[i] = packed(NAMES[i].as_bytes());
        i += 1;
    }
    keys
};

/// Open addressing: 0 is empty, otherwise the name's number plus 1.
static TABLE: [u8; SLOTS] = {
    let mut table = [0u8; SLOTS];
    let mut i = 0;
    while i < KNOWN {
        let mut slot = slot_of(packed(NAMES[i].as_bytes()));
        while table[slot] != 0 {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = i as u8 + 1;
        i += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_is_found_in_any_case() {
        for (index, name) in NAMES.iter().enumerate() {
            assert_eq!(TagName::of(name.as_bytes()).index(), Some(index), "{name}");
            assert_eq!(TagName::of(name.to_uppercase().as_bytes()).index(), Some(index), "{name}");
            assert_eq!(spelling(index as u8), *name);
            let text = format!("<{}  class=x>", name.to_uppercase());
            assert_eq!(TagName::at(text.as_bytes(), 1, name.len()).index(), Some(index), "{name}");
        }
    }

    #[test]
    fn other_names_are_told_apart() {
        let names = ["x", "my-element", "h7", "tablex", "a\u{e9}", "a-name-that-is-longer-than-sixteen"];
        for (i, one) in names.iter().enumerate() {
            assert_eq!(TagName::of(one.as_bytes()).index(), None);
            assert_eq!(TagName::of(one.as_bytes()), TagName::of(one.to_ascii_uppercase().as_bytes()));
            assert!(
                names[i + 1..]
                    .iter()
                    .all(|other| TagName::of(one.as_bytes()) != TagName::of(other.as_bytes()))
            );
        }
    }
}
