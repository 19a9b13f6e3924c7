/** Runs of the lab, on made-up results: the harvest of each strategy, and differences between strategies. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TOPICS = ['/Science/Birds', '/Home/Baking', '/Travel/Castles'];
/** Harvest of each strategy at 100 fetches; samples differ by 0.01. */
const HARVEST = { soft: 0.4, porthole: 0.6, random: 0.1 };

export const scenarios = [
  ['a run of the lab: its strategies, and a comparison with an address', async (world) => {
    const { page, origin } = world;
    plantRun(world.folder);
    await page.goto(`${origin}/lab`);
    await page.getByRole('link', { name: 'trial' }).click();
    await page.getByRole('heading', { name: 'Harvest' }).waitFor();
    const compared = page.getByRole('region', { name: 'Compared' });
    assert.match(await compared.getByRole('row', { name: /porthole/ }).textContent(), /\+20\.0.*\+20\.0 to \+20\.0/);
    await compared.getByLabel('against').selectOption('porthole');
    await page.waitForURL(/against=porthole/);
    await compared.getByLabel('by').selectOption('loss at 100');
    await page.reload();
    assert.match(await compared.getByRole('row', { name: /random/ }).textContent(), /\+50/);
  }],
];

/** Writes made-up results of an experiment. */
export function plantRun(folder) {
  const rows = Object.entries(HARVEST).flatMap(([strategy, harvest]) => TOPICS.flatMap((topic) => [0, 1].map((sample) => {
    const at100 = harvest + sample / 100;
    return { topic, strategy, sample, fetched: 100, harvest: { 50: at100 / 2, 100: at100 }, recall: { 50: at100 / 4, 100: at100 / 2 }, sites: { 50: 3, 100: 5 }, loss: { 50: 50 * (1 - at100), 100: 100 * (1 - at100) }, stop: 'limit' };
  })));
  mkdirSync(join(folder, 'trial'), { recursive: true });
  writeFileSync(join(folder, 'trial/experiment.json'), JSON.stringify({ strategies: Object.keys(HARVEST), topics: TOPICS }));
  writeFileSync(join(folder, 'trial/results.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}
