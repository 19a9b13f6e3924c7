//! The apprentice's parameters.

use crate::NameError;
use crate::parameters::Parameters;

/// Settings of an apprentice.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApprenticeSettings {
    pub(super) encoding: Encoding,
    /// Whether the maximum offset is chosen by cross-validation.
    pub(super) is_reach_chosen: bool,
    pub(super) learner: LearnerKind,
    /// Number of pages before the first training; 0 never trains and follows soft focus.
    pub(super) first_training: u64,
    /// Growth factor of the number of pages between trainings.
    pub(super) growth: f64,
    pub(super) parents: Parents,
    /// Links with more features are scaled down to this number (A 2.3); 0 for no limit.
    pub(super) length: u32,
    /// Share of the instances to learn from: those with the largest |Pr(c*|u) - Pr(c*|v)| (A 4).
    pub(super) surprises: f64,
    /// Maximum number of waiting links whose contexts are remembered.
    pub(super) remembered: usize,
}

/// Selection of a link's features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// How terms become features.
    pub terms: TermEncoding,
    /// The farthest DOM offset.
    pub d_max: u32,
    /// Whether the source page's best topic is a feature.
    pub topics: TopicEncoding,
    /// Whether the probabilities of the source page's topics are features.
    pub classes: bool,
    /// Whether the relevance of neighbouring links' targets is a feature.
    pub cocitation: bool,
    /// Whether terms beyond d_max are features, as d = infinity.
    pub far: bool,
}

/// How terms become features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermEncoding {
    /// <t,d>: a term and its DOM offset from the link (A 2.2.2).
    Offset,
    /// The term alone: a plain window (A Fig. 7).
    Window,
    /// <t,l,d> with the length of the path through the DOM tree (A 4).
    Way,
    /// <t,l,d> with the depth of the lowest common ancestor (A 4).
    Ancestor,
}

/// How the best topic of the source page becomes a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicEncoding {
    /// Not a feature.
    No,
    /// Its name (A 3.8).
    Name,
    /// Its name and all prefixes of it.
    Prefixes,
}

/// Learning algorithm (A 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnerKind {
    /// Naive Bayes with two classes.
    Bayes,
    /// A linear perceptron without a threshold, trained by the delta rule; its output estimates R.
    Regression,
    /// A perceptron with a threshold, which learns from its mistakes only.
    Perceptron,
}

/// Which link's priority counts when several pages link to the same URL (A footnote 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parents {
    First,
    Highest,
    Last,
}

impl Parents {
    /// Merges the priority `earlier` of earlier links with that of a later one.
    pub(super) fn merge_worth(self, earlier: f64, worth: f64) -> f64 {
        match self {
            Parents::First => earlier,
            Parents::Highest => earlier.max(worth),
            Parents::Last => worth,
        }
    }
}

impl Encoding {
    /// Terms within `d_max` leaves, and no other features.
    pub fn of_terms(terms: TermEncoding, d_max: u32) -> Encoding {
        Encoding { terms, d_max, topics: TopicEncoding::No, classes: false, cocitation: false, far: false }
    }

    /// Code that identifies the encoding: lessons with different codes cannot be combined.
    pub(super) fn code(&self) -> u32 {
        let flags = [self.topics == TopicEncoding::Prefixes, self.classes, self.cocitation, self.far];
        let flags = flags.iter().fold(0, |code, flag| code << 1 | u32::from(*flag));
        let name = u32::from(self.topics == TopicEncoding::Name) << 3;
        self.d_max << 8 | flags << 4 | name | self.terms as u32
    }

    /// Whether the topics of the source page are features.
    pub(super) fn has_topics(&self) -> bool {
        self.topics != TopicEncoding::No || self.classes
    }

    /// The same encoding with another maximum offset.
    pub(super) fn with_d_max(self, d_max: u32) -> Encoding {
        Encoding { d_max, ..self }
    }
}

impl ApprenticeSettings {
    pub(super) fn read(parameters: &mut Parameters<'_>) -> Result<ApprenticeSettings, NameError> {
        let terms = match parameters.word("features", &["td", "window", "tld", "tad"])? {
            "window" => TermEncoding::Window,
            "tld" => TermEncoding::Way,
            "tad" => TermEncoding::Ancestor,
            _ => TermEncoding::Offset,
        };
        let d_max = parameters.number_or("auto", "d", 5, 0..=64)?;
        let topics = match parameters.word("topics", &["no", "yes", "name"])? {
            "yes" => TopicEncoding::Prefixes,
            "name" => TopicEncoding::Name,
            _ => TopicEncoding::No,
        };
        let mut is = |key| Ok::<bool, NameError>(parameters.word(key, &["no", "yes"])? == "yes");
        let encoding = Encoding {
            terms,
            // Until an offset is chosen, that of the paper.
            d_max: d_max.unwrap_or(5),
            topics,
            classes: is("classes")?,
            cocitation: is("cocitation")?,
            far: is("far")?,
        };
        if encoding.far && d_max.is_none() {
            let wanted = "a number if far=yes, which makes one feature of all farther terms".to_owned();
            return Err(parameters.bad("d", "auto", wanted));
        }
        let learner = match parameters.word("learner", &["bayes", "regression", "perceptron"])? {
            "regression" => LearnerKind::Regression,
            "perceptron" => LearnerKind::Perceptron,
            _ => LearnerKind::Bayes,
        };
        let parents = match parameters.word("parents", &["highest", "first", "last"])? {
            "first" => Parents::First,
            "last" => Parents::Last,
            _ => Parents::Highest,
        };
        Ok(ApprenticeSettings {
            encoding,
            is_reach_chosen: d_max.is_none(),
            learner,
            parents,
            first_training: parameters.number("train", 25, 0..=1_000_000_000)?,
            growth: parameters.number("again", 1.25, 1.0..=1_000.0)?,
            length: parameters.number("length", 10, 0..=1_000_000)?,
            surprises: parameters.number("surprises", 1.0, 0.01..=1.0)?,
            remembered: parameters.number("remember", 200_000, 1..=1_000_000_000)?,
        })
    }
}
