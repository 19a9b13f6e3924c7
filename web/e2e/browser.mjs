/** Chromium for the tests: Debian's, with all features off that make requests to other servers. */
import { existsSync, statSync } from 'node:fs';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const PLACES = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function findBrowser() {
  return PLACES.find((path) => path && existsSync(path)) ?? null;
}

/** Playwright makes a fresh user-data directory for every launch. */
export function launch(args = []) {
  return chromium.launch({
    executablePath: findBrowser(),
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', ...args],
  });
}

/** Makes a page or a context use the front end in `dist` instead of the embedded one, so that the program need not be rebuilt. */
export function useDist(target) {
  const dist = fileURLToPath(new URL('../dist', import.meta.url));
  const isFrontEnd = (url) => url.hostname === '127.0.0.1' && !url.searchParams.has('token') && !/^\/(api|metrics|health|companion)\b/.test(url.pathname);
  return target.route(isFrontEnd, (route) => {
    const file = join(dist, normalize(new URL(route.request().url()).pathname));
    if (existsSync(file) && statSync(file).isFile()) return route.fulfill({ path: file });
    // The first page, whose address has the token, still comes from the program, with its embedded files.
    return extname(file) ? route.continue() : route.fulfill({ path: join(dist, 'index.html') });
  });
}
