//! Examples in languages that the general taxonomy says nothing about.

use serde_json::Value as Json;

use crate::start::{Server, check, json, on_loopback};

/// Sentences on bees, and on other things, in one language.
struct Tongue {
    code: &'static str,
    name: &'static str,
    bees: &'static [&'static str],
    others: &'static [&'static str],
}

const TONGUES: &[Tongue] = &[
    Tongue {
        code: "de",
        name: "German",
        bees: &[
            "Der Imker schaut nach, ob die Königin im Bienenstock noch Eier legt.",
            "Im Sommer wird der Honig aus den Waben geschleudert und in Gläser gefüllt.",
            "Die Varroamilbe ist für jedes Bienenvolk eine große Gefahr.",
            "Vor dem Winter füttert man die Völker mit Zucker, damit sie nicht verhungern.",
            "Wenn die Bienen schwärmen, fängt der Imker den Schwarm wieder ein.",
            "Aus Wachs werden neue Mittelwände für die Rähmchen der Beute gegossen.",
        ],
        others: &[
            "Der neue Wagen hat einen sparsamen Motor und ein gutes Fahrwerk.",
            "Für den Kuchen braucht man Mehl, Butter, drei Eier und etwas Milch.",
            "Der Verein gewann das Spiel am Samstag mit zwei Toren in der zweiten Halbzeit.",
            "Die Regierung will die Steuern senken und die Schulden nicht erhöhen.",
            "Der Zug nach München fährt wegen einer Baustelle eine Stunde später ab.",
            "Am Abend gibt es im Theater ein Stück über einen König und seine Töchter.",
        ],
    },
    Tongue {
        code: "uk",
        name: "Ukrainian",
        bees: &[
            "Пасічник перевіряє, чи матка у вулику ще відкладає яйця.",
            "Улітку мед викачують зі стільників і розливають у банки.",
            "Кліщ вароа є великою небезпекою для кожної бджолиної сім'ї.",
            "Перед зимою бджолам дають цукровий сироп, щоб вони не загинули.",
            "Коли бджоли рояться, пасічник ловить рій і садить його в новий вулик.",
            "З воску роблять вощину для рамок, які ставлять у вулики.",
        ],
        others: &[
            "Новий автомобіль має економний двигун і добру підвіску.",
            "Для пирога потрібні борошно, масло, три яйця і трохи молока.",
            "Команда виграла матч у суботу з рахунком два нуль у другому таймі.",
            "Уряд хоче знизити податки і не збільшувати державний борг.",
            "Поїзд до Львова через ремонт колії відправляється на годину пізніше.",
            "Увечері в театрі грають виставу про короля та його доньок.",
        ],
    },
    Tongue {
        code: "zh",
        name: "Mandarin",
        bees: &[
            "养蜂人检查蜂箱里的蜂王是否还在产卵。",
            "夏天人们把蜂蜜从巢脾里摇出来，装进玻璃瓶。",
            "瓦螨对每一个蜂群都是很大的危险。",
            "入冬以前要用糖水饲喂蜜蜂，免得蜂群饿死。",
            "蜜蜂分蜂的时候，养蜂人把蜂团收回新的蜂箱。",
            "用蜂蜡制作巢础，再装到蜂箱的巢框上。",
        ],
        others: &[
            "这辆新汽车的发动机很省油，底盘也很稳。",
            "做蛋糕需要面粉、黄油、三个鸡蛋和一点牛奶。",
            "球队星期六在下半场踢进两球，赢得了比赛。",
            "政府打算降低税收，同时不再增加国家债务。",
            "开往北京的火车因为施工晚点一个小时。",
            "晚上剧院上演一出关于国王和女儿的话剧。",
        ],
    },
];

const PAGES: usize = 36;

