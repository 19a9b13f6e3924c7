/** Chromium for the tests: Debian's, without anything that speaks to the outside. */
import { existsSync } from 'node:fs';
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
