/** From nothing to a running crawl, as a new user does it. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BIRDS, HOSTILE, SEARCHED } from './world.mjs';

export const scenarios = [
  ['from pasted addresses to a running crawl', async (world) => {
    const { page } = world;
    await page.goto(world.origin);
    await page.getByLabel(/addresses of pages/).fill(`${BIRDS.join('\n')}\nnot-an-address`);
    await page.getByText('3 pages; 1 entry is no http or https address').waitFor();
    await page.getByLabel('name of the workspace').fill('birds');
    await page.getByLabel(/e-mail address/).fill('tests@example.org');
    await page.getByRole('button', { name: 'Create the workspace' }).click();
    await page.getByRole('heading', { name: 'Set up birds' }).waitFor();
    world.hurry('birds');
    await chooseTopic(page, '/Science/Biology/Birds');
    await train(page);
    await page.getByLabel(/stop after pages/).fill('3000');
    await page.getByRole('button', { name: 'Start the crawl' }).click();
    await page.waitForURL('**/w/birds/crawl');
    await page.getByRole('heading', { name: /Crawling for Birds/ }).waitFor();
    assert.match(await page.title(), /birds/);
  }],
  ['dots appear while the crawl runs', async ({ page }) => {
    const dots = () => page.locator('.scatter').getAttribute('data-dots').then(Number);
    await page.waitForFunction(() => Number(document.querySelector('.scatter')?.dataset.dots) > 5);
    const before = await dots();
    await page.waitForFunction((before) => Number(document.querySelector('.scatter').dataset.dots) > before + 20, before);
    assert.ok(await hasInk(page), 'the dots are drawn');
  }],
  ['from bookmarks to a running crawl', async (world) => {
    const { page } = world;
    const folder = join(world.folder, '.files');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'bookmarks.html');
    const links = BIRDS.map((url) => `<DT><A HREF="${url}">a page</A>`).join('\n');
    writeFileSync(file, `<!DOCTYPE NETSCAPE-Bookmark-file-1><TITLE>Bookmarks</TITLE><H1>Bookmarks</H1><DL><p>
      <DT><H3>Feathered friends</H3><DL><p>${links}<DT><A HREF="javascript:window.owned=4">script</A></DL><p></DL><p>`);
    await page.goto(world.origin);
    await page.getByRole('button', { name: 'bookmarks' }).click();
    await page.locator('input[type=file]').setInputFiles(file);
    await page.getByText('1 left out').waitFor();
    await page.getByRole('checkbox', { name: /Feathered friends/ }).check();
    await page.getByLabel('name of the workspace').fill('marked');
    await page.getByRole('button', { name: 'Create the workspace' }).click();
    await page.getByRole('heading', { name: 'Set up marked' }).waitFor();
    world.hurry('marked');
    // The folders are the topics: they are marked, and the critic is trained.
    await page.getByRole('button', { name: 'Start the crawl' }).waitFor();
    await page.getByLabel(/stop after pages/).fill('40');
    await page.getByRole('button', { name: 'Start the crawl' }).click();
    await page.waitForURL('**/w/marked/crawl');
    await page.waitForFunction(() => Number(document.querySelector('.scatter')?.dataset.dots) > 5);
  }],

  ['from keywords to a running crawl, with pages that a search endpoint names', async (world) => {
    const { page } = world;
    await page.goto(world.origin);
    await page.getByRole('button', { name: 'keywords' }).click();
    await page.getByLabel(/words that pages about your topic use/).fill(SEARCHED);
    await page.getByLabel('name of the workspace').fill('worded');
    await page.getByRole('button', { name: 'Create the workspace' }).click();
    await page.getByRole('heading', { name: 'Set up worded' }).waitFor();
    assert.deepEqual(world.search.questions, [SEARCHED]);
    world.hurry('worded');
    // The pages that fit are the examples of a good topic, and the critic is trained.
    const examples = (await world.api('/w/worded/examples')).map((row) => row.url);
    assert.ok(examples.length >= 3 && examples.every((url) => [...BIRDS, HOSTILE].includes(url)), String(examples));
    await page.getByText(/Pages it learns from/).waitFor();
    await page.getByLabel(/stop after pages/).fill('40');
    await page.getByRole('button', { name: 'Start the crawl' }).click();
    await page.waitForURL('**/w/worded/crawl');
    await page.waitForFunction(() => Number(document.querySelector('.scatter')?.dataset.dots) > 5);
  }],
];

/** Chooses a proposed topic; its words are shown. */
async function chooseTopic(page, path) {
  const choice = page.getByRole('checkbox', { name: new RegExp(`${path} `) }).first();
  await choice.waitFor();
  assert.ok((await page.locator('.choices .word').count()) >= 3, 'the words that decide are shown');
  await choice.check();
  await page.getByRole('button', { name: /^Look for/ }).click();
}

async function train(page) {
  await page.getByRole('button', { name: 'Train', exact: true }).click();
  await page.getByText(/Trained on [\d,]+ examples/).waitFor();
  await page.getByRole('button', { name: 'Start the crawl' }).waitFor();
}

/** Whether the lower canvas has pixels in the colour of dots, not only ground and grid. */
function hasInk(page) {
  return page.evaluate(() => {
    const canvas = document.querySelector('.scatter canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return colours.size > 4;
  });
}
