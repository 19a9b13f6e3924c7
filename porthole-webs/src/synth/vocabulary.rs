//! The words of the synthetic web: the topic tree with the vocabulary of each topic, and the words that every page
//! uses. Lists are ordered by frequency.

/// A first-level topic: its name, the words its leaves share, and the leaves with their own words.
pub(crate) struct Branch {
    pub(crate) name: &'static str,
    pub(crate) words: &'static str,
    pub(crate) leaves: &'static [(&'static str, &'static str)],
}

/// The topic tree. Leaf numbers, and therefore all pages, depend on this order: append, do not insert.
pub(crate) const TREE: &[Branch] = &[
    Branch {
        name: "Arts",
        words: "artist studio exhibition gallery style expression critic tradition modern audience masterpiece",
        leaves: &[
            (
                "Music",
                "music song melody orchestra violin concert rhythm chord piano symphony harmony composer \
              singer album guitar tempo choir drum flute opera tune note sonata quartet conductor bass cello \
              trumpet ballad chorus recital improvisation scale key octave",
            ),
            (
                "Pottery",
                "clay pottery kiln glaze wheel ceramic vase bowl firing potter stoneware porcelain \
              earthenware slip bisque throwing coil pinch celadon raku teapot mug kaolin trimming burnish \
              terracotta cone sgraffito engobe wedging shard handle",
            ),
            (
                "Photography",
                "camera photograph lens shutter exposure aperture film portrait focus tripod flash \
              darkroom negative print landscape contrast sensor zoom filter snapshot composition frame light \
              shadow macro developer enlarger pixel histogram bokeh silhouette",
            ),
            (
                "Theatre",
                "theatre stage actor play drama scene rehearsal script costume curtain director \
              playwright comedy tragedy cast monologue dialogue audition backstage prop spotlight act \
              premiere understudy prompter farce repertory matinee applause role",
            ),
        ],
    },
    Branch {
        name: "Science",
        words: "research theory experiment observation measurement laboratory hypothesis data sample species analysis",
        leaves: &[
            (
                "Astronomy",
                "star telescope galaxy planet orbit nebula comet moon astronomer eclipse constellation \
              asteroid observatory supernova meteor redshift quasar spectrum magnitude satellite cosmos \
              jupiter saturn equinox parallax aurora universe solar crater pulsar eyepiece",
            ),
            (
                "Botany",
                "plant leaf flower seed root stem petal botanist pollen photosynthesis chlorophyll fern \
              moss stamen pistil bark cell sap herbarium taxonomy orchid shoot spore bud evergreen algae \
              xylem phloem sepal germination lichen",
            ),
            (
                "Geology",
                "rock mineral geology fossil sediment volcano magma quartz granite basalt earthquake \
              limestone fault crust stratum erosion glacier lava tectonic mantle sandstone crystal shale \
              geologist outcrop feldspar slate marble canyon seismic igneous",
            ),
            (
                "Chemistry",
                "chemistry molecule atom acid reaction compound element bond solution catalyst oxygen \
              hydrogen carbon electron ion polymer solvent titration oxide beaker isotope alkali benzene \
              crystal nitrogen reagent valence ester enzyme distillation flask",
            ),
            (
                "Birds",
                "bird feather nest wing migration beak egg sparrow owl hawk eagle songbird finch warbler \
              plumage flock heron gull swallow robin binoculars birdwatcher roost ornithology thrush falcon \
              chick brood perch woodpecker wader",
            ),
        ],
    },
    Branch {
        name: "Recreation",
        words: "club weekend beginner competition outdoors equipment training championship tournament hobby skill",
        leaves: &[
            (
                "Cycling",
                "bicycle cycling bike wheel ride rider saddle pedal chain gear frame tyre brake handlebar \
              spoke helmet derailleur cyclist crank sprocket pannier velodrome peloton tandem puncture pump \
              commute mountain touring hub cadence climb",
            ),
            (
                "Sailing",
                "boat sail wind mast yacht harbour anchor keel rudder regatta crew hull jib spinnaker \
              deck tide mooring knot halyard sloop ketch port starboard boom rigging skipper dinghy marina \
              tack buoy compass",
            ),
            (
                "Chess",
                "chess king queen pawn knight bishop rook checkmate opening endgame gambit castling board \
              grandmaster rating sicilian stalemate sacrifice tactic fork pin defence variation clock blitz \
              rank file diagonal attack combination",
            ),
            (
                "Fishing",
                "fish fishing trout river bait rod reel lure salmon hook angler line bass fly cast pike \
              tackle lake stream carp perch catch float net worm wading spinner gill current catfish sinker",
            ),
            (
                "Climbing",
                "climbing rope summit harness crag belay boulder mountain carabiner ascent ridge piton \
              alpine ledge chalk grip route overhang abseil glacier peak crampon axe crevasse face handhold \
              climber expedition altitude anchor chimney",
            ),
        ],
    },
    Branch {
        name: "Home",
        words: "house family kitchen workshop handmade project season tool craft pattern recipe",
        leaves: &[
            (
                "Gardening",
                "garden soil plant compost flower seed vegetable tomato rose lawn pruning weed mulch \
              greenhouse shrub bulb bed hedge gardener spade tulip fertiliser watering shed perennial \
              wheelbarrow trellis lettuce border seedling frost",
            ),
            (
                "Beekeeping",
                "bee honey hive beekeeper queen swarm nectar comb pollen colony wax apiary worker \
              drone brood smoker frame mite larva forage clover super foundation propolis sting veil \
              extractor skep varroa requeening hexagon",
            ),
            (
                "Baking",
                "bread flour dough yeast oven bake loaf butter sugar cake crust sourdough pastry egg \
              salt knead biscuit rye vanilla cream pie baker proof icing cinnamon whisk batter tin muffin \
              starter crumb",
            ),
            (
                "Woodworking",
                "wood saw plane chisel joint timber oak lathe carpenter plank dovetail sanding glue \
              varnish workbench pine walnut mortise tenon drill clamp grain veneer router cabinet maple \
              mallet rasp plywood finish shavings",
            ),
            (
                "Knitting",
                "yarn wool knitting needle stitch sweater purl scarf gauge sock skein cable row \
              cardigan ribbing crochet merino mohair lace shawl knitter ball bobble sleeve mitten loop \
              alpaca cuff tension steeking swatch",
            ),
        ],
    },
    Branch {
        name: "Health",
        words: "patient doctor treatment symptom clinic medical medicine hospital risk advice nurse",
        leaves: &[
            (
                "First_Aid",
                "wound bandage bleeding injury burn resuscitation emergency splint ambulance fracture \
              dressing sprain shock airway pulse rescue choking casualty sling antiseptic unconscious \
              breathing swelling bruise paramedic compress blister plaster tourniquet recovery hypothermia",
            ),
            (
                "Nutrition",
                "vitamin protein diet calorie fibre mineral fat nutrient carbohydrate vegetable meal \
              iron calcium cholesterol digestion dietitian fruit intake energy magnesium glucose zinc \
              appetite supplement antioxidant folate portion serving metabolism lipid snack",
            ),
            (
                "Sleep",
                "sleep dream night insomnia bed pillow snoring apnea rest nap circadian melatonin wake \
              fatigue mattress drowsy nightmare bedtime yawn alarm slumber jetlag caffeine lullaby rhythm \
              sleeper dozing narcolepsy blanket twilight",
            ),
            (
                "Dentistry",
                "tooth dentist gum cavity enamel crown filling braces molar plaque brush floss root \
              dental implant orthodontist bite jaw fluoride denture extraction hygienist incisor tartar \
              wisdom bridge canal mouth toothpaste abscess veneer",
            ),
        ],
    },
    Branch {
        name: "Business",
        words: "company market money price customer profit contract tax financial economy manager",
        leaves: &[
            (
                "Mutual_Funds",
                "fund portfolio investor shares dividend yield asset prospectus manager return \
              index redemption allocation equity bond retirement fee growth diversification load benchmark \
              nav annuity custodian advisor inflation balanced pension rollover turnover",
            ),
            (
                "Stock_Market",
                "stock shares trading investor broker exchange dividend equity bull bear index \
              earnings ticker quote option futures portfolio volatility yield rally split margin \
              capitalisation listing speculation bond trader hedge analyst floor",
            ),
            (
                "Insurance",
                "insurance policy premium claim coverage insurer liability underwriter deductible \
              beneficiary risk policyholder damage accident indemnity rider actuary theft broker exclusion \
              reinsurance flood compensation adjuster homeowner annuity settlement peril",
            ),
            (
                "Shipping",
                "cargo freight container ship port vessel customs tonnage dock warehouse logistics \
              pallet tanker crane consignment carrier harbour forwarder import export bulk manifest berth \
              charter stevedore ferry barge bill lading tariff",
            ),
        ],
    },
    Branch {
        name: "Computers",
        words: "computer software program system user file code version machine developer interface",
        leaves: &[
            (
                "Databases",
                "database query table index transaction relational schema sql record join storage row \
              column key lock replication tuple backup optimizer view cursor commit rollback normalisation \
              btree warehouse trigger log buffer predicate",
            ),
            (
                "Networking",
                "network packet router protocol ethernet switch address bandwidth latency gateway \
              firewall cable wireless socket port routing congestion datagram subnet bridge hop fibre \
              topology broadcast modem throughput checksum handshake hub loopback",
            ),
            (
                "Compilers",
                "compiler parser syntax grammar token optimisation register assembly type lexer \
              semantics allocation loop intermediate bytecode linker recursion closure expression ast \
              inlining codegen backend pass dataflow scope instruction symbol monad lambda",
            ),
            (
                "Security",
                "password encryption attack vulnerability key cipher malware authentication exploit \
              certificate signature hacker virus privacy breach firewall token hash phishing audit threat \
              intrusion patch salt plaintext forensics credential sandbox worm trojan",
            ),
        ],
    },
    Branch {
        name: "Travel",
        words: "visitor journey tourist ticket map guide hotel destination holiday route trip",
        leaves: &[
            (
                "Hawaii",
                "island beach hawaii volcano surf lagoon palm reef hula resort snorkel luau ocean pineapple \
              vacation coral waterfall ukulele sunset coconut lei wave sand dolphin rainforest turtle \
              sunshine tropical condo cruise",
            ),
            (
                "Railways",
                "train railway locomotive station track steam engine carriage platform signal rail \
              express tunnel timetable gauge viaduct freight sleeper tram conductor junction diesel wagon \
              depot whistle boiler tender passenger branch siding",
            ),
            (
                "Castles",
                "castle tower moat fortress knight medieval keep drawbridge rampart dungeon siege lord \
              battlement stone banquet gatehouse turret king courtyard chapel armour crusader wall baron \
              portcullis heraldry ruin garrison palace bailey",
            ),
            (
                "Camping",
                "tent camp campfire backpack trail sleeping lantern campsite hike forest stove wilderness \
              canoe ranger firewood hammock rucksack mosquito compass picnic caravan canteen marshmallow \
              tarp cabin pegs boots bear lake thermos",
            ),
        ],
    },
];

