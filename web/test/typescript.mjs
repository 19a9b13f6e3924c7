// Lets `node --test` import the TypeScript modules of `src/lib`: types are removed while they are loaded.
import { register } from 'node:module';
register(new URL('./typescript-loader.mjs', import.meta.url));
