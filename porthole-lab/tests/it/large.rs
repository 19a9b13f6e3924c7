//! Claims of A 3.5 and 3.7 on the large synthetic web of `experiments/large.toml`.

use std::path::Path;

use porthole_lab::experiment::{Fields, PreparedExperiment};

/// Mean loss of a strategy at 1,000 pages, over three topics.
#[test]
#[ignore = "reads 200,000 pages: cargo test --release -p porthole-lab --test it large -- --ignored"]
fn apprentices_cut_the_loss_of_soft_focus() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../experiments/large.toml");
    let names = ["soft", "apprentice", "apprentice~soft"];
    let fewer = Fields {
        topics: Some(
            ["/Recreation/Sailing", "/Home/Baking", "/Computers/Compilers"].map(str::to_owned).to_vec(),
        ),
        strategies: Some(names.map(str::to_owned).to_vec()),
        at: Some(vec![1_000]),
        studies: Some(Vec::new()),
        ..Fields::default()
    };
    let experiment = fewer.or(Fields::read(&file).unwrap()).check("large.toml").unwrap();
    let outcomes = PreparedExperiment::new(experiment).unwrap().run(None, 1, &|_| {}).unwrap();
    let loss = |name: &str| -> f64 {
        let own = outcomes.iter().filter(|outcome| outcome.strategy == name);
        own.map(|outcome| outcome.lost(1_000)).sum()
    };
    let cut = |name: &str| 1.0 - loss(name) / loss("soft");
    let [online, offline] = [cut("apprentice"), cut("apprentice~soft")];
    assert!(offline >= 0.3, "off-line {offline:.3}, online {online:.3}");
    assert!(online >= 0.1, "off-line {offline:.3}, online {online:.3}");
}
