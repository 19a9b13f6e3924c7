//! Sentences, titles and anchors. Words are drawn from the page's topic, its branch, the common vocabulary and a few
//! favourite words of the page; function words alternate with content words.

use super::draw::{Draw, For};
use super::lexicon::{WordTable, push_name};
use super::plan::{Role, WebPlan};
use super::sites::SyntheticPage;
use super::topics::LeafTopic;
use super::vocabulary::SILENT_ANCHORS;

/// Writes the text of a page.
pub(crate) struct TextStyle<'a> {
    plan: &'a WebPlan,
    leaf: Option<LeafTopic>,
    sources: WordSources<'a>,
    /// Random bits of the page's favourite words.
    favourites: [u32; 8],
    names: [u32; 4],
    /// Of 256 words, the number of function words.
    joins: u64,
}

/// Distribution of the words' sources: a kind for each of 256 random values, a table for each kind.
#[derive(Clone)]
struct WordSources<'a> {
    kinds: [u8; 256],
    tables: [&'a WordTable; 7],
}

const FUNCTION: u8 = 0;
const COMMON: u8 = 1;
const TOPIC: u8 = 2;
const FAVOURITE: u8 = 3;
const SECOND: u8 = 4;
const BRANCH: u8 = 5;
const STRAY: u8 = 6;
const NAME: u8 = 7;
const ENTITY: u8 = 8;

impl<'a> TextStyle<'a> {
    /// The text style of a page.
    pub(crate) fn of(plan: &'a WebPlan, page: SyntheticPage, role: Role) -> Self {
        let mut draw = plan.draw(For::Text, page);
        let spam = role == Role::Spam;
        let leaf = if spam { Some(plan.sites.of(page).main) } else { plan.leaf(page) };
        let second = match role {
            Role::Chain { island, .. } => Some((plan.sites.islands[usize::from(island)].leaf, HINT)),
            _ => {
                let twin = leaf.and_then(|leaf| plan.atlas.partner(leaf));
                twin.map(|twin| (twin, topic_share(plan.params.commingling)))
            }
        };
        let stray = plan.any_leaf(&mut draw);
        let mut sources = WordSources::of(plan, leaf, second, stray);
        if spam {
            sources.use_spam_words(plan);
        }
        TextStyle {
            plan,
            leaf,
            sources,
            favourites: std::array::from_fn(|_| word_bits(draw.bits())),
            names: std::array::from_fn(|_| word_bits(draw.bits())),
            joins: if spam { 25 } else { 150 },
        }
    }

    /// Writes a sentence.
    pub(crate) fn sentence(&self, out: &mut Vec<u8>, key: u64) {
        let mut draw = Draw::of(key);
        let bits = draw.bits();
        let start = out.len();
        self.words(out, &mut draw, 7 + (bits % 13) as u32, &self.sources);
        out[start].make_ascii_uppercase();
        out.extend_from_slice(match bits >> 40 & 31 {
            0 | 1 => b"? ",
            2 => b"! ",
            3 => b": ",
            _ => b". ",
        });
    }

    /// Writes a phrase about a topic.
    pub(crate) fn phrase(&self, out: &mut Vec<u8>, key: u64, n: u32, leaf: Option<LeafTopic>) {
        let mut draw = Draw::of(key);
        match leaf {
            Some(leaf) if self.leaf != Some(leaf) => {
                let sources = WordSources::of(self.plan, Some(leaf), None, leaf);
                self.words(out, &mut draw, n, &sources);
            }
            _ => self.words(out, &mut draw, n, &self.sources),
        }
    }

    /// One random number per word and hardly any data-dependent branch, because this loop is most of the work.
    fn words(&self, out: &mut Vec<u8>, draw: &mut Draw, n: u32, sources: &WordSources<'_>) {
        let mut joined = false;
        for i in 0..n {
            let bits = draw.bits();
            if i > 0 {
                if !joined && bits >> 26 & 63 == 0 {
                    out.push(b',');
                }
                out.push(b' ');
            }
            joined = !joined & (bits & 0xff < self.joins) & (i + 1 < n);
            let kind = if joined { FUNCTION } else { sources.kinds[(bits >> 8 & 0xff) as usize] };
            let fresh = word_bits(bits);
            let pick = if kind == FAVOURITE { self.favourites[(fresh & 7) as usize] } else { fresh };
            match kind {
                NAME => push_name(out, self.names[(pick >> 30) as usize]),
                ENTITY => out.extend_from_slice(ENTITIES[(pick >> 29) as usize].as_bytes()),
                _ => sources.tables[usize::from(kind)].word(pick).push(out),
            }
        }
    }
}

