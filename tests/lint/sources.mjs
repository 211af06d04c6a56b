// Each refusal of these files has its source beside it, in a comment after its code: a CAP, SEP or RFC with its section, a rule of stellar-core, or
// "ours", because of what. A rule that the network or the standard does not have goes. Prints each that lacks one; exit 1 when there is any.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const stellar = readdirSync('src/stellar').filter((name) => /^(policy|preconditions|named|authori|soroban).*\.c$/.test(name)).map((name) => `src/stellar/${name}`);
const refusal = /\b(?:detail_set|refuse)\([^,;]*,\s*(?:ERR_\w+|e)\s*,(?!\s*\/\*)/g;
let lacking = 0;
for (const path of [...stellar, 'src/api/prepare.c', 'src/auth/token.c']) {
  const text = readFileSync(path, 'utf8');
  for (const { 0: what, index } of text.matchAll(refusal)) {
    console.log(`${path}:${text.slice(0, index).split('\n').length}: ${what.replace(/\s+/g, ' ')} no source beside it`);
    lacking++;
  }
}
process.exit(lacking > 0 ? 1 : 0);
