/**
 * A crawl of a synthetic web over loopback that has already made a number of fetches and continues at a constant speed, as the
 * load of `bench-scatter.mjs`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { World, listen } from './world.mjs';

const TOPIC = '/Recreation/Cycling';
const NAME = 'paced';
const EXAMPLES = 8;
const FILLING_WORKERS = 1000;
/** Number of workers. Some wait for hosts that stall; the others must be enough for the speed. */
const PACED_WORKERS = 300;
/** The web is larger than the crawl, so that links never run out. */
const WEB_SHARE = 4;

/** Makes `dots` fetches without a limit, then fetches `rate` pages per second until `end()`. */
export async function startPacedCrawl({ program, dots, rate, minutes }) {
  const world = World.empty(program);
  try {
    const wanted = dots + Math.ceil(minutes * 60 * rate);
    const web = await world.serveWeb(['--pages', String(WEB_SHARE * wanted), '--page-bytes', '2000']);
    const examples = await examplesOf(web);
    await world.run(['init', NAME]);
    const file = join(world.folder, NAME, 'porthole.toml');
    const settings = readFileSync(file, 'utf8');
    const reach = (proxy) => writeFileSync(file, settings.replace('[fetch]\n', `[fetch]\nproxy = "${proxy}"\nloopback = true\ncontact = "tests@example.org"\n`));
    reach(web);
    await world.run(['start', ...examples, NAME, '--name', 'Cycling', '--yes', '--no-crawl']);
    const crawl = ['-C', NAME, 'crawl', '--polite', 'off', '--patience', '0', '--archive', 'none'];
    await fill(world, crawl, dots);
    const proxy = await startPacer(new URL(web), rate);
    world.proxies.push(proxy);
    reach(proxy.address);
    const child = world.start([...crawl, '--workers', String(PACED_WORKERS), '--serve=127.0.0.1:0']);
    const address = (await world.line(child, /dashboard: (http:\S+)/))[1];
    return { address, name: NAME, process: child, end: () => world.end() };
  } catch (error) {
    await world.end();
    throw error;
  }
}

/** Crawls until there are about this many fetches. Some are redirects or failures, so the exact number is not known before. */
async function fill(world, crawl, dots) {
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(0);
  for (let fetches = 0; fetches < 0.98 * dots; ) {
    await world.run([...crawl, '--workers', String(FILLING_WORKERS), '--pages', String(Math.ceil((dots - fetches) / 2))]);
    fetches = Number(/\d+/.exec(await world.run(['-C', NAME, 'query', 'select count(*) from fetch', '--csv']))[0]);
    console.error(`${fetches} fetches after ${seconds()} s`);
  }
}

async function examplesOf(web) {
  const part = (await (await fetch(web)).text()).split(`<h2>${TOPIC}</h2>`)[1].split('<h2>')[0];
  return [...part.matchAll(/href="([^"]*)"/g)].map((found) => found[1].replaceAll('&amp;', '&')).slice(0, EXAMPLES);
}

/** A proxy that serves `rate` pages per second. Everything else (redirects, missing pages) is answered at once. */
function startPacer(web, rate) {
  const agent = new Agent({ keepAlive: true });
  let next = 0;
  const server = createServer((request, response) => {
    const forward = httpRequest({ agent, host: web.hostname, port: web.port, method: request.method, path: request.url, headers: request.headers }, (answer) => {
      const give = () => {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
      };
      if (answer.statusCode !== 200) return give();
      const now = performance.now();
      next = Math.max(next + 1000 / rate, now);
      setTimeout(give, next - now);
    });
    forward.on('error', () => response.destroy());
    forward.setTimeout(5000, () => forward.destroy());
    request.pipe(forward);
  });
  return listen(server);
}
