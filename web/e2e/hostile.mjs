/** Strings from the web and from users are shown as text, even if they contain markup or scripts. */
import assert from 'node:assert/strict';
import { HOSTILE, HOSTILE_TITLE } from './world.mjs';

const TOPIC = '"><img src=x onerror="window.owned = 5">';

export const scenarios = [
  ['hostile titles, links and topics do nothing', async (world) => {
    const { page, origin } = world;
    await page.goto(origin);
    await page.getByLabel(/addresses of pages/).fill(HOSTILE);
    await page.getByLabel('name of the workspace').fill('hostile');
    await page.getByRole('button', { name: 'Create the workspace' }).click();
    await page.getByRole('heading', { name: 'Set up hostile' }).waitFor();
    world.hurry('hostile');
    await page.goto(`${origin}/w/hostile/topics?topic=%2F`);
    await page.getByRole('button', { name: 'add below…' }).click();
    await page.getByLabel('name', { exact: true }).fill(TOPIC);
    await page.getByRole('dialog').getByRole('button', { name: 'add' }).click();
    await page.getByRole('treeitem').getByText(TOPIC).waitFor();
    await world.post('/w/hostile/topics', { op: 'mark', path: '/Science/Biology/Birds' });
    await world.post('/w/hostile/examples', { op: 'move', topic: '/Science/Biology/Birds', urls: [HOSTILE] });
    await page.goto(`${origin}/w/hostile/setup`);
    await page.getByRole('button', { name: /^Train/ }).click();
    await page.getByText(/Trained on [\d,]+ examples/).waitFor();
    await page.getByLabel(/stop after pages/).fill('2');
    await page.getByRole('button', { name: 'Start the crawl' }).click();
    await page.waitForURL('**/w/hostile/crawl');
    await page.waitForFunction(async () => (await (await fetch('/api/v1/w/hostile/status')).json()).counts.fetched >= 2, null, { polling: 300 });
    for (const path of ['topics', 'results/pages', 'teach', 'crawl', `page?url=${encodeURIComponent(HOSTILE)}`, `page?url=${encodeURIComponent('javascript:window.owned=6')}`]) {
      await page.goto(`${origin}/w/hostile/${path}`);
      await page.waitForLoadState('networkidle').catch(() => {});
    }
    await page.goto(`${origin}/w/hostile/results/pages`);
    await page.getByText(HOSTILE_TITLE).first().waitFor();
    const links = await page.evaluate(() => [...document.querySelectorAll('a')].map((link) => link.protocol));
    assert.deepEqual(links.filter((protocol) => !['http:', 'https:'].includes(protocol)), []);
    assert.equal(await page.evaluate(() => window.owned), undefined);
  }],
];
