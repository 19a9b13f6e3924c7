/**
 * The dashboard in a real browser, on crawls of a synthetic web over loopback.
 *
 *   PORTHOLE=../target/release/porthole npm run e2e
 *
 * With E2E_PICTURES=FOLDER, a failed test leaves a picture of the page there.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { findBrowser } from './browser.mjs';
import { World } from './world.mjs';
import * as access from './access.mjs';
import * as crawl from './crawl.mjs';
import * as firstMinute from './first-minute.mjs';
import * as pages from './pages.mjs';
import * as hostile from './hostile.mjs';

const candidates = [process.env.PORTHOLE, '../target/release/porthole', '../target/debug/porthole'];
const program = candidates.find((path) => path && existsSync(path));
if (!program) {
  console.error('no program to test: build it (cargo build -p porthole), or set PORTHOLE to its path');
  process.exit(1);
}
if (!findBrowser()) {
  console.error('\n**** BROWSER TESTS SKIPPED: there is no chromium (apt-get install chromium) ****\n');
  process.exit(0);
}

test('the dashboard', async (t) => {
  const world = await World.create(resolve(program));
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void world.end().then(() => process.exit(1)));
  try {
    // The order matters: later scenarios look at the crawls of earlier ones.
    for (const group of [access, firstMinute, crawl, hostile, pages]) {
      for (const [name, scenario] of group.scenarios) {
        await t.test(name, async () => {
          await scenario(world).catch(async (error) => {
            if (process.env.E2E_PICTURES) await world.page.screenshot({ path: `${process.env.E2E_PICTURES}/${name.replaceAll(/\W+/g, '-')}.png` });
            throw error;
          });
          const problems = world.problems.splice(0);
          if (problems.length) throw new Error(problems.join('\n'));
        });
      }
    }
  } finally {
    await world.end();
  }
});
