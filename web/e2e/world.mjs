/**
 * The environment of the tests: a synthetic web over HTTP with a few hostile pages, the server under test, and a browser.
 * Everything listens on loopback and ends with the tests.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { launch, useDist } from './browser.mjs';
import { planted } from './planted.mjs';

/** Pages about birds in the synthetic web of seed 21, as in docs/guide.md. */
export const BIRDS = [
  'http://www.ground-year-12.example/swallow/bird-place-24.html',
  'http://www.ground-year-12.example/nest/work-time-58.html',
  'http://www.thing-time-47.test/law/start/34/',
];
/** Words that `BIRDS` and the hostile page are found with; those that fit become examples. */
export const SEARCHED = 'bird nest swallow';

export const HOSTILE = 'http://www.hostile.example/';
export const HOSTILE_TITLE = '<script>window.owned = 1</script><img src=x onerror="window.owned = 2">';
/** Time limit of a step. */
export const PATIENCE = 120_000;

/** The program to test. */
export function findProgram() {
  const candidates = [process.env.PORTHOLE, '../target/release/porthole', '../target/debug/porthole'];
  const program = candidates.find((path) => path && existsSync(path));
  if (program) return resolve(program);
  console.error('no program to test: build it (cargo build -p porthole), or set PORTHOLE to its path');
  process.exit(1);
}

export class World {
  /** Without any server yet. */
  static empty(program) {
    const world = new World();
    world.program = program;
    world.folder = mkdtempSync(join(tmpdir(), 'porthole-e2e-'));
    world.children = [];
    world.proxies = [];
    return world;
  }

  static async create(program) {
    const world = World.empty(program);
    world.proxy = await startProxy(new URL(await world.serveWeb(['--seed', '21'])));
    world.environment = { ...process.env, http_proxy: world.proxy.address, no_proxy: '', NO_COLOR: '1' };
    world.search = await startSearch();
    const server = world.start(['serve', world.folder, '--listen', '127.0.0.1:0', '--search-url', `${world.search.address}/search?q={words}&format=json`]);
    world.address = (await world.line(server, /(http:\/\/\S+\?token=\S+)/))[1];
    world.origin = new URL(world.address).origin;
    world.browser = await launch();
    world.context = await world.browser.newContext({ viewport: { width: 1280, height: 900 } });
    world.page = await world.open(world.context);
    await world.page.goto(world.address);
    return world;
  }

  /** A tab whose errors fail the tests. */
  async open(context) {
    const page = await context.newPage();
    if (process.env.E2E_DIST) await useDist(page);
    page.setDefaultTimeout(PATIENCE);
    this.problems ??= [];
    page.on('pageerror', (error) => this.problems.push(`${page.url()}: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) this.problems.push(`${page.url()}: ${message.text()}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(this.origin) && !request.url().startsWith('data:')) this.problems.push(`a request to ${request.url()}`);
    });
    page.on('dialog', (dialog) => {
      this.problems.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    return page;
  }

  /** Serves a synthetic web. Returns its address, which also works as a proxy. */
  async serveWeb(args) {
    return (await this.line(this.start(['lab', 'synth', ...args, '--serve', '127.0.0.1:0']), /at (http:\/\/[\d.:]+)/))[1];
  }

  start(args) {
    const child = spawn(this.program, args, { cwd: this.folder, env: this.environment ?? process.env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (child.output += text));
    this.children.push(child);
    return child;
  }

  /** Runs a command to its end. */
  async run(args) {
    const child = this.start(args);
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`porthole ${args.join(' ')} exited with ${code}: ${child.output}`);
    return child.output;
  }

  /** The first line of output that matches. */
  line(child, pattern) {
    return new Promise((resolve, reject) => {
      for (const stream of [child.stdout, child.stderr]) {
        createInterface({ input: stream }).on('line', (line) => {
          const found = pattern.exec(line);
          if (found) resolve(found);
        });
      }
      child.once('exit', (code) => reject(new Error(`exited with ${code}: ${child.output}`)));
    });
  }

  /** Switches politeness off, to save time. */
  hurry(workspace, delay = 0.05, more = '') {
    const file = join(this.folder, workspace, 'porthole.toml');
    // It may be called again.
    const [first] = readFileSync(file, 'utf8').split('\n# of the tests\n');
    writeFileSync(file, `${first.replaceAll(/^\[(polite|alarms)\]$/gm, '# [$1]')}\n# of the tests\n[polite]\ndelay = ${delay}\ndelay-factor = 0\n${more}`);
  }

  api(path, init = {}) {
    return this.page.evaluate(async ([path, init]) => {
      const response = await fetch(`/api/v1${path}`, { ...init, headers: { 'Content-Type': 'application/json', 'X-Porthole': '1' } });
      return response.json();
    }, [path, init]);
  }

  post(path, body) {
    return this.api(path, { method: 'POST', body: JSON.stringify(body) });
  }

  async end() {
    await this.browser?.close();
    for (const child of this.children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const closed = once(child, 'close');
      child.kill('SIGTERM');
      await closed;
    }
    for (const { server } of [this.proxy, this.search, ...this.proxies].filter(Boolean)) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Forwards to a synthetic web, and answers itself for the hostile host and for planted pages. */
export async function startProxy(web) {
  const server = createServer((request, response) => {
    if (request.url.startsWith(HOSTILE)) return hostile(new URL(request.url).pathname, response);
    const page = planted(request.url);
    if (page) return response.writeHead(page.status, { 'Content-Type': 'text/html; charset=utf-8' }).end(page.body);
    const forward = httpRequest({ host: web.hostname, port: web.port, method: request.method, path: request.url, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    forward.on('error', () => response.destroy());
    // Hosts that stall fail at once here, so that no test waits for a timeout.
    forward.setTimeout(1500, () => forward.destroy());
    request.pipe(forward);
  });
  return listen(server);
}

/** A search endpoint that answers like SearXNG. It has results for one query. */
function startSearch() {
  const questions = [];
  const server = createServer((request, response) => {
    const words = new URL(request.url, 'http://search').searchParams.get('q');
    questions.push(words);
    const urls = words === SEARCHED ? [...BIRDS, 'javascript:window.owned=5', HOSTILE] : [];
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ query: words, results: urls.map((url) => ({ url, title: HOSTILE_TITLE, content: 'a page' })) }));
  });
  return listen(server, { questions });
}

export async function listen(server, more = {}) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, address: `http://127.0.0.1:${server.address().port}`, ...more };
}

function hostile(path, response) {
  if (path === '/robots.txt') return response.writeHead(404).end();
  const escaped = HOSTILE_TITLE.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const words = 'The owl and the sparrow build a nest of feathers; every bird has wings, plumage and a song in the migration season. ';
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
  response.end(`<html><head><title>${escaped}</title></head><body><h1>${escaped}</h1><p>${words.repeat(6)}</p>
    <p><a href="javascript:window.owned=3">${escaped}</a> <a href="${HOSTILE}two.html?x=&quot;&gt;&lt;img src=x onerror=owned()&gt;">${escaped}</a></p></body></html>`);
}
