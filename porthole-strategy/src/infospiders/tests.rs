use super::*;
use crate::harness::{Harness, TestWeb, goal, url};

fn spiders(name: &str) -> InfoSpiders {
    let mut parameters = Parameters::parse(name).unwrap();
    InfoSpiders::new(&mut parameters, &goal("owl", 1)).unwrap()
}

fn energies(spiders: &InfoSpiders) -> Vec<i64> {
    spiders.agents.iter().map(|agent| (agent.energy * 100.0).round() as i64).collect()
}

#[test]
fn energy_follows_similarity_and_agents_die_without_it() {
    let web = TestWeb::new(&[
        // Cosines with (owl): 1, 0, 0.
        ("/s", "owl <a href=/a></a>", 0.5),
        ("/a", "cheese <a href=/b></a>", 0.5),
        ("/b", "cheese <a href=/c></a>", 0.5),
    ]);
    let mut one = spiders("infospiders:gain=1,threshold=2");
    // The first page equals the mean of all pages so far: energy stays at 2 / 2.
    web.tell(&mut one, "/s");
    assert_eq!(energies(&one), [100]);
    // The mean is 1/2 now, then 1/3.
    web.tell(&mut one, "/a");
    assert_eq!(energies(&one), [50]);
    web.tell(&mut one, "/b");
    assert_eq!(energies(&one), [17]);
    // With a gain of 2, the energy is 0 after the second page, and the agent dies.
    let mut two = spiders("infospiders:gain=2,threshold=2");
    web.tell(&mut two, "/s");
    web.tell(&mut two, "/a");
    assert_eq!(energies(&two), Vec::<i64>::new());
    // The next page creates a new agent, and costs it 2 / 3 of its energy of 1.
    web.tell(&mut two, "/b");
    assert_eq!((energies(&two), two.born), (vec![33], 2));
}

#[test]
fn an_agent_with_enough_energy_splits() {
    let web = TestWeb::new(&[
        ("/0", "cheese <a href=/s></a>", 0.5),
        ("/s", "owl owl barn <a href=/a></a><a href=/b></a><a href=/c></a><a href=/d></a>", 0.5),
    ]);
    let mut spiders = spiders("infospiders:gain=3,threshold=2");
    web.tell(&mut spiders, "/0");
    web.tell(&mut spiders, "/s");
    // Cosine 2 / sqrt 5 = 0.894, mean 0.447: 1 + 3 * 0.447 = 2.342, half each.
    assert_eq!(energies(&spiders), [117, 117]);
    let after = |agent: usize, path: &str| spiders.agents[agent].has_link(url(path).id());
    assert_eq!(["/a", "/b", "/c", "/d"].map(|path| after(0, path)), [true, false, true, false]);
    assert_eq!(["/a", "/b", "/c", "/d"].map(|path| after(1, path)), [false, true, false, true]);
    // The child has learnt a word of the page.
    let barn = crate::harness::terms("barn")[0];
    assert_eq!((spiders.agents[0].has_keyword(barn), spiders.agents[1].has_keyword(barn)), (false, true));
    // No agent splits when the maximum number of agents exists.
    let mut alone = super::tests::spiders("infospiders:gain=3,threshold=2,agents=1");
    web.tell(&mut alone, "/0");
    web.tell(&mut alone, "/s");
    assert_eq!(energies(&alone), [234]);
}

#[test]
fn links_near_keywords_are_drawn_more_often() {
    let far = "<p></p>".repeat(9);
    let html = format!("<a href=/near>owl</a>{far}<a href=/far>cheese</a>");
    let web = TestWeb::new(&[("/s", &html, 0.5)]);
    let near_first = |beta: &str| {
        let first = |seed| {
            let name = format!("infospiders:beta={beta}");
            let mut crawl = Harness::new(&web, &name, &goal("owl", seed), &[url("/s")]);
            crawl.run(2).ends_with("/near")
        };
        (0..200).filter(|seed| first(*seed)).count()
    };
    // Scores tanh 0.5 = 0.462 and 0: softmax gives the near one 1 / (1 + exp(-0.462 beta)).
    let (even, some, most) = (near_first("0"), near_first("3"), near_first("20"));
    assert!((80..=120).contains(&even), "{even} of 200, expected 100");
    assert!((145..=175).contains(&some), "{some} of 200, expected 160");
    assert_eq!(most, 200);
}

#[test]
fn choose_does_not_change_the_state() {
    let web = TestWeb::new(&[("/s", "<a href=/a></a><a href=/b></a><a href=/c></a>", 0.5)]);
    let mut spiders = spiders("infospiders");
    web.tell(&mut spiders, "/s");
    let (first, before) = (spiders.choose(1), spiders.save());
    assert_eq!((spiders.choose(1), spiders.choose(5).len(), spiders.save()), (first, 3, before));
}
