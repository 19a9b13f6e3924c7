//! The apprentice's parameters.

use crate::NameError;
use crate::parameters::Parameters;

/// All that can be set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) encoding: Encoding,
    /// The farthest DOM offset is chosen by cross-validation.
    pub(super) is_reach_chosen: bool,
    pub(super) learner: Kind,
    /// Pages after which it is trained first; 0: never, it watches and follows soft focus.
    pub(super) first_training: u64,
    /// It is trained again when the pages have grown by this factor.
    pub(super) growth: f64,
    pub(super) parents: Parents,
    /// Links with more features are counted as if they had so many (A 2.3); 0 for as many as they have.
    pub(super) length: u32,
    /// Share of the instances to learn from: those with the largest |Pr(c*|u) - Pr(c*|v)| (A 4).
    pub(super) surprises: f64,
    /// So many waiting links are remembered with what stands around them.
    pub(super) remembered: usize,
}

/// What a link is described by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// How terms become features.
    pub terms: Terms,
    /// The farthest DOM offset.
    pub d_max: u32,
    /// The name of the source page's best topic.
    pub topics: Topics,
    /// The probabilities of its topics.
    pub classes: bool,
    /// What neighbouring links turned out to be.
    pub cocitation: bool,
    /// Terms beyond d_max, as d = infinity.
    pub far: bool,
}

/// How terms become features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terms {
    /// <t,d>: a term and its DOM offset from the link (A 2.2.2).
    Offset,
    /// The term alone: a plain window (A Fig. 7).
    Window,
    /// <t,l,d> with the length of the way through the tree (A 4).
    Way,
    /// <t,l,d> with the depth of the lowest common ancestor (A 4).
    Ancestor,
}

/// What the best topic of a link's source page is a feature by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topics {
    /// It is none.
    No,
    /// Its name (A 3.8).
    Name,
    /// Its name and all prefixes of it.
    Prefixes,
}

/// Who learns (A 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Naive Bayes with two classes.
    Bayes,
    /// A linear perceptron without a threshold, trained by the delta rule: what it says is an estimate of R.
    Regression,
    /// One with a threshold, which learns from its mistakes alone.
    Perceptron,
}

/// Whose word counts when several pages link to the same URL (A footnote 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parents {
    First,
    Highest,
    Last,
}

impl Parents {
    /// What links make a URL worth, and one that was found after them.
    pub(super) fn of_both(self, said: f64, worth: f64) -> f64 {
        match self {
            Parents::First => said,
            Parents::Highest => said.max(worth),
            Parents::Last => worth,
        }
    }
}

impl Encoding {
    /// Terms within so many leaves, and nothing else.
    pub fn of_terms(terms: Terms, d_max: u32) -> Encoding {
        Encoding { terms, d_max, topics: Topics::No, classes: false, cocitation: false, far: false }
    }

    /// A number that tells encodings apart: lessons of one mean nothing to another.
    pub(super) fn code(&self) -> u32 {
        let flags = [self.topics == Topics::Prefixes, self.classes, self.cocitation, self.far];
        let flags = flags.iter().fold(0, |code, flag| code << 1 | u32::from(*flag));
        let name = u32::from(self.topics == Topics::Name) << 3;
        self.d_max << 8 | flags << 4 | name | self.terms as u32
    }

    /// Whether the topics of the source page are features.
    pub(super) fn has_topics(&self) -> bool {
        self.topics != Topics::No || self.classes
    }

    /// The same, looking so far around a link.
    pub(super) fn reaching(self, d_max: u32) -> Encoding {
        Encoding { d_max, ..self }
    }
}

impl Settings {
    pub(super) fn read(parameters: &mut Parameters<'_>) -> Result<Settings, NameError> {
        let terms = match parameters.word("features", &["td", "window", "tld", "tad"])? {
            "window" => Terms::Window,
            "tld" => Terms::Way,
            "tad" => Terms::Ancestor,
            _ => Terms::Offset,
        };
        let d_max = parameters.number_or("auto", "d", 5, 0..=64)?;
        let topics = match parameters.word("topics", &["no", "yes", "name"])? {
            "yes" => Topics::Prefixes,
            "name" => Topics::Name,
            _ => Topics::No,
        };
        let mut is = |key| Ok::<bool, NameError>(parameters.word(key, &["no", "yes"])? == "yes");
        let encoding = Encoding {
            terms,
            // Until there is something to choose by, that of the paper.
            d_max: d_max.unwrap_or(5),
            topics,
            classes: is("classes")?,
            cocitation: is("cocitation")?,
            far: is("far")?,
        };
        if encoding.far && d_max.is_none() {
            let wanted = "a number where far=yes: all that is farther is one feature then".to_owned();
            return Err(parameters.bad("d", "auto", wanted));
        }
        let learner = match parameters.word("learner", &["bayes", "regression", "perceptron"])? {
            "regression" => Kind::Regression,
            "perceptron" => Kind::Perceptron,
            _ => Kind::Bayes,
        };
        let parents = match parameters.word("parents", &["highest", "first", "last"])? {
            "first" => Parents::First,
            "last" => Parents::Last,
            _ => Parents::Highest,
        };
        Ok(Settings {
            encoding,
            is_reach_chosen: d_max.is_none(),
            learner,
            parents,
            first_training: parameters.number("train", 25, 0..=1_000_000_000)?,
            growth: parameters.number("again", 1.25, 1.0..=1_000.0)?,
            length: parameters.number("length", 0, 0..=1_000_000)?,
            surprises: parameters.number("surprises", 1.0, 0.01..=1.0)?,
            remembered: parameters.number("remember", 200_000, 1..=1_000_000_000)?,
        })
    }
}
