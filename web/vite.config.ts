import { readFileSync, readdirSync } from 'node:fs';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

/** The packages whose code or data ends up in the built files. */
const SHIPPED = ['svelte', 'uplot', 'sigma', 'graphology', 'graphology-utils', 'events', '@fontsource-variable/inter'];

/** Writes `licenses.txt` beside the built files: their licences ask for it. */
function licenses(): Plugin {
  return {
    name: 'licenses',
    generateBundle() {
      const texts = SHIPPED.map((name) => {
        const folder = `node_modules/${name}`;
        const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
        return `${name}\n\n${file ? readFileSync(`${folder}/${file}`, 'utf8') : 'MIT'}`;
      });
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.join('\n\n----\n\n') });
    },
  };
}

// In development, `/api` goes to a running server: PORTHOLE_SERVER='http://127.0.0.1:7373/?token=…' npm run dev
const server = new URL(process.env.PORTHOLE_SERVER ?? 'http://127.0.0.1:7373/');
const api = {
  target: server.origin,
  changeOrigin: true,
  headers: { Origin: server.origin, Authorization: `Bearer ${server.searchParams.get('token') ?? ''}` },
};

export default defineConfig({
  plugins: [svelte(), licenses()],
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 300 },
  server: { proxy: { '/api': api } },
});
