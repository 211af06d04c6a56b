// All tests of the network in one process, which saves starting one for each file: `node --test tests/localnet/test/`.

import { readdirSync } from 'node:fs';

const names = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.test.mjs'));
for (const name of names.sort()) await import(`./${name}`);
