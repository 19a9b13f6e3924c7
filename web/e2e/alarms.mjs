/** Alarms: one when a topic is exhausted, none when relevance only varies at random. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DROP, NOISE, WORDS } from './planted.mjs';

/** `pages` of `[alarms]`: smaller than the default, so that the crawls are short. */
const ALARM_PAGES = 50;

export const scenarios = [
  ['a planted fall of relevance is an alarm, with its reason', async (world) => {
    const { page } = world;
    await trained(world, 'drop');
    await crawl(world, 'drop', `${DROP}p/0`, 3000);
    const alarm = page.locator('.alarm[role=alert]');
    await alarm.getByText(/mean relevance fell from 0\.\d+ to 0\.\d+/).waitFor();
    const { alarms } = await world.api('/w/drop/status');
    assert.deepEqual(alarms.map(({ kind, is_active }) => [kind, is_active]), [['relevance falls', true]]);
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByRole('button', { name: 'Resume the crawl' }).waitFor();
    assert.equal(await alarm.count(), 0, 'no alarm outlives its crawl');
  }],

  ['noise is no alarm', async (world) => {
    const { page } = world;
    await trained(world, 'noise');
    await crawl(world, 'noise', `${NOISE}p/0`, 700);
    await page.getByRole('button', { name: 'Resume the crawl' }).waitFor();
    const { alarms, counts, harvest } = await world.api('/w/noise/status');
    assert.ok(counts.fetched >= 700 && harvest > 0.3 && harvest < 0.7, `${counts.fetched} pages, harvest ${harvest}`);
    assert.deepEqual(alarms, []);
    assert.equal(await page.locator('.alarm').count(), 0);
  }],
];

/** A workspace whose good topic is birds. */
async function trained(world, workspace) {
  const folder = join(world.folder, '.files', workspace);
  mkdirSync(folder, { recursive: true });
  await world.run(['init', workspace, '--contact', 'tests@example.org']);
  for (const [topic, words] of Object.entries(WORDS)) {
    const files = Array.from({ length: 6 }, (_, number) => {
      const file = join(folder, `${topic}-${number}.txt`);
      writeFileSync(file, Array.from({ length: 60 }, (_, i) => words[(number + i * (1 + (number % 5))) % words.length]).join(' '));
      return file;
    });
    await world.run(['-C', workspace, 'examples', 'add', `/${topic}`, ...files]);
  }
  await world.run(['-C', workspace, 'topics', 'mark', '/Birds']);
  await world.run(['-C', workspace, 'train']);
  world.hurry(workspace, 0, `[alarms]\npages = ${ALARM_PAGES}\n`);
}

async function crawl({ page, origin }, workspace, start, pages) {
  await page.goto(`${origin}/w/${workspace}/crawl`);
  await page.getByRole('button', { name: 'Start the crawl' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('stop after pages').fill(String(pages));
  await dialog.getByLabel(/more start pages/).fill(start);
  await dialog.getByRole('button', { name: 'start', exact: true }).click();
  await page.waitForFunction(() => Number(document.querySelector('.scatter')?.dataset.dots) > 0);
}
