/**
 * A server with the dashboard's API and a made-up crawl, for work on the front end and for `e2e/bench-scatter.mjs`, which
 * needs more pages a second than a polite crawl has. The same arguments give the same data.
 *
 *   node dev/mock.mjs [--port 7474] [--dots 3000] [--rate 6] [--speed 1]
 *
 * `--speed` makes the stream's clock faster: at 10, ten seconds of the crawl arrive in one, in larger batches.
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
    this.isPaused = false;
    this.isRunning = true;
    this.commands = [];
    this.marks = new Set([GOOD]);
    this.clock = this.now - (dots / rate) * 1000;
    while (this.seq.length < dots) this.fetch();
    this.jobs = new Map();
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
      is_running: this.isRunning, is_paused: this.isPaused, strategy: 'porthole', policy: 'numtries asc, priority desc', critic: { trained_at: this.at[0] - 90000, examples: 5263 },
      good: [...this.marks].map((path) => ({ id: TOPICS.indexOf(path), path })), toward: [],
      counts: { known: fetched * 14, queued: fetched * 12, fetched, redirected: Math.round(fetched * 0.04), dead: this.outcome.filter((o) => o === 3).length, skipped: 120, rejected: 0, links: fetched * 38, sites: 214, copies: this.outcome.filter((o) => o === 7).length },
      harvest: mean(judged), harvest_recent: mean(judged.slice(-500)), on_topic: judged.filter((value) => value >= 0.5).length, last_stop: this.isRunning ? null : 'stopped by command', now: Date.now(),
      first_fetch_at: this.at[0] ?? null, last_fetch_at: this.at.at(-1) ?? null, disk: { database: fetched * 21000, pages: fetched * 8600, free: 77e9 }, last_seq: this.seq.length,
      live: this.isRunning ? { workers_idle: 27, sites_awaited: 9, ready: 31, resting: 64, busy: 5, given_up: 3, held_up: 'the sites with the best links rest: 27 of 32 workers wait for them', budget_pages: 20000 } : null,
      alarms: [{ id: 4, at: Date.now() - 240000, kind: 'relevance', detail: 'mean relevance fell from 0.71 to 0.38 within 600 pages and has not recovered', is_active: true }],
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
  commands: (c) => c.commands,
  series: (c) => series(c),
  sites: (c, q) => ['ready', 'resting', 'busy', 'given_up', 'resting', 'ready', 'disabled'].map((state, i) => ({ host: new URL(pageUrl(i * 13)).host, state, queued: 900 - i * 100, fetched: 210 - i * 27, mean_relevance: 0.9 - i * 0.12, failures: i, not_before: state === 'resting' ? Date.now() + 4000 : null, reason: state === 'given_up' ? 'timeout, 8 times in a row' : null })).filter((s) => (!q.get('state') || s.state === q.get('state')) && s.host.includes(q.get('q') ?? '')),
  failures: () => [{ kind: 'status', count: 41, example_url: pageUrl(4), remedy: '404: dead links are normal; nothing to do' }, { kind: 'timeout', count: 12, example_url: pageUrl(9), remedy: 'the sites are slow: nothing to do, they are tried again later' }, { kind: 'robots', count: 8, example_url: pageUrl(3), remedy: 'robots.txt forbids it' }],
  census: (c) => ({ nodes: nodes(c) }),
  topics: (c) => ({ nodes: nodes(c) }),
  examples: (_, q) => [1, 2, 3, 4].map((n) => ({ id: n, url: pageUrl(n), title: pageTitle(n), topic: q.get('topic') ?? GOOD, state: n === 4 ? 'missing' : 'ok', is_recognised: n !== 3, detail: n === 4 ? '404 not found' : null, language: 'en', judged_as: n === 3 ? '/Recreation/Birding' : GOOD, relevance: n === 3 ? 0.31 : 0.97 })),
  suggestions: () => ({ broaden: [{ path: '/Recreation/Birding', why: '38% of the pages near good ones are about it', command: 'porthole topics mark /Recreation/Birding' }], specialty_sites: [{ host: 'www.owl-nest-3.example', pages: 44, share: 0.91 }], explore: [{ url: pageUrl(77), title: pageTitle(77), topic: GOOD }] }),
  pages: (c, q) => { const rows = Array.from({ length: 400 }, (_, n) => row(c, n)).filter((r) => r.relevance !== null); const by = { relevance: (a, b) => b.relevance - a.relevance, recent: (a, b) => b.at - a.at, uncertain: (a, b) => Math.abs(a.relevance - 0.5) - Math.abs(b.relevance - 0.5) }[q.get('order') ?? 'relevance']; const from = Number(q.get('offset') ?? 0); return rows.sort(by).slice(from, from + Number(q.get('limit') ?? 50)); },
  page: (c, q) => story(c, q.get('url')),
  'top/hubs': (c) => [3, 8, 21].map((n) => ({ ...row(c, n), score: 0.04 / n, links: 24 })),
  'top/authorities': (c) => [5, 9, 11].map((n) => ({ ...row(c, n), score: 0.06 / n })),
  'top/sites': () => [0, 1, 2, 3].map((n) => ({ host: new URL(pageUrl(n)).host, relevant: 90 - n * 20, pages: 100, mean_relevance: 0.9 - n * 0.1 })),
  hubgraph: (c) => ({ nodes: Array.from({ length: 60 }, (_, n) => ({ id: n, url: pageUrl(n), title: pageTitle(n), host: new URL(pageUrl(n)).host, kind: n % 5 ? 'authority' : n % 10 ? 'hub' : 'both', score: 1 / (n + 1), relevance: c.relevance[n] })), links: Array.from({ length: 60 }, (_, n) => n).filter((n) => n % 5 === 0).flatMap((n) => Array.from({ length: 9 }, (_, k) => [n, (n * 7 + k * 5 + 1) % 60])) }),
  clusters: (c) => [0, 1, 2, 3].map((n) => ({ words: WORDS.slice(n * 5, n * 5 + 6), pages: 240 - n * 50, examples: [row(c, n * 3), row(c, n * 3 + 1)] })),
  search: (c, q) => ({ hits: q.get('q') ? [1, 6, 14].map((n) => ({ ...row(c, n), snippet: [{ text: 'In spring the ', marked: false }, { text: q.get('q'), marked: true }, { text: ` builds its ${word(n)} near the ${word(n * 2)} and returns every season.`, marked: false }], score: 3.2 })) : [], indexed: 1240, behind: 12 }),
  teach: (c, q) => Array.from({ length: Number(q.get('limit') ?? 10) }, (_, n) => ({ url: pageUrl(n + 50), title: pageTitle(n + 50), snippet: `The ${word(n)} is seen near the ${word(n * 3)} in the ${word(n * 5)}, and its ${word(n * 2)} is known from every ${word(n + 3)} survey since 1987. `.repeat(3), relevance: 0.5 + 0.02 * (n % 5), topic: TOPICS[(n % 6) + 2] })),
  queries: () => [{ name: 'harvest-per-minute', title: 'mean relevance of the pages of every minute', parameters: [], sql: 'select lastvisited / 60000 as minute, count(*) as pages, avg(relevance) as relevance\nfrom tried group by 1 order by 1' }, { name: 'citation-sociology', title: 'topics that are linked with a topic more often than elsewhere', parameters: [{ name: 'topic', default: '/Recreation/Cycling', kind: 'topic' }], sql: 'select 1' }],
  kept: () => [{ name: 'new owls', query: 'specialty-sites', parameters: null, rows: 4, at: Date.now() - 60000 }],
  schema: () => [{ table: 'crawl', about: 'Every known URL, in the order of discovery.', columns: [{ name: 'oid', about: 'id of the URL' }, { name: 'url', about: 'the canonical URL' }, { name: 'relevance', about: 'R(d) once the page is judged' }] }, { table: 'edge', about: 'Every link of every fetched page.', columns: [{ name: 'src', about: 'row of the linking page' }] }],
  exports: () => [{ name: 'owls-2026-11-17.jsonl', bytes: 4.2e6, at: Date.now() - 3600000 }],
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
function nodes(c) {
  const own = (path) => (path === GOOD ? 1240 : (TOPICS.indexOf(path) * 97) % 120);
  return TOPICS.map((path, id) => {
    const below = TOPICS.filter((other) => path === '/' || other === path || other.startsWith(`${path}/`));
    const pages = below.reduce((sum, other) => sum + own(other), 0);
    const mean = path.startsWith(GOOD) ? 0.86 : 0.08;
    return { id, parent: path === '/' ? 0 : TOPICS.indexOf(path.slice(0, path.lastIndexOf('/')) || '/'), name: path.split('/').pop() || '/', path, mark: c.marks.has(path) ? 'good' : 'null', examples: (id * 13) % 40, pages: own(path), mean_relevance: mean, examples_below: below.length * 13, pages_below: pages, mean_relevance_below: mean };
  });
}
function story(c, url) {
  const n = Number(/-(\d+)\.html/.exec(url ?? '')?.[1] ?? 3);
  const link = (k, anchor) => ({ url: pageUrl(k), title: pageTitle(k), anchor, relevance: c.relevance[k] ?? 0, state: 'fetched' });
  return {
    ...row(c, n), url, seq: n + 1, state: 'fetched', status: 200, failure: null, bytes: 18400, tries: 1, site_fetched: 40, site_disabled: false, not_before: null, leads_to: null, with_neighbours: 0.7, examples: [], feedback: [], links_in: 2, links_out: 12, command: `porthole -C owls explain ${url}`,
    discovered: [link(1, ''), link(12, 'birds of the valley'), link(33, 'all species')], parents: [{ ...link(33), seq: 34, discovered: c.at[33] }, { ...link(40), seq: 41, discovered: c.at[40] }], links: Array.from({ length: 12 }, (_, k) => link(60 + k, `${word(k)} ${word(k * 3)}`)),
    judgment: { relevance: c.relevance[n] ?? 0.5, topic: GOOD, probability: 0.9, steps: ['/Science', '/Science/Biology', GOOD].map((path, i) => ({ path, probability: 0.98 - i * 0.02, given_parent: 0.98, for: WORDS.slice(i, 9).map((w, k) => ({ word: w, weight: 3 - k * 0.3 })), against: WORDS.slice(20, 24).map((w, k) => ({ word: w, weight: -1 + k * 0.2 })) })) },
    text: Array.from({ length: 160 }, (_, k) => `${word(k * 7 + n)} ${k % 9 === 8 ? 'near the market.' : 'of the'}`).join(' '), priority: { value: 0.83, rank: null, strategy: 'porthole', on: pageUrl(33), parts: [{ what: 'anchor text', adds: 0.4 }, { what: 'linking pages', adds: 0.3 }] },
    history: [{ at: c.at[n] - 60000, what: 'discovered' }, { at: c.at[n] - 50000, what: 'queued with priority 0.83' }, { at: c.at[n], what: 'fetched: status 200, 18.4 kB' }], archived: true,
  };
}

const PROGRESS = ['fetching 3 pages', 'fetched 3 of 3 pages', 'training 152 decisions', 'cross-validation'];
function startJob(c, what, command, result) {
  const job = { id: c.jobs.size + 1, what, workspace: 'owls', command, state: 'running', exit: null, progress: [], result: null, error: null };
  c.jobs.set(String(job.id), job);
  PROGRESS.forEach((line, i) => setTimeout(() => job.progress.push(line), 250 * (i + 1)));
  setTimeout(() => Object.assign(job, { state: 'done', exit: 0, result }), 250 * (PROGRESS.length + 1));
  return job;
}
const TRAINED = { accuracy: 0.93, log_loss: 0.21, examples: 5263, wrong: [{ url: pageUrl(3), topic: GOOD, judged_as: '/Recreation/Birding', relevance: 0.31 }], changes: { up: [{ url: pageUrl(8), title: pageTitle(8), before: 0.41, after: 0.88 }], down: [{ url: pageUrl(9), title: pageTitle(9), before: 0.77, after: 0.12 }], good_before: 1201, good_after: 1260 } };

function change(c, name, body) {
  const at = Date.now();
  if (name === 'commands') {
    if (body.what === 'pause') c.isPaused = true;
    if (body.what === 'resume') c.isPaused = false;
    if (body.what === 'stop') c.isRunning = false;
    const command = { id: c.commands.length + 1, at, what: body.what, parameters: body.parameters ?? {}, answered: at + 40, failed: false, outcome: `${body.what}: done` };
    c.commands.unshift(command);
    return { ...command, command: `porthole -C owls ${body.what}` };
  }
  if (name === 'scope/preview') return { queued_removed: 412, fetched_matching: 31, examples: [pageUrl(1), pageUrl(2), pageUrl(3)] };
  if (name === 'crawl') { c.isRunning = true; return startJob(c, 'crawl', 'porthole -C owls crawl', null); }
  if (name === 'topics') { if (body.op === 'mark') c.marks.add(body.path); if (body.op === 'unmark') c.marks.delete(body.path); return { outcome: `${body.op} ${body.path}`, command: `porthole -C owls topics ${body.op} ${body.path}` }; }
  if (name === 'proposals') return [{ path: GOOD, probability: 0.986, examples: 3, is_good: false, words: WORDS.slice(0, 8) }, { path: '/Recreation/Birding', probability: 0.011, examples: 0, is_good: false, words: WORDS.slice(6, 12) }];
  if (name === 'train') return startJob(c, 'train', 'porthole -C owls train', TRAINED);
  if (name === 'examples' && body.op === 'add') return startJob(c, 'examples', 'porthole -C owls examples add / URL…', { outcome: 'added' });
  if (name === 'exports') return startJob(c, 'export', `porthole -C owls export ${body.format}`, { name: 'owls.jsonl' });
  if (name === 'query') return body.sql?.includes('bad') ? { status: 400, error: 'near "bad": syntax error', remedy: 'the tables are listed beside the query' } : { columns: ['minute', 'pages', 'relevance'], rows: Array.from({ length: 40 }, (_, i) => [i, 100 + ((i * 37) % 60), 0.4 + (i % 10) / 25]), truncated: false, ms: 3 };
  return { outcome: 'done', command: `porthole -C owls ${name} ${JSON.stringify(body)}` };
}

function handle(c, request, response, speed, dist) {
  const url = new URL(request.url, 'http://mock');
  if (!url.pathname.startsWith('/api/v1/')) return file(dist, url.pathname, response);
  const [, , , ...path] = url.pathname.split('/');
  const send = (body, status = body?.status && body?.error ? body.status : 200) => response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }).end(JSON.stringify(body));
  const name = path.slice(2).join('/');
  if (request.method === 'POST') {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const body = text ? JSON.parse(text) : {};
      if (path[0] === 'workspaces') return send(startJob(c, 'start', 'porthole init owls --taxonomy general', { name: body.name }));
      if (path[0] === 'bookmarks') return send({ folders: [{ path: 'Birds', pages: 14, left_out: 1 }, { path: 'Birds/Owls', pages: 6, left_out: 0 }, { path: 'Recipes', pages: 22, left_out: 2 }] });
      if (path[0] === 'jobs') return send({ outcome: 'cancelled' });
      send(change(c, name, body));
    });
    return;
  }
  if (path[0] === 'workspaces') return send([{ name: 'owls', path: '/home/me/owls', is_running: c.isRunning, pages: 2700, queued: 31000, harvest: 0.61, good: [GOOD], last_stop: null, started_here: true }, { name: 'cycling', path: '/home/me/cycling', is_running: false, pages: 812, queued: 9400, harvest: 0.44, good: ['/Recreation/Cycling'], last_stop: 'limit', started_here: false }]);
  if (path[0] === 'jobs') return send(path[1] ? c.jobs.get(path[1]) : [...c.jobs.values()]);
  if (path[0] === 'lab') return send(path[1] ? { rows: [{ strategy: 'porthole', topic: GOOD, harvest: 0.61 }, { strategy: 'breadth', topic: GOOD, harvest: 0.08 }], figures: [] } : [{ name: 'schools', experiment: 'schools.toml', strategies: ['porthole', 'soft', 'breadth'], topics: [GOOD], at: Date.now() - 9e6 }]);
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
    if (c.isRunning && !c.isPaused) {
      owed += (c.rate * speed) / 4;
      for (; owed >= 1; owed--) c.fetch();
    }
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