/// Pages of both kinds, each with four sentences of its own choice and links to the pages behind it.
fn site(tongue: &Tongue) -> Server {
    let mut pages: Vec<(String, String)> = Vec::new();
    for number in 0..PAGES {
        for (kind, sentences) in [("bees", tongue.bees), ("others", tongue.others)] {
            let chosen: String =
                (0..4).map(|n| format!("<p>{}", sentences[(number + n * (1 + number / 6)) % 6])).collect();
            let next = |kind: &str, step: usize| format!("<a href=/{kind}/{}>{step}</a> ", number + step);
            let links = next("bees", 1) + &next("others", 1) + &next("bees", 3) + &next("others", 2);
            let html = format!("<html><title>{number}</title>{chosen}<p>{links}");
            pages.push((format!("/{kind}/{number}"), html));
        }
    }
    let pages: Vec<(&str, String)> = pages.iter().map(|(path, html)| (path.as_str(), html.clone())).collect();
    Server::new(&pages)
}

#[test]
fn examples_and_the_crawl_decide_where_the_general_taxonomy_is_silent() {
    for tongue in TONGUES {
        let server = site(tongue);
        let folder = on_loopback();
        let at = folder.path();
        let urls = [0, 7, 14].map(|number| server.url(&format!("/bees/{number}")));
        let start = |more: &[&str]| -> Vec<String> {
            let named =
                ["start"].into_iter().chain(urls.iter().map(String::as_str)).chain(["ws", "--no-crawl"]);
            named.chain(more.iter().copied()).map(str::to_owned).collect()
        };
        let run = |arguments: &[String], code: i32, words: &str| {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            check(at, &arguments, code, words)
        };
        // Nothing is marked by guess: the user names the topic.
        let said = run(&start(&[]), 4, &format!("the pages are in {}", tongue.name));
        assert!(said.contains("--name NAME") && !said.contains("fits best"), "{said}");
        let topic = format!("/Topic_in_{}", tongue.name);
        let said = run(&start(&["--yes"]), 0, &format!("{topic}, a new topic, is marked good, with 3 more"));
        assert!(said.contains("porthole train"), "{said}");
        let listed = json(at, &["-C", "ws", "examples", "list", "--json"]);
        assert!(
            listed.as_array().unwrap().iter().all(|example| example["language"] == tongue.code),
            "{listed}"
        );
        let tree = json(at, &["-C", "ws", "topics", "tree", "--json"]);
        let good = tree.as_array().unwrap().iter().filter(|topic| topic["mark"] == "good");
        assert_eq!(good.map(|topic| topic["path"].clone()).collect::<Vec<_>>(), [Json::from(topic)]);
        // The pages of the crawl are what the critic lacks.
        check(at, &["-C", "ws", "crawl", "--pages", "60", "--polite", "off", "--workers", "1"], 0, "");
        let said = check(at, &["-C", "ws", "train"], 0, "background");
        assert!(!said.contains("is judged relevant"), "{said}");
        let mut files = Vec::new();
        for number in 20..30 {
            for (kind, sentences) in [("bees", tongue.bees), ("others", tongue.others)] {
                let text: String = (0..3).map(|n| sentences[(number + n) % 6]).collect();
                files.push(format!("{kind}-{number}.html"));
                std::fs::write(at.join(files.last().unwrap()), format!("<p>{text}")).unwrap();
            }
        }
        let mut classify = vec!["-C", "ws", "classify", "--json"];
        classify.extend(files.iter().map(String::as_str));
        let judged = json(at, &classify);
        let mean = |kind: &str| -> f64 {
            let judged =
                files.iter().zip(judged.as_array().unwrap()).filter(|(file, _)| file.starts_with(kind));
            judged.map(|(_, judgment)| judgment["relevance"].as_f64().unwrap()).sum::<f64>() / 10.0
        };
        let (bees, others) = (mean("bees"), mean("others"));
        assert!(bees > 0.5 && others < 0.5, "{}: {bees} and {others}", tongue.name);
    }
}
