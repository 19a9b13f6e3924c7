/**
 * Teaching: twenty answers by keys, a preview, and a new critic. That answers make it better is tested in
 * porthole/tests/it/teach.rs, on larger collections.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProxy } from './world.mjs';

/** A web of short pages, on which the critic has something to learn, and a topic that shares words with another. */
const WEB = ['--seed', '2', '--pages', '6000', '--page-bytes', '1000'];
const TOPIC = '/Business/Mutual_Funds';
const PAGES = 300;
const ANSWERS = 20;

export const scenarios = [
  ['twenty answers by keys, a preview, and a new critic', async (world) => {
    const { page, origin } = world;
    const truth = new Map((await world.run(['lab', 'synth', ...WEB, '--labels'])).split('\n').map((line) => line.split('\t')));
    const isTrue = (url) => truth.get(url) === TOPIC;
    await crawled(world);

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

    const trained = (await world.api('/w/taught/status')).critic.trained_at;
    await page.getByRole('button', { name: 'Train, and show what changes' }).click();
    await page.getByRole('button', { name: 'take it over' }).click();
    await page.getByText('in use', { exact: true }).waitFor();
    assert.ok((await world.api('/w/taught/status')).critic.trained_at > trained, 'a new critic is in use');
  }],
];

/** A crawl of the web from three pages of the topic. */
async function crawled(world) {
  const web = await world.serveWeb(WEB);
  const proxy = await startProxy(new URL(web));
  world.proxies.push(proxy);
  const listing = await (await fetch(web)).text();
  const part = listing.split(`<h2>${TOPIC}</h2>`)[1].split('<h2>')[0];
  const examples = [...part.matchAll(/href="([^"]*)"/g)].map((found) => found[1].replaceAll('&amp;', '&')).slice(0, 3);
  await world.run(['init', 'taught']);
  const settings = `[fetch]\nproxy = "${proxy.address}"\nloopback = true\ncontact = "tests@example.org"\n[polite]\ndelay = 0.02\ndelay-factor = 0\n`;
  writeFileSync(join(world.folder, 'taught/porthole.toml'), settings);
  await world.run(['start', ...examples, 'taught', '--name', 'Mutual Funds', '--yes', '--pages', String(PAGES)]);
}
