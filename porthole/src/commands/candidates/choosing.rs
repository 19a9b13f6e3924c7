//! Which candidates become examples: those that the user says yes to, or the best ones.

use super::{Candidate, CandidateList};
use crate::asking;
use crate::output::{self, Paint, count, plain, quoted};

/// Score from which a page fits: half of what a page could have that consists of nothing but the words.
pub(super) const FITS: f64 = 0.5;

/// Maximum and minimum number of pages that are taken without being asked for.
const MOST_TAKEN: usize = 10;
pub(crate) const FEWEST_TAKEN: usize = 3;

/// Number of failures that are listed.
const SHOWN_FAILURES: usize = 5;

/// Numbers of candidates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CandidateChoice {
    /// They become examples.
    pub(crate) examples: Vec<usize>,
    /// Neither confirmed nor rejected: a crawl may start from them.
    pub(crate) starts: Vec<usize>,
}

/// An answer to the question whether a page is about the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateAnswer {
    Yes,
    No,
    Skip,
    Enough,
}

impl CandidateList {
    /// The best pages that fit, at most ten; a crawl may start from the others. An error says why there are too few.
    pub(crate) fn best(&self) -> Result<CandidateChoice, String> {
        let fitting = (0..self.found.len()).filter(|&number| self.found[number].fits);
        let examples: Vec<usize> = fitting.take(MOST_TAKEN).collect();
        if examples.len() >= FEWEST_TAKEN {
            return Ok(self.taking(examples));
        }
        Err(format!(
            "{} of {} with words of {} fit (a score of {:.0}% or more), and {FEWEST_TAKEN} are needed: use other words, or \
             look at the pages and name those that are about it by their URLs",
            examples.len(),
            count(self.found.len(), "page"),
            quoted(&self.words),
            100.0 * FITS
        ))
    }

    /// A choice of some candidates; none of the others is rejected.
    pub(crate) fn taking(&self, examples: Vec<usize>) -> CandidateChoice {
        let starts = (0..self.found.len()).filter(|number| !examples.contains(number)).collect();
        CandidateChoice { examples, starts }
    }

    /// Asks about one page after the other.
    pub(crate) async fn ask(&self) -> CandidateChoice {
        let mut choice = CandidateChoice::default();
        let mut is_enough = false;
        output::say("");
        for (number, candidate) in self.found.iter().enumerate() {
            let question = format!(
                "{}\nis it about {}? yes, no, skip, or enough [y/n/s/e]",
                candidate.lines(number + 1),
                plain(&quoted(&self.words))
            );
            let answer = match is_enough {
                true => CandidateAnswer::Enough,
                false => asking::ask_until(&question, understood).await.unwrap_or(CandidateAnswer::Enough),
            };
            is_enough = answer == CandidateAnswer::Enough;
            choice.add(number, answer);
        }
        choice
    }

    /// The candidates for people, and what could not be read.
    pub(crate) fn lines(&self) -> String {
        let mut lines =
            vec![format!("{} with words of {}:", count(self.found.len(), "page"), quoted(&self.words))];
        lines.extend(self.found.iter().enumerate().map(|(number, page)| page.lines(number + 1)));
        lines.join("\n")
    }

    /// Says which pages are no candidates.
    pub(crate) fn say_left_out(&self) {
        if self.without_words > 0 {
            output::say(&format!("{} with none of the words left out", count(self.without_words, "page")));
        }
        if !self.failed.is_empty() {
            output::say(&format!("{} could not be read:", count(self.failed.len(), "page")));
            let shown = &self.failed[..self.failed.len().min(SHOWN_FAILURES)];
            let lines =
                output::some_of(shown, self.failed.len(), |page| format!("{}: {}", page.url, page.why));
            lines.iter().for_each(|line| output::say(line));
        }
    }
}

impl CandidateChoice {
    fn add(&mut self, number: usize, answer: CandidateAnswer) {
        match answer {
            CandidateAnswer::Yes => self.examples.push(number),
            CandidateAnswer::No => {}
            CandidateAnswer::Skip | CandidateAnswer::Enough => self.starts.push(number),
        }
    }
}

fn understood(answer: &str) -> Result<CandidateAnswer, String> {
    match answer.to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(CandidateAnswer::Yes),
        "n" | "no" => Ok(CandidateAnswer::No),
        "" | "s" | "skip" => Ok(CandidateAnswer::Skip),
        "e" | "enough" | "q" | "quit" => Ok(CandidateAnswer::Enough),
        _ => Err("answer y, n, s to skip the page, or e if there are enough".to_owned()),
    }
}

impl Candidate {
    fn lines(&self, number: usize) -> String {
        let score = format!("{:.0}%", 100.0 * self.score);
        let fits = if self.fits { Paint::Good.on(&score) } else { score };
        let title = if self.title.is_empty() { &self.url } else { &self.title };
        let mut lines = format!(
            "{number:>4}. {fits}  {}\n      {}",
            Paint::Strong.on(&plain(title)),
            Paint::Faint.on(&plain(&self.url))
        );
        if !self.snippet.is_empty() {
            lines += &format!("\n      {}", plain(&self.snippet));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::TermDocument;

    fn list(scores: &[f64]) -> CandidateList {
        let candidate = |&score: &f64| Candidate {
            url: "http://a.test/".to_owned(),
            title: String::new(),
            snippet: String::new(),
            source: String::new(),
            score,
            similarity: None,
            fits: score >= FITS,
            rank: score,
            document: TermDocument::unread(),
        };
        CandidateList {
            words: "barn owl".to_owned(),
            found: scores.iter().map(candidate).collect(),
            failed: Vec::new(),
            without_words: 0,
            is_interrupted: false,
        }
    }

    #[test]
    fn without_questions_the_best_that_fit_are_taken() {
        let choice = list(&[0.9, 0.7, 0.5, 0.4]).best().unwrap();
        assert_eq!((choice.examples, choice.starts), (vec![0, 1, 2], vec![3]));
        let many = list(&[0.8; 15]).best().unwrap();
        assert_eq!((many.examples.len(), many.starts.len()), (10, 5));
        let few = list(&[0.9, 0.8, 0.4]).best().unwrap_err();
        assert!(few.starts_with("2 of 3 pages") && few.contains("URLs"), "{few}");
    }

    #[test]
    fn answers_say_what_becomes_of_a_page() {
        let mut choice = CandidateChoice::default();
        for (number, answer) in ["y", "NO", "", "skip", "e"].into_iter().enumerate() {
            choice.add(number, understood(answer).unwrap());
        }
        assert_eq!(choice, CandidateChoice { examples: vec![0], starts: vec![2, 3, 4] });
        assert!(understood("maybe").is_err());
    }
}