impl<'a> WordSources<'a> {
    /// Word sources of a page about a topic, with some words of a second one: the twin of a commingled topic, or the
    /// topic that a page of a chain hints at.
    fn of(
        plan: &'a WebPlan,
        leaf: Option<LeafTopic>,
        second: Option<(LeafTopic, usize)>,
        stray: LeafTopic,
    ) -> Self {
        let lexicon = &plan.lexicon;
        let mut kinds = [COMMON; 256];
        let (second, share) = second.unwrap_or((stray, 0));
        if leaf.is_some() {
            kinds[..TOPIC_WORDS].fill(TOPIC);
            kinds[..FAVOURITE_WORDS].fill(FAVOURITE);
            kinds[TOPIC_WORDS - share..TOPIC_WORDS].fill(SECOND);
            kinds[TOPIC_WORDS..108].fill(BRANCH);
        }
        kinds[108..118].fill(STRAY);
        kinds[118..124].fill(NAME);
        kinds[124] = ENTITY;
        let topic = leaf.unwrap_or(stray);
        let tables = [
            &lexicon.function,
            &lexicon.common,
            lexicon.leaf(topic),
            lexicon.leaf(topic),
            lexicon.leaf(second),
            lexicon.branch(topic),
            lexicon.leaf(stray),
        ];
        WordSources { kinds, tables }
    }

    /// Switches to the words of a farm: mostly popular words, repeated.
    fn use_spam_words(&mut self, plan: &'a WebPlan) {
        self.kinds[TOPIC_WORDS..200].fill(SECOND);
        self.tables[usize::from(SECOND)] = &plan.lexicon.spam;
    }
}

impl WebPlan {
    /// Writes the title of a page: words of its topic.
    pub(crate) fn push_title(&self, out: &mut Vec<u8>, page: SyntheticPage) {
        let page = self.sites.origin(page);
        let mut draw = self.draw(For::Title, page);
        let bits = draw.bits();
        let table = self.leaf(page).map_or(&self.lexicon.common, |leaf| self.lexicon.leaf(leaf));
        if bits & 7 == 0 {
            out.extend_from_slice(b"The ");
        }
        table.word(word_bits(bits)).push_capital(out);
        out.push(b' ');
        self.lexicon.common.word(word_bits(draw.bits())).push(out);
        if bits & 16 != 0 {
            out.extend_from_slice(if bits & 32 != 0 { b" and " } else { b" for " });
            table.word(word_bits(draw.bits())).push(out);
        }
        if bits & 64 != 0 {
            out.extend_from_slice(b" of ");
            push_name(out, word_bits(draw.bits()));
        }
    }

    /// Writes the anchor text of a link to a page, which may or may not describe it.
    pub(crate) fn push_anchor(&self, out: &mut Vec<u8>, to: SyntheticPage, key: u64) {
        let mut draw = Draw::of(key);
        if !draw.chance(self.rates.anchors_tell) {
            out.extend_from_slice(draw.pick(SILENT_ANCHORS).as_bytes());
        } else if let (Some(leaf), 0) = (self.leaf(to), draw.below(3)) {
            let table = self.lexicon.leaf(leaf);
            table.word(word_bits(draw.bits())).push(out);
            out.push(b' ');
            table.word(word_bits(draw.bits())).push(out);
        } else {
            self.push_title(out, to);
        }
    }
}

/// Of 256 content words, the number of topic words, and of favourites among them.
const TOPIC_WORDS: usize = 88;
const FAVOURITE_WORDS: usize = 20;

/// Of 256 content words, the number that hint at the community behind a chain.
const HINT: usize = 16;

/// Character references between words, which a parser has to decode.
const ENTITIES: [&str; 8] = [
    "&amp;",
    "caf&eacute;",
    "&mdash;",
    "R&amp;D",
    "&quot;so&quot;",
    "&#8220;why&#8221;",
    "na&#xEF;ve",
    "&copy;",
];

/// A share of the topic words that are not favourites.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn topic_share(share: f64) -> usize {
    ((TOPIC_WORDS as f64 * share) as usize).min(TOPIC_WORDS - FAVOURITE_WORDS)
}

#[inline]
fn word_bits(bits: u64) -> u32 {
    (bits >> 32) as u32
}
