/**
 * Takes screenshots of every page, light, dark and at the width of a phone, during a crawl of a synthetic web.
 *
 *   PORTHOLE=../target/release/porthole node e2e/pictures.mjs FOLDER [--pages 1500] [NAME…]
 *
 * Files are named after page and variant. With NAMEs, only those pages are taken. Elements that are wider than the window, and
 * texts that are cut off without an ellipsis, are reported.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BIRDS, World, findProgram } from './world.mjs';

const { values: options, positionals: [folder, ...wanted] } = parseArgs({ allowPositionals: true, options: { pages: { type: 'string', default: '1500' } } });
const LOOKS = [['light', 1280, 900], ['dark', 1280, 900], ['phone', 390, 844]];
const NAME = 'birds';

mkdirSync(folder, { recursive: true });
const world = await World.create(findProgram());
try {
  await crawl();
  const url = (await world.post(`/w/${NAME}/query`, { sql: 'select url from crawl where state = 1 and copy_of is null and depth > 3 order by relevance desc limit 1' })).rows[0]?.[0] ?? BIRDS[0];
  for (const [look, width, height] of LOOKS) {
    const context = await world.browser.newContext({ viewport: { width, height }, colorScheme: look === 'dark' ? 'dark' : 'light', storageState: await world.context.storageState() });
    const page = await world.open(context);
    for (const [name, path] of Object.entries(pages(url))) {
      if (wanted.length && !wanted.includes(name)) continue;
      await page.goto(world.origin + path);
      await page.getByRole('heading').first().waitFor();
      await page.waitForFunction(() => !document.querySelector('[aria-busy]')).catch(() => console.log(`${name} ${look}: still loading`));
      await page.waitForTimeout(name === 'graph' ? 2500 : 500);
      for (const problem of await page.evaluate(problems)) console.log(`${name} ${look}: ${problem}`);
      await page.screenshot({ path: `${folder}/${name}-${look}.png`, fullPage: true });
    }
    await context.close();
  }
} finally {
  await world.end();
}

/** A running crawl that already has pages, hubs and an export. */
async function crawl() {
  await world.run(['start', ...BIRDS, NAME, '--yes', '--no-crawl', '--contact', 'you@example.org']);
  world.hurry(NAME, 0.05);
  await world.run(['-C', NAME, 'crawl', '--pages', options.pages]);
  await world.run(['-C', NAME, 'distill']);
  await world.run(['lab', 'run', fileURLToPath(new URL('../../experiments/quick.toml', import.meta.url)), '--samples', '2', '--out', 'quick']);
  await world.run(['start', ...BIRDS, 'owls', '--yes', '--no-crawl', '--contact', 'you@example.org']);
  world.hurry(NAME, 0.5);
  world.start(['-C', NAME, 'crawl', '--patience', '0']);
  await world.page.waitForFunction(async (name) => (await (await fetch(`/api/v1/w/${name}/status`)).json()).is_running, NAME, { polling: 300 });
  await world.post(`/w/${NAME}/exports`, { format: 'csv' });
}

function pages(url) {
  const within = (path) => `/w/${NAME}/${path}`;
  return {
    start: '/', lab: '/lab', run: '/lab/quick', ask: '/ask', asked: `/ask?w=${NAME}&url=${encodeURIComponent(url)}`, crawl: within('crawl'), time: within('crawl?axis=time'), new: '/w/owls/crawl', setup: within('setup'), topics: within('topics?topic=%2FScience%2FBiology%2FBirds'),
    ...Object.fromEntries(['pages', 'hubs', 'authorities', 'sites', 'clusters', 'graph'].map((kind) => [kind, within(`results/${kind}`)])), empty: '/w/owls/results/pages',
    search: within('search?q=bird'), story: within(`page?url=${encodeURIComponent(url)}`), unknown: within('page?url=http%3A%2F%2Fnone.example%2F'), teach: within('teach'),
    query: within('query'), answer: within('query?sql=select+kind%2C+count(*)+as+events+from+event+group+by+1'), exports: within('exports'), missing: '/w/none/crawl',
  };
}

/** Visible layout errors of a page. */
function problems() {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`wider than the window: ${document.documentElement.scrollWidth}`);
  for (const element of document.querySelectorAll('main *')) {
    const style = getComputedStyle(element);
    const isCut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0 && ['hidden', 'clip'].includes(style.overflowX) && style.textOverflow !== 'ellipsis';
    if (isCut && !element.closest('.hidden-text, canvas, .uplot') && element.textContent.trim()) found.push(`cut off: ${element.className} ${element.textContent.trim().slice(0, 60)}`);
  }
  return found;
}
