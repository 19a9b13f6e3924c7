/** Statistics of the crawls of an experiment: means by strategy, and paired differences with intervals, as in `porthole lab compare`. */

/** The fields of a line of `results.jsonl` that are shown. Keys of measures are numbers of fetches. */
export interface LabCrawl {
  topic: string;
  strategy: string;
  sample: number;
  fetched: number;
  harvest: Record<string, number>;
  recall: Record<string, number>;
  loss?: Record<string, number>;
  sites?: Record<string, number>;
  stop?: string;
}

export interface LabMeasure { name: string; of: (crawl: LabCrawl) => number | undefined; isShare: boolean; isLessBetter?: boolean }
/** Difference of a strategy to the baseline in the same crawls, with a 95% interval. */
export interface LabDifference { mean: number; low: number; high: number; pairs: number }

const DRAWS = 2000;
/** With fewer pairs, a bootstrap interval is not meaningful. */
const LEAST_PAIRS = 6;

/** Rows that are results of crawls. */
export function crawlsOf(rows: Record<string, unknown>[]): LabCrawl[] {
  const isMeasure = (value: unknown) => typeof value === 'object' && value !== null;
  return rows.filter((row) => typeof row.topic === 'string' && typeof row.strategy === 'string' && isMeasure(row.harvest) && isMeasure(row.recall)) as unknown as LabCrawl[];
}

/** Numbers of fetches at which all crawls were measured. */
export function measuredAt(crawls: LabCrawl[]): number[] {
  const all = Object.keys(crawls[0]?.harvest ?? {}).filter((at) => crawls.every((crawl) => at in crawl.harvest));
  return all.map(Number).sort((a, b) => a - b);
}

export function measuresOf(crawls: LabCrawl[]): LabMeasure[] {
  const at = measuredAt(crawls);
  const end = at.at(-1);
  if (end === undefined) return [];
  const harvest = at.map((n) => ({ name: `harvest at ${n}`, of: (crawl: LabCrawl) => crawl.harvest[n], isShare: true }));
  const rest: LabMeasure[] = [
    { name: `recall at ${end}`, of: (crawl) => crawl.recall[end], isShare: true },
    { name: `relevant sites at ${end}`, of: (crawl) => crawl.sites?.[end], isShare: false },
    { name: `loss at ${end}`, of: (crawl) => crawl.loss?.[end], isShare: false, isLessBetter: true },
  ];
  return [...harvest, ...rest].filter((measure) => crawls.every((crawl) => measure.of(crawl) !== undefined));
}

/** Mean over topics of the mean over samples: every topic has the same weight. */
export function meanOf(crawls: LabCrawl[], strategy: string, measure: LabMeasure): number {
  const topics = grouped(crawls.filter((crawl) => crawl.strategy === strategy).map((crawl) => [crawl.topic, measure.of(crawl)!]));
  return mean(topics.map(mean));
}

/** Null if no crawl of both has the same topic and sample. */
export function difference(crawls: LabCrawl[], strategy: string, baseline: string, measure: LabMeasure): LabDifference | null {
  const key = (crawl: LabCrawl) => `${crawl.sample} ${crawl.topic}`;
  const base = new Map(crawls.filter((crawl) => crawl.strategy === baseline).map((crawl) => [key(crawl), crawl]));
  const pairs = crawls.filter((crawl) => crawl.strategy === strategy && base.has(key(crawl)));
  const topics = grouped(pairs.map((crawl) => [crawl.topic, measure.of(crawl)! - measure.of(base.get(key(crawl))!)!]));
  return pairs.length ? { mean: mean(topics.map(mean)), ...interval(topics), pairs: pairs.length } : null;
}

/** Whether the interval is on one side of zero, and there are enough pairs for that to mean something. */
export function isClear({ low, high, pairs }: LabDifference): boolean {
  return pairs >= LEAST_PAIRS && (low > 0 || high < 0);
}

/** Bootstrap over topics, then over samples of each, so that the interval holds for other topics. */
function interval(topics: number[][]): { low: number; high: number } {
  const random = generator(1);
  const pick = <T>(all: T[]): T => all[Math.floor(random() * all.length)];
  const drawn = Array.from({ length: DRAWS }, () => mean(topics.map(() => {
    const topic = pick(topics);
    return mean(topic.map(() => pick(topic)));
  }))).sort((a, b) => a - b);
  const at = (share: number) => drawn[Math.round((DRAWS - 1) * share)];
  return { low: at(0.025), high: at(0.975) };
}

function grouped(values: [string, number][]): number[][] {
  const groups = new Map<string, number[]>();
  for (const [name, value] of values) groups.set(name, [...(groups.get(name) ?? []), value]);
  return [...groups.values()];
}

function mean(values: number[]): number {
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : NaN;
}

/** Pseudorandom numbers (mulberry32) with a fixed seed, so that a reload shows the same intervals. */
function generator(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
