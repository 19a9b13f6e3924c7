/** Every page shows its main content, and axe finds no serious accessibility problem. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { BIRDS } from './world.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PAGES = ['/', '/lab', '/lab/trial', '/ask', '/w/birds/crawl', '/w/birds/setup', '/w/birds/topics', '/w/birds/results/pages', '/w/birds/results/hubs', '/w/birds/results/authorities',
  '/w/birds/results/sites', '/w/birds/results/clusters', '/w/birds/results/graph', '/w/birds/search?q=bird', `/w/birds/page?url=${encodeURIComponent(BIRDS[0])}`, '/w/birds/teach', '/w/birds/query?sql=select+1+as+one', '/w/birds/exports'];

export const scenarios = [
  ['search finds words in the pages', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/crawl`);
    await page.keyboard.press('/');
    await page.keyboard.type('bird nest');
    await page.keyboard.press('Enter');
    await page.waitForURL(/search\?q=bird/);
    await page.locator('.hits li mark').first().waitFor();
  }],
  ['a query has an address, a table and a chart', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/query`);
    await page.getByLabel('SQL').fill('select seq, row from fetch order by seq limit 30');
    await page.keyboard.press('Control+Enter');
    await page.getByText('30 rows in').waitFor();
    await page.reload();
    await page.getByText('30 rows in').waitFor();
    await page.getByRole('button', { name: 'chart' }).click();
    await page.locator('.uplot').waitFor();
    await page.getByLabel('SQL').fill('delete from crawl');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('alert').waitFor();
  }],
  ['a prepared question is a form', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/query`);
    await page.getByRole('button', { name: /specialty-sites/ }).click();
    await page.getByRole('status').getByText(/rows? in/).waitFor();
    assert.match(page.url(), /name=specialty-sites/);
  }],
  ['an export becomes a file', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/exports`);
    for (const [name, ending, beginning] of [['CSV', 'csv', 'url,'], ['Parquet', 'parquet', 'PAR1']]) {
      await page.getByRole('radio', { name: new RegExp(name) }).check();
      await page.getByRole('button', { name: 'Export', exact: true }).click();
      const link = page.getByRole('link', { name: new RegExp(`\\.${ending}$`) }).first();
      const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
      assert.match(file.suggestedFilename(), new RegExp(`\\.${ending}$`));
      assert.equal(readFileSync(await file.path()).subarray(0, beginning.length).toString(), beginning);
    }
  }],
  ['a topic is added, renamed, moved and removed', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/topics?topic=%2FScience`);
    await page.getByRole('button', { name: 'add below…' }).click();
    await page.getByLabel('name', { exact: true }).fill('Owls');
    await page.getByRole('dialog').getByRole('button', { name: 'add' }).click();
    await page.getByRole('treeitem', { name: /Owls/, selected: true }).waitFor();
    await page.getByRole('button', { name: 'rename…' }).click();
    await page.getByLabel('name', { exact: true }).fill('Barn owls');
    await page.getByRole('dialog').getByRole('button', { name: 'rename' }).click();
    await page.getByRole('treeitem', { name: /Barn owls/, selected: true }).waitFor();
    await page.getByRole('button', { name: 'remove…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'remove' }).click();
    await page.getByRole('treeitem', { name: /Barn owls/ }).waitFor({ state: 'detached' });
  }],
  ['feedback from the results is kept', async ({ page, origin }) => {
    await page.goto(`${origin}/w/birds/results/pages`);
    await page.getByRole('button', { name: 'useful', exact: true }).first().click();
    await page.getByText(/porthole -C birds mark/).first().waitFor();
    await page.reload();
    assert.equal(await page.getByRole('button', { name: 'useful', exact: true }).first().getAttribute('aria-pressed'), 'true');
  }],
  ...['light', 'dark'].map((scheme) => [`axe finds nothing serious on any page (${scheme})`, async (world) => {
    const context = await world.browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: scheme, storageState: await world.context.storageState() });
    const page = await world.open(context);
    for (const path of PAGES) {
      await page.goto(world.origin + path);
      await settle(page, path);
      const found = await page.evaluate(`(async () => { ${AXE}; const { violations } = await axe.run(document, { resultTypes: ['violations'] }); return violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160)) })); })()`);
      assert.deepEqual(found.filter(({ impact }) => ['serious', 'critical'].includes(impact)), [], path);
    }
    await context.close();
  }]),
  ['every page fits a phone', async (world) => {
    const context = await world.browser.newContext({ viewport: { width: 390, height: 844 }, storageState: await world.context.storageState() });
    const page = await world.open(context);
    for (const path of PAGES) {
      await page.goto(world.origin + path);
      await settle(page, path);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than the window`);
    }
    await context.close();
  }],
];

/** Waits until everything on the page is loaded. */
async function settle(page, path) {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-busy]')).catch(() => assert.fail(`${path} is still loading`));
}
