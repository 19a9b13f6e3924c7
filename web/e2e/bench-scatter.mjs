/**
 * The scatter plot under load: 200,000 dots, and 200 new ones per second.
 *
 *   node e2e/bench-scatter.mjs [--minutes 10] [--speed 10] [--dots 200000] [--rate 200]
 *   PORTHOLE=../target/release/porthole node e2e/bench-scatter.mjs --crawl [--minutes 10] [--dots 200000] [--rate 200]
 *
 * Without `--crawl` a mock server sends the dots; `--speed 10` sends ten minutes of the stream in one minute, in batches ten
 * times as large. With `--crawl` the program itself crawls a synthetic web over loopback, first `--dots` pages without a limit
 * and then `--rate` pages per second, and serves its dashboard; `--dist` uses the front end in `dist` instead of the one that is
 * embedded in the program.
 *
 * An update is an event with dots or with a new status. Prints two measures of the main-thread work per update: the time for
 * handling, rendering and drawing, measured in the page; and all CPU time of the main thread, painting included, divided by the
 * updates of the same second. Then prints the heap at the end, after a garbage collection. Exits with 1 if the 95th percentile
 * of either measure is 16 ms or more, or the heap is 200 MB or more.
 */
import { parseArgs } from 'node:util';
import { startMock } from '../dev/mock.mjs';
import { launch, useDist } from './browser.mjs';
import { startPacedCrawl } from './paced-crawl.mjs';
import { findProgram } from './world.mjs';

const number = (otherwise) => ({ type: 'string', default: String(otherwise) });
const { values } = parseArgs({ options: { minutes: number(10), speed: number(1), dots: number(200_000), rate: number(200), crawl: { type: 'boolean', default: false }, dist: { type: 'boolean', default: false } } });
const [minutes, speed, dots, rate] = [values.minutes, values.crawl ? 1 : values.speed, values.dots, values.rate].map(Number);
const MOST_MS = 16;
const MOST_MB = 200;
const LONG_TASK_MS = 50;

const source = values.crawl ? await startPacedCrawl({ program: findProgram(), dots, rate, minutes }) : await startMade();
const browser = await launch(['--enable-precise-memory-info', '--js-flags=--expose-gc']);
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(timeUpdates);
  if (values.dist) await useDist(page);
  await page.goto(source.address);
  await page.goto(`${new URL(source.address).origin}/w/${source.name}/crawl`);
  await page.waitForFunction((least) => Number(document.querySelector('.scatter')?.dataset.dots) >= least, dots * 0.97, { timeout: 60_000 });
  const client = await page.context().newCDPSession(page);
  // CPU time of the thread, so that other processes on the machine do not count.
  await client.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.evaluate(() => { window.__updates.length = 0; window.__longTasks.length = 0; });
  const first = await shownDots(page);
  const samples = [await sample(client, page)];
  const started = performance.now();
  while (performance.now() - started < (minutes * 60_000) / speed) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    samples.push(await sample(client, page));
    if (source.process && source.process.exitCode !== null) throw new Error(`the crawl ended: ${source.process.output.slice(-2000)}`);
    if (samples.length % 60 === 0) console.error(`${((performance.now() - started) / 60_000).toFixed(1)} min: ${await shownDots(page)} dots, heap ${(samples.at(-1).JSHeapUsedSize / 1e6).toFixed(0)} MB before a collection`);
  }
  const seconds = (performance.now() - started) / 1000;
  const updates = await page.evaluate(() => window.__updates);
  const longTasks = await page.evaluate(() => window.__longTasks);
  const heap = await heapSize(client);
  const shown = await shownDots(page);
  console.log(`${shown} dots, ${((shown - first) / seconds).toFixed(1)} more a second; ${updates.length} updates in ${seconds.toFixed(0)} s`);
  report('handling and rendering', updates.map((one) => one.handled));
  report('drawing', updates.map((one) => one.drawn));
  const own = report('an update in all', updates.map((one) => one.handled + one.drawn));
  const whole = report('all tasks of the main thread, an update', workAnUpdate(samples));
  const [before, after] = [samples[0], samples.at(-1)];
  const busy = (name) => ((100 * (after[name] - before[name])) / seconds).toFixed(1);
  console.log(`main thread busy ${busy('TaskDuration')}%: scripts ${busy('ScriptDuration')}%, style ${busy('RecalcStyleDuration')}%, layout ${busy('LayoutDuration')}%`);
  console.log(`tasks of ${LONG_TASK_MS} ms and more: ${longTasks.length}, the longest ${Math.max(0, ...longTasks).toFixed(0)} ms`);
  console.log(`heap ${heap.toFixed(1)} MB after a collection, at most ${Math.max(...samples.map((one) => one.JSHeapUsedSize / 1e6)).toFixed(0)} MB before one`);
  if (!updates.length || Math.max(own, whole) >= MOST_MS || heap >= MOST_MB) {
    console.error(`too much: ${MOST_MS} ms an update at the 95th percentile and ${MOST_MB} MB are the limits`);
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  await source.end();
}

async function startMade() {
  const { server, address } = await startMock({ dots, rate, speed });
  const end = () => {
    server.closeAllConnections();
    server.close();
  };
  return { address, name: 'owls', end };
}

/** Runs in the page: measures every update, from its event to the drawing in the next frame. */
function timeUpdates() {
  const updates = (window.__updates = []);
  const longTasks = (window.__longTasks = []);
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
  const listen = EventSource.prototype.addEventListener;
  EventSource.prototype.addEventListener = function (name, take, options) {
    if (name !== 'dots' && name !== 'status') return listen.call(this, name, take, options);
    return listen.call(this, name, (event) => {
      const start = performance.now();
      const update = { handled: 0, drawn: 0 };
      updates.push(update);
      take(event);
      // Svelte renders in a microtask after the handler: the update ends when those are done.
      queueMicrotask(() => queueMicrotask(() => (update.handled = performance.now() - start)));
    }, options);
  };
  const ask = window.requestAnimationFrame;
  window.requestAnimationFrame = (draw) => ask.call(window, (time) => {
    const start = performance.now();
    draw(time);
    if (updates.length) updates.at(-1).drawn += performance.now() - start;
  });
}

/** The current figures of the browser, and the number of updates so far. */
async function sample(client, page) {
  const { metrics } = await client.send('Performance.getMetrics');
  const updates = await page.evaluate(() => window.__updates.length);
  return { ...Object.fromEntries(metrics.map(({ name, value }) => [name, value])), updates };
}

/** Milliseconds of main-thread work per update, for every second with updates. */
function workAnUpdate(samples) {
  return samples.slice(1).flatMap((after, i) => {
    const updates = after.updates - samples[i].updates;
    return updates > 0 ? [(1000 * (after.TaskDuration - samples[i].TaskDuration)) / updates] : [];
  });
}

async function heapSize(client) {
  await client.send('HeapProfiler.collectGarbage');
  const use = await client.send('Runtime.getHeapUsage');
  return (use.usedSize + (use.embedderHeapUsedSize ?? 0) + (use.backingStorageSize ?? 0)) / 1e6;
}

function shownDots(page) {
  return page.evaluate(() => Number(document.querySelector('.scatter').dataset.dots));
}

function report(name, values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  console.log(`${name}: median ${at(0.5).toFixed(2)} ms, 95th percentile ${at(0.95).toFixed(2)} ms, most ${at(1).toFixed(2)} ms`);
  return at(0.95);
}
