/** Without the token, the dashboard shows no data. */
import assert from 'node:assert/strict';

export const scenarios = [
  ['the token opens the dashboard, and leaves the address', async ({ page, origin }) => {
    await page.getByRole('heading', { name: /Find the part of the web/ }).waitFor();
    assert.equal(page.url(), `${origin}/`);
    await page.getByText('There is none yet').waitFor();
  }],
  ['without the token, the page says what to do', async (world) => {
    const context = await world.browser.newContext();
    const page = await context.newPage();
    await page.goto(`${world.origin}/`);
    await page.getByText('This page needs the token').waitFor();
    await context.close();
  }],
];
