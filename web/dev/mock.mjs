/**
 * A server with the API of the crawl page and a made-up crawl, for `e2e/bench-scatter.mjs`, which needs more pages per second
 * than a polite crawl fetches. The same arguments give the same data.
 *
 *   node dev/mock.mjs [--port 7474] [--dots 3000] [--rate 6] [--speed 1]
 *
 * `--speed` speeds up the stream: with 10, ten seconds of the crawl arrive in one, in larger batches.
 */
import { createServer } from 'node:http';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.woff2': 'font/woff2', '.txt': 'text/plain' };
const POLICY = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";
const WORDS = 'bird feather nest wing hawk sparrow migration warbler owl plumage habitat forest river field song season egg flight survey trail garden market price engine route cloud school poem recipe winter museum'.split(' ');
const TOPICS = ['/', '/Science', '/Science/Biology', '/Science/Biology/Birds', '/Science/Biology/Birds/Owls', '/Science/Biology/Fish', '/Science/Physics', '/Recreation', '/Recreation/Birding', '/Recreation/Cycling', '/Arts', '/Arts/Photography', '/Business', '/Home/Garden', '/Home', '/News'];
const GOOD = '/Science/Biology/Birds';
const DIST = fileURLToPath(new URL('../dist', import.meta.url));

export function startMock({ port = 0, dots = 3000, rate = 6, speed = 1, dist = DIST } = {}) {
  const crawl = new MockCrawl(dots, rate);
  const server = createServer((request, response) => handle(crawl, request, response, speed, dist));
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve({ server, crawl, address: `http://127.0.0.1:${server.address().port}` })));
}

class MockCrawl {
  constructor(dots, rate) {
    this.rate = rate;
    this.random = generator(7);
    this.seq = []; this.at = []; this.relevance = []; this.topic = []; this.outcome = [];
    this.now = Date.now();
    this.clock = this.now - (dots / rate) * 1000;
    while (this.seq.length < dots) this.fetch();
  }
  fetch() {
    const n = this.seq.length;
    this.clock += 1000 / this.rate;
    const draw = this.random();
    const outcome = draw < 0.9 ? 1 : draw < 0.94 ? 2 : draw < 0.985 ? 3 : 7;
    const quality = 0.35 + 0.35 * (1 - Math.exp(-n / 900)) + 0.1 * Math.sin(n / 700);
    const onTopic = this.random() < quality;
    const relevance = onTopic ? 1 - this.random() ** 2 * 0.45 : this.random() ** 2.4 * 0.55;
    this.seq.push(n + 1);
    this.at.push(Math.round(this.clock));
    this.relevance.push(outcome === 1 || outcome === 7 ? Math.round(relevance * 1e4) / 1e4 : null);
    this.topic.push(outcome === 1 ? (onTopic ? 3 : Math.floor(this.random() * TOPICS.length)) : null);
    this.outcome.push(outcome);
  }
  columns(after, limit) {
    const from = Math.min(this.seq.length, after ?? 0);
    const to = Math.min(this.seq.length, from + limit);
    const cut = (column) => column.slice(from, to);
    return { seq: cut(this.seq), at: cut(this.at), relevance: cut(this.relevance), topic: cut(this.topic), outcome: cut(this.outcome), last: to, more: to < this.seq.length };
  }
  status() {
    const judged = this.relevance.filter((value) => value !== null);
    const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
    const fetched = this.outcome.filter((outcome) => outcome === 1).length;
    return {
      is_running: true, is_paused: false, strategy: 'porthole', policy: 'numtries asc, priority desc', critic: { trained_at: this.at[0] - 90000 }, started_here: true, started_at: this.at[0],
      good: [{ id: TOPICS.indexOf(GOOD), path: GOOD }], toward: [],
      counts: { known: fetched * 14, queued: fetched * 12, fetched, redirected: Math.round(fetched * 0.04), dead: this.outcome.filter((o) => o === 3).length, skipped: 120, rejected: 0, links: fetched * 38, sites: 214, copies: this.outcome.filter((o) => o === 7).length },
      harvest: mean(judged), harvest_recent: mean(judged.slice(-500)), relevant: judged.filter((value) => value >= 0.5).length, last_stop: null, now: Date.now(),
      first_fetch_at: this.at[0] ?? null, last_fetch_at: this.at.at(-1) ?? null, disk: { database: fetched * 21000, pages: fetched * 8600, free: 77e9 },
      live: { workers_idle: 27, sites_awaited: 9, ready: 31, resting: 64, busy: 5, given_up: 3, held_up: 'the sites with the best links rest: 27 of 32 workers wait for them', budget_pages: 20000 },
      alarms: [],
    };
  }
}

