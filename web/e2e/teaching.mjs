/**
 * Teaching: twenty answers by keys, a preview, and a new critic. porthole/tests/it/teach.rs tests that answers improve the critic,
 * compared with a control. With E2E_TEACHING=1,2,3,4,5 the improvement is measured here: for a synthetic web per seed, the number
 * of the best hundred pages that are about the topic before and after, by the web's own labels.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startProxy } from './world.mjs';

/** A web of short pages, so that the critic can improve, with a topic that shares words with another. */
const WEB = ['--seed', '2', '--pages', '6000', '--page-bytes', '1000'];
/** The web of porthole/tests/it/teach.rs: a fifth of the topic's words come from another topic. */
const MEASURED = 'pages = 6000\nsite_pages = 10\npage_bytes = 1000\nlinks = 12\nhub_links = 20\nislands = 0\nportals = 2\nflaky_hosts = 0.0\nstalling_hosts = 0.0\nrefusing_hosts = 0.0\ngrowing = 0.0\ncommingling = 0.2\n';
const TOPIC = '/Business/Mutual_Funds';
const ANSWERS = 20;
const BEST = 100;
const seeds = (process.env.E2E_TEACHING ?? '').split(',').filter(Boolean).map(Number);

export const scenarios = [
  ['twenty answers by keys, a preview, and a new critic', async (world) => {
    const truth = await labels(world, WEB);
    await crawled(world, 'taught', WEB, 300);
    await teach(world, 'taught', truth);
    await takeOver(world, 'taught');
  }],
  ...(seeds.length ? [[`twenty answers raise the precision of the best ${BEST} on most webs`, measure]] : []),
];

/** One web in five may be without an improvement. */
async function measure(world) {
  const outcomes = [];
  writeFileSync(join(world.folder, 'measured.toml'), MEASURED);
  for (const seed of seeds) {
    const name = `taught-${seed}`;
    const web = ['--web', 'measured.toml', '--seed', String(seed)];
    const truth = await labels(world, web);
    await crawled(world, name, web, 800);
    const examples = await rows(world, name, 'select url from example');
    const before = await best(world, name);
    const asked = await teach(world, name, truth);
    await takeOver(world, name);
    await judgeAgain(world, name);
    const after = await best(world, name);
    // Examples and pages that were asked about do not count.
    const except = new Set([...examples, ...asked]);
    const precision = (urls) => urls.filter((url) => !except.has(url)).slice(0, BEST).filter((url) => truth.get(url) === TOPIC).length;
    outcomes.push({ seed, before: precision(before), after: precision(after), yes: asked.filter((url) => truth.get(url) === TOPIC).length });
    console.log(`# seed ${seed}: ${outcomes.at(-1).before} of the best ${BEST} before, ${outcomes.at(-1).after} after; ${outcomes.at(-1).yes} of ${asked.length} pages asked about are about the topic`);
  }
  const better = outcomes.filter(({ before, after }) => after > before).length;
  assert.ok(better >= Math.ceil(0.8 * seeds.length), `better on ${better} of ${seeds.length} webs: ${JSON.stringify(outcomes)}`);
}

/** Answers the questions by the true topics. Returns the URLs of the questions. */
async function teach(world, name, truth) {
  const { page, origin } = world;
  await page.goto(`${origin}/w/${name}/teach`);
  const asked = [];
  for (let answered = 0; answered < ANSWERS; ) {
    const link = page.locator('.sheet').getByRole('link').nth(1);
    await link.waitFor();
    const url = await link.getAttribute('href');
    assert.ok(!asked.includes(url), `${url} was asked about before`);
    asked.push(url);
    // The first question is skipped, and must not be asked again.
    const key = asked.length === 1 ? 's' : truth.get(url) === TOPIC ? 'y' : 'n';
    if (key !== 's') answered += 1;
    await page.keyboard.press(key);
    await page.waitForFunction((url) => document.querySelectorAll('.sheet a')[1]?.getAttribute('href') !== url, url);
  }
  await page.getByText(`${ANSWERS} answers:`).waitFor();
  return asked;
}

async function takeOver(world, name) {
  const { page } = world;
  const trained = (await world.api(`/w/${name}/status`)).critic.trained_at;
  await page.getByRole('button', { name: 'Train, and show what changes' }).click();
  await page.getByRole('button', { name: 'take it over' }).click();
  await page.getByText('in use', { exact: true }).waitFor();
  assert.ok((await world.api(`/w/${name}/status`)).critic.trained_at > trained, 'a new critic is in use');
}

/** Starts a crawl, which judges the stored pages by the new critic. */
async function judgeAgain(world, name) {
  const { page, origin } = world;
  await page.goto(`${origin}/w/${name}/crawl`);
  const fetched = await fetches(world, name);
  await page.getByRole('button', { name: 'Resume the crawl' }).click();
  await page.getByLabel('stop after pages').fill('1');
  await page.getByRole('dialog').getByRole('button', { name: 'start', exact: true }).click();
  for (;;) {
    const status = await world.api(`/w/${name}/status`);
    if (!status.is_running && (await fetches(world, name)) > fetched) return;
    await page.waitForTimeout(300);
  }
}

const fetches = async (world, name) => Number((await rows(world, name, 'select count(*) from fetch'))[0]);

/** URLs, the most relevant first; more than are counted. */
function best(world, name) {
  return rows(world, name, `select url from crawl where state = 1 and copy_of is null order by relevance desc, oid limit ${4 * BEST}`);
}

/** The first column of an answer. */
async function rows(world, name, sql) {
  return (await world.post(`/w/${name}/query`, { sql })).rows.map((row) => row[0]);
}

/** A map from URL to topic. */
async function labels(world, web) {
  return new Map((await world.run(['lab', 'synth', ...web, '--labels'])).split('\n').map((line) => line.split('\t')));
}

/** A crawl of the web from three pages of the topic. */
async function crawled(world, name, web, pages) {
  const address = await world.serveWeb(web);
  const proxy = await startProxy(new URL(address));
  world.proxies.push(proxy);
  const listing = await (await fetch(address)).text();
  const part = listing.split(`<h2>${TOPIC}</h2>`)[1].split('<h2>')[0];
  const examples = [...part.matchAll(/href="([^"]*)"/g)].map((found) => found[1].replaceAll('&amp;', '&')).slice(0, 3);
  await world.run(['init', name]);
  const settings = `[fetch]\nproxy = "${proxy.address}"\nloopback = true\ncontact = "tests@example.org"\n[polite]\ndelay = 0.02\ndelay-factor = 0\n`;
  writeFileSync(join(world.folder, name, 'porthole.toml'), settings);
  await world.run(['start', ...examples, name, '--name', 'Mutual Funds', '--yes', '--pages', String(pages)]);
}
