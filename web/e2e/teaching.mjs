/** Teaching: twenty answers by keys, a preview, and a critic that is truly better afterwards. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A web of short pages, on which the critic has something to learn, and a topic that shares words with another. */
const WEB = ['--seed', '1', '--pages', '6000', '--page-bytes', '1000'];
const TOPIC = '/Business/Mutual_Funds';
const PAGES = 500;
const ANSWERS = 20;

export const scenarios = [
  ['twenty answers by keys raise the true precision of the best hundred pages', async (world) => {
    const { page, origin } = world;
    const truth = new Map((await world.run(['lab', 'synth', ...WEB, '--labels'])).split('\n').map((line) => line.split('\t')));
    const isTrue = (url) => truth.get(url) === TOPIC;
    const examples = await crawled(world);

    await page.goto(`${origin}/w/taught/teach`);
    const asked = [];
    for (let answered = 0; answered < ANSWERS; ) {
      const link = page.locator('.sheet').getByRole('link').nth(1);
      await link.waitFor();
      const url = await link.getAttribute('href');
      assert.ok(!asked.includes(url), `${url} was asked about before`);
      asked.push(url);
      // The first one is skipped: it must not come again.
      const key = asked.length === 1 ? 's' : isTrue(url) ? 'y' : 'n';
      if (key !== 's') answered += 1;
      await page.keyboard.press(key);
      await page.waitForFunction((url) => document.querySelectorAll('.sheet a')[1]?.getAttribute('href') !== url, url);
    }
    await page.getByText(`${ANSWERS} answers:`).waitFor();

    const before = await precision(world, isTrue, [...examples, ...asked]);
    await page.getByRole('button', { name: 'Train, and show what changes' }).click();
    await page.getByRole('button', { name: 'take it over' }).click();
    await page.getByText('in use', { exact: true }).waitFor();
    // A crawl judges the stored pages again when it starts.
    await page.goto(`${origin}/w/taught/crawl`);
    await page.getByRole('button', { name: 'Resume the crawl' }).click();
    await page.getByRole('dialog').getByLabel('stop after pages').fill('1');
    await page.getByRole('dialog').getByRole('button', { name: 'start', exact: true }).click();
    await page.waitForFunction(async (before) => {
      const status = await (await fetch('/api/v1/w/taught/status')).json();
      return !status.is_running && status.counts.fetched > before;
    }, PAGES, { polling: 500 });
    const after = await precision(world, isTrue, [...examples, ...asked]);
    console.log(`true pages among the best hundred: ${before} before, ${after} after ${ANSWERS} answers`);
    assert.ok(after > before, `${before} before, ${after} after`);
  }],
];

/** A crawl of the web from three pages of the topic. Returns their addresses. */
async function crawled(world) {
  const web = await world.serveWeb(WEB);
  const listing = await (await fetch(web)).text();
  const part = listing.split(`<h2>${TOPIC}</h2>`)[1].split('<h2>')[0];
  const examples = [...part.matchAll(/href="([^"]*)"/g)].map((found) => found[1].replaceAll('&amp;', '&')).slice(0, 3);
  await world.run(['init', 'taught']);
  const settings = `[fetch]\nproxy = "${web}"\nloopback = true\ncontact = "tests@example.org"\n[polite]\ndelay = 0.02\ndelay-factor = 0\n[crawl]\nidle = "fill"\n`;
  writeFileSync(join(world.folder, 'taught/porthole.toml'), settings);
  await world.run(['start', ...examples, 'taught', '--name', 'Mutual Funds', '--yes', '--pages', String(PAGES)]);
  return examples;
}

/** Pages that are truly about the topic among the hundred with the highest relevance, without those that were shown. */
async function precision(world, isTrue, except) {
  const sql = 'select url from crawl where state = 1 and copy_of is null order by relevance desc, oid limit 400';
  const { rows } = await world.post('/w/taught/query', { sql });
  return rows.map(([url]) => url).filter((url) => !except.includes(url)).slice(0, 100).filter(isTrue).length;
}
