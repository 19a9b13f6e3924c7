//! The answer to the question which topic the pages are about.

use porthole_topic::Taxonomy;

use super::below;
use crate::commands::propose::TopicProposal;

/// The topic that an answer means: the default, a number in the list, the path of a topic, or the name of a new one below
/// the best proposal. Otherwise why it means none.
pub(super) fn chosen_topic(
    answer: &str,
    proposals: &[TopicProposal],
    default: &str,
    tree: &Taxonomy,
) -> Result<String, String> {
    let path = match answer.parse::<usize>() {
        _ if answer.is_empty() => default.to_owned(),
        Ok(number) => match proposals.get(number.wrapping_sub(1)) {
            Some(proposal) => proposal.topic.clone(),
            None => return Err(format!("no topic {number} in the list; it has 1 to {}", proposals.len())),
        },
        Err(_) if answer.starts_with('/') => {
            tree.find(answer).map_err(|unknown| unknown.to_string())?;
            answer.to_owned()
        }
        Err(_) => match proposals.first() {
            Some(best) => below(best, answer),
            None => format!("/{answer}"),
        },
    };
    // A name that no topic can have.
    tree.clone().add_path(&path).map_err(|error| error.to_string())?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_a_topic_or_says_why_not() {
        let mut tree = Taxonomy::new();
        for path in ["/Science/Biology/Birds", "/Science/Physics"] {
            tree.add_path(path).unwrap();
        }
        let proposals = ["/Science/Biology/Birds", "/Science/Physics"].map(TopicProposal::sure_of);
        let check = |answer: &str, expected: Result<&str, &str>| {
            let chosen = chosen_topic(answer, &proposals, "/Default", &tree);
            match (&chosen, expected) {
                (Ok(path), Ok(expected)) => assert_eq!(path, expected, "{answer}"),
                (Err(why), Err(words)) => assert!(why.contains(words), "{answer}: {why}"),
                _ => panic!("{answer}: {chosen:?}"),
            }
        };
        check("", Ok("/Default"));
        check("2", Ok("/Science/Physics"));
        check("Owls", Ok("/Science/Biology/Birds/Owls"));
        check("/Science/Physics", Ok("/Science/Physics"));
        check("0", Err("it has 1 to 2"));
        check("7", Err("it has 1 to 2"));
        check("/Birds", Err("/Science/Biology/Birds"));
        check(&"x".repeat(300), Err("not a valid topic name"));
    }
}
