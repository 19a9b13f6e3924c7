/** Watching and controlling a crawl. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { BIRDS } from './world.mjs';

export const scenarios = [
  ['a click on a dot opens the page’s story', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/crawl`);
    await page.waitForFunction(() => Number(document.querySelector('.scatter')?.dataset.dots) > 20);
    const plot = page.getByRole('application');
    await plot.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    const ring = await page.locator('.scatter .tip').waitFor().then(() => page.locator('.scatter .tip strong').textContent());
    assert.ok(ring);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/w\/birds\/page\?url=/);
    await page.getByRole('heading', { name: 'How it was found' }).waitFor();
    await page.getByRole('heading', { name: 'Why it scored' }).waitFor();
    // A click does the same: at the place where the last dot is.
    await page.goBack();
    await page.waitForFunction(() => Number(document.querySelector('.scatter')?.dataset.dots) > 20);
    await plot.focus();
    await page.keyboard.press('End');
    await page.locator('.scatter .tip').waitFor();
    const place = await page.evaluate(() => {
      const box = document.querySelector('.scatter').getBoundingClientRect();
      const tip = document.querySelector('.scatter .tip');
      return { x: box.left + Number(tip.dataset.x), y: box.top + Number(tip.dataset.y) };
    });
    await page.mouse.click(place.x, place.y);
    await page.waitForURL(/\/w\/birds\/page\?url=/);
  }],
  ['pause and resume, each with its outcome', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/crawl`);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('heading', { name: /Paused for Birds/ }).waitFor();
    await page.getByText('porthole -C birds pause').first().waitFor();
    await page.getByText('The crawl is paused').waitFor();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByRole('heading', { name: /Crawling for Birds/ }).waitFor();
    const before = Number(await page.locator('.scatter').getAttribute('data-dots'));
    await page.waitForFunction((before) => Number(document.querySelector('.scatter').dataset.dots) > before, before);
  }],
  ['an exclusion shows first what it would remove', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/crawl`);
    await page.getByLabel(/URLs to exclude/).fill('*/calendar/*\n*.test/*');
    await page.getByRole('button', { name: 'show what it removes' }).click();
    const text = await page.locator('.preview').textContent();
    assert.match(text, /[\d,]+ queued URLs would be removed/);
    await page.getByRole('button', { name: 'exclude', exact: true }).last().click();
    await page.locator('.log').getByText('scope').first().waitFor();
  }],
  ['marking the parent topic good changes the harvest', async (world) => {
    const { page, origin } = world;
    const before = await world.api('/w/birds/status');
    await page.goto(`${origin}/w/birds/topics?topic=%2FScience%2FBiology`);
    await page.getByRole('button', { name: 'mark good instead of Birds' }).click();
    await page.getByText(/porthole -C birds topics mark \/Science\/Biology/).first().waitFor();
    await page.getByRole('treeitem', { selected: true }).getByText('good').waitFor();
    await page.waitForFunction(async (before) => (await (await fetch('/api/v1/w/birds/status')).json()).harvest > before + 0.005, before.harvest, { polling: 500 });
  }],
  ['the only good topic of a running crawl can be unmarked, and another marked', async (world) => {
    const { page, origin } = world;
    await page.goto(`${origin}/w/birds/topics?topic=%2FScience%2FBiology`);
    await page.getByRole('button', { name: 'good: unmark' }).click();
    await page.getByText(/porthole -C birds topics unmark \/Science\/Biology/).first().waitFor();
    await page.getByRole('treeitem', { selected: true }).getByText('good').waitFor({ state: 'detached' });
    assert.equal(await page.locator('.notice[data-state=failed]').count(), 0);
    assert.equal((await world.api('/w/birds/status')).is_running, true);
    await page.getByRole('button', { name: 'mark good', exact: true }).click();
    await page.getByRole('treeitem', { selected: true }).getByText('good').waitFor();
  }],

  ['a crawl of another process is watched and commanded', async (world) => {
    const { page, origin } = world;
    await world.run(['start', ...BIRDS, 'foreign', '--yes', '--contact', 'tests@example.org', '--pages', '1']);
    world.hurry('foreign', 0.2);
    const other = world.start(['-C', 'foreign', 'crawl', '--pages', '2000']);
    await page.goto(`${origin}/w/foreign/crawl`);
    await page.getByRole('heading', { name: /Crawling for/ }).waitFor();
    await page.waitForFunction(() => Number(document.querySelector('.scatter')?.dataset.dots) > 5);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('heading', { name: /Paused/ }).waitFor();
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await once(other, 'close');
    await page.getByRole('button', { name: 'Resume the crawl' }).waitFor();
  }],
];