function generator(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
const word = (n) => WORDS[((n % WORDS.length) + WORDS.length) % WORDS.length];
const pageUrl = (n) => `http://www.${word(n * 7)}-${word(n * 3)}-${n % 40}.example/${word(n)}/${word(n * 5)}-${n}.html`;
const pageTitle = (n) => [`The ${word(n)} of the ${word(n * 3)}`, `${word(n * 5)} and ${word(n * 7)}: notes`, `A ${word(n)} ${word(n * 11)} guide`][n % 3].replace(/^./, (c) => c.toUpperCase());

function row(crawl, n) {
  return { url: pageUrl(n), title: n % 29 === 5 ? '<script>document.title="owned"</script>' : pageTitle(n), host: new URL(pageUrl(n)).host, relevance: crawl.relevance[n], topic: TOPICS[crawl.topic[n] ?? 0], at: crawl.at[n], language: 'en', hub: n % 7 ? null : 0.01 / (1 + n), authority: n % 3 ? null : 0.02 / (1 + n), feedback: n % 31 ? null : 'useful' };
}

const READS = {
  status: (c) => c.status(),
  dots: (c, q) => c.columns(Number(q.get('after') ?? 0), Number(q.get('limit') ?? 50000)),
  commands: () => [],
  series: (c) => series(c),
  sites: (c, q) => ['ready', 'resting', 'busy', 'given_up', 'resting', 'ready', 'disabled'].map((state, i) => ({ host: new URL(pageUrl(i * 13)).host, state, queued: 900 - i * 100, fetched: 210 - i * 27, mean_relevance: 0.9 - i * 0.12, failures: i, not_before: state === 'resting' ? Date.now() + 4000 : null, reason: state === 'given_up' ? 'timeout, 8 times in a row' : null })).filter((s) => (!q.get('state') || s.state === q.get('state')) && s.host.includes(q.get('q') ?? '')),
  failures: () => [{ kind: 'status', is_skipped: false, count: 41, example_url: pageUrl(4), remedy: '404: dead links are normal; nothing to do' }, { kind: 'timeout', is_skipped: false, count: 12, example_url: pageUrl(9), remedy: 'the sites are slow: nothing to do, they are tried again later' }, { kind: 'robots', is_skipped: true, count: 8, example_url: pageUrl(3), remedy: 'robots.txt forbids it' }],
  census: () => ({ nodes: nodes() }),
};

function series(c) {
  const out = { at: [], pages: [], relevant: [], mean_relevance: [], failures: [], frontier: [] };
  c.at.forEach((at, i) => {
    const minute = Math.floor(at / 60000) * 60000;
    if (out.at.at(-1) !== minute) { out.at.push(minute); out.pages.push(0); out.relevant.push(0); out.mean_relevance.push(0); out.failures.push(0); out.frontier.push(i * 12); }
    const k = out.at.length - 1;
    if (c.outcome[i] === 1) { out.pages[k] += 1; if (c.relevance[i] >= 0.5) out.relevant[k] += 1; out.mean_relevance[k] += (c.relevance[i] - out.mean_relevance[k]) / out.pages[k]; }
    if (c.outcome[i] === 3) out.failures[k] += 1;
  });
  return out;
}
function nodes() {
  const own = (path) => (path === GOOD ? 1240 : (TOPICS.indexOf(path) * 97) % 120);
  return TOPICS.map((path, id) => {
    const below = TOPICS.filter((other) => path === '/' || other === path || other.startsWith(`${path}/`));
    const pages = below.reduce((sum, other) => sum + own(other), 0);
    const mean = path.startsWith(GOOD) ? 0.86 : 0.08;
    return { id, parent: path === '/' ? 0 : TOPICS.indexOf(path.slice(0, path.lastIndexOf('/')) || '/'), name: path.split('/').pop() || '/', path, mark: path === GOOD ? 'good' : 'null', examples: (id * 13) % 40, pages: own(path), mean_relevance: mean, examples_below: below.length * 13, pages_below: pages, mean_relevance_below: mean };
  });
}
function handle(c, request, response, speed, dist) {
  const url = new URL(request.url, 'http://mock');
  if (!url.pathname.startsWith('/api/v1/')) return file(dist, url.pathname, response);
  const [, , , ...path] = url.pathname.split('/');
  const send = (body, status = body?.status && body?.error ? body.status : 200) => response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(JSON.stringify(body));
  const name = path.slice(2).join('/');
  if (path[0] === 'workspaces') return send([]);
  if (name.startsWith('dot/')) return send(row(c, Number(name.slice(4)) - 1));
  if (name === 'events') return stream(c, request, response, speed);
  if (READS[name]) return send(READS[name](c, url.searchParams));
  send({ error: 'no such endpoint', status: 404 }, 404);
}

function stream(c, request, response, speed) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  let sent = c.seq.length;
  let owed = 0;
  const event = (name, data, id) => response.write(`${id ? `id: ${id}\n` : ''}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  const timer = setInterval(() => {
    owed += (c.rate * speed) / 4;
    for (; owed >= 1; owed--) c.fetch();
    if (sent < c.seq.length) { const columns = c.columns(sent, 2000); sent = columns.last; event('dots', columns, sent); }
  }, 250);
  const status = setInterval(() => event('status', c.status()), 1000);
  request.on('close', () => { clearInterval(timer); clearInterval(status); });
}

function file(dist, path, response) {
  const wanted = join(dist, normalize(path));
  const found = wanted.startsWith(dist) && existsSync(wanted) && statSync(wanted).isFile() ? wanted : join(dist, 'index.html');
  response.writeHead(200, { 'Content-Type': TYPES[extname(found)] ?? 'application/octet-stream', 'Content-Security-Policy': POLICY });
  response.end(readFileSync(found));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const option = (name, otherwise) => { const i = process.argv.indexOf(`--${name}`); return i > 0 ? Number(process.argv[i + 1]) : otherwise; };
  const { address } = await startMock({ port: option('port', 7474), dots: option('dots', 3000), rate: option('rate', 6), speed: option('speed', 1) });
  console.log(address);
}
