/** Chromium for the tests: Debian's, without anything that speaks to the outside. */
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

/** Lets a page or a context have the front end in `dist` instead of the one in the program, which need not be built again. */
export function useDist(target) {
  const dist = fileURLToPath(new URL('../dist', import.meta.url));
  const isFrontEnd = (url) => url.hostname === '127.0.0.1' && !url.searchParams.has('token') && !/^\/(api|metrics|health|companion)\b/.test(url.pathname);
  return target.route(isFrontEnd, (route) => {
    const file = join(dist, normalize(new URL(route.request().url()).pathname));
    if (existsSync(file) && statSync(file).isFile()) return route.fulfill({ path: file });
    // The first page, with the token in its address, is the program's own, with its own files.
    return extname(file) ? route.continue() : route.fulfill({ path: join(dist, 'index.html') });
  });
}
