/**
 * The dashboard in a real browser, on crawls of a synthetic web over loopback.
 *
 *   PORTHOLE=../target/release/porthole npm run e2e
 *
 * With E2E_PICTURES=FOLDER, a failed test saves a screenshot of the page there. E2E_ONLY=access,alarms runs only these groups;
 * access, alarms, lab and teaching do not depend on others. E2E_DIST=1 tests the front end in `dist` instead of the one that is
 * embedded in the program. E2E_TEACHING=1,2,3,4,5 also measures how much answers improve the results, on one web per seed.
 */
import { test } from 'node:test';
import { findBrowser } from './browser.mjs';
import { World, findProgram } from './world.mjs';
import * as access from './access.mjs';
import * as alarms from './alarms.mjs';
import * as crawl from './crawl.mjs';
import * as firstMinute from './first-minute.mjs';
import * as pages from './pages.mjs';
import * as hostile from './hostile.mjs';
import * as lab from './lab.mjs';
import * as teaching from './teaching.mjs';

const program = findProgram();
if (!findBrowser()) {
  console.error('\n**** BROWSER TESTS SKIPPED: there is no chromium (apt-get install chromium) ****\n');
  process.exit(0);
}

test('the dashboard', async (t) => {
  const world = await World.create(program);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void world.end().then(() => process.exit(1)));
  try {
    // The order matters: later scenarios use the crawls of earlier ones.
    const all = { access, firstMinute, crawl, hostile, lab, pages, alarms, teaching };
    const wanted = process.env.E2E_ONLY?.split(',') ?? Object.keys(all);
    for (const group of wanted.map((name) => all[name])) {
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