/// Function words, which alternate with content words.
pub(crate) const FUNCTION_WORDS: &str = "the of and to a in is for that with it on as are be by at this from \
    or an was which you not have but all can they has more their will one when about so there your if out \
    up its been would who some into than them other may these no what such only after then also any our \
    over between through without where while before each many most during both under until within";

/// Content words of no topic.
pub(crate) const COMMON_WORDS: &str = "time page people year day way work new first information good home part \
    place number world life great small thing long list name found part week question group point site made \
    help right old write next case early hand side find need back city story water form area turn large set \
    high start end open state change line course fact book left number reason kind idea view report second \
    word full person letter order room table future past present history week today result country language \
    picture paper problem school example member century service level local public common general special \
    clear simple several different important available possible recent main short late free best whole sure \
    difficult useful popular small public quality quick careful regular famous several hundred thousand \
    million third month minute hour morning evening summer winter spring autumn night moment century age \
    youth child parent friend teacher student reader writer author editor visitor owner worker expert \
    neighbour village town street road bridge door window wall floor garden field north south east west \
    centre corner edge top bottom middle front distance length width weight size shape colour sound voice \
    answer call chance choice cause effect event action attempt attention balance base begin behaviour \
    belief benefit board body break bring build carry catch collection comment community comparison concern \
    condition connection consider contact content continue control copy cost cover create culture current \
    decide degree depend describe design detail develop difference direction discover discuss discussion \
    doubt draw effort enjoy enough entire escape evidence exact exist expect experience explain express \
    extra eye familiar feature feel figure final follow force foreign forget former forward function further \
    gather gentle give global ground grow habit half happen hard head hear heart heavy hold hope human image \
    imagine improve include increase individual influence inside intend interest introduce issue item join \
    journal keep know knowledge land last laugh law lead learn leave less lesson likely limit listen little \
    live look lose love manner mark material matter mean meet memory mention mind modern movement museum \
    natural nature necessary notice object offer office often opinion opportunity origin outside pair \
    particular pass perhaps period plain plan pleasant power practice prefer prepare press pretty prevent \
    principle private process produce project promise proper prove provide purpose quiet raise range rare \
    rate reach ready real receive recommend record reference region relation remain remember remove repeat \
    request require rest return rise rough round rule safe same save science season section seem select \
    sense separate serious share short show similar single slow society solid soon source space speak stand \
    standard stay step still stop strange strong structure study style subject success suggest support \
    surface surprise system talk task team tell term test text thought tiny together tradition true trust \
    type understand unit usual value various visit wait walk want warm watch wide wish wonder young";

/// Words of link farms, besides those of popular topics.
pub(crate) const SPAM_WORDS: &str = "cheap free buy best discount online sale deal offer bonus win prize cash \
    loan click now hot exclusive guaranteed instant winner credit save amazing limited bargain order casino \
    pills replica unlimited download";

/// Anchor texts that do not describe their target.
pub(crate) const SILENT_ANCHORS: &[&str] = &[
    "click here",
    "here",
    "more",
    "read more",
    "this page",
    "link",
    "details",
    "see also",
    "continue",
    "another page",
    "website",
    "full story",
    "source",
    "next",
    "the article",
    "[1]",
];

/// Syllables of invented names: the long tail of rare words.
pub(crate) const SYLLABLES: &[&str] = &[
    "bar", "ton", "mel", "ric", "sol", "ven", "dor", "lin", "har", "wick", "mar", "ten", "fal", "gor", "nel",
    "ost", "per", "quil", "ros", "sted", "tal", "ulm", "var", "wen", "yar", "zel", "cor", "bry", "han",
    "isk", "jor", "kel",
];
