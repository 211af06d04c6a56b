// What a header declares begins with a noun of its own: a word of the file's or the module's name (singular or plural), or one that
// the list below allows. Functions, structs and enums are checked. A file that a comment or a page names exists. Prints each violation;
// exit 1 when there is any.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

// Further nouns of a header: families with a name of their own, and the field's words for what a header is about.
const allowed = {
  'include/base/bytes.h': ['be32', 'be64', 'buf'],
  'include/base/err.h': ['detail'],
  'include/base/text.h': ['hex', 'base64'],
  'include/keys/keyd.h': ['sealed_seed', 'master_key_row', 'generated_key', 'imported_key', 'lease_signing', 'bump_signing'],
  'include/pool/settle.h': ['settled'],
  'include/pool/settle_evidence.h': ['account', 'transaction', 'lease_fate', 'gap_reads'],
    'include/stellar/envelope.h': ['preconditions', 'decorated_signature', 'transaction'],
  'include/stellar/envelope_build.h': ['transaction', 'fee_bump'],
  'include/stellar/ids.h': ['public_key', 'address', 'hash', 'sha256', 'network_id', 'signature'],
  'include/stellar/ledger.h': ['lane'],
  'include/stellar/policy.h': ['named_accounts'],
  'src/ingest/lead.h': ['leader_watch'],
  'src/keys/client.h': ['keyd'],
  'src/stellar/policy_parts.h': ['named', 'preconditions'],
};

process.chdir(`${dirname(fileURLToPath(import.meta.url))}/../..`);
const headers = ['include', 'src'].flatMap((root) =>
  readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.h')).map((name) => `${root}/${name}`)).sort();
const generated = ['include/xdr/types.h'];

const forms = (word) => [word, `${word}s`, word.replace(/s$/, ''), word.replace(/ies$/, 'y')];
const nouns = (path) => {
  const file = basename(path, '.h');
  return [file, ...file.split('_'), basename(dirname(path))].flatMap(forms).concat(allowed[path] ?? []);
};

// Declarations at file scope: without comments, directives, bodies and what stands between brackets.
function declared(text) {
  let rest = text.replace(/\/\*[^]*?\*\//g, ' ').replace(/\\\n/g, ' ').replace(/^#.*$/gm, '').replace(/"(\\.|[^"\\])*"/g, '""');
  const types = [...rest.matchAll(/^(?:typedef )?(?:struct|enum|union) (\w+) \{/gm)].map((match) => match[1]);
  for (let before; before !== rest;) {
    before = rest;
    rest = rest.replace(/\{[^{}]*\}/g, ';');
  }
  const functions = rest.replace(/__attribute__\s*\(\([^]*?\)\)\)?/g, ' ').split(';')
    .filter((part) => !/^\s*(typedef|static|extern)\b/.test(part))
    .map((part) => /(\w+)\s*\(/.exec(part)?.[1]);
  return [...types, ...functions.filter(Boolean)];
}

let violations = 0;
for (const path of headers.filter((name) => !generated.includes(name))) {
  const own = nouns(path);
  for (const name of declared(readFileSync(path, 'utf8')))
    if (!own.some((noun) => name === noun || name.startsWith(`${noun}_`))) {
      console.log(`${path}: ${name} begins with none of ${[...new Set(own)].join(', ')}`);
      violations++;
    }
}

// A name may leave out folders at its beginning. Names with capitals stand for any.
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' }).trim().split('\n');
const known = new Set(files.flatMap((path) => path.split('/').map((_, i, parts) => parts.slice(i).join('/'))));
const comment = { c: /\/\*[^]*?\*\//g, h: /\/\*[^]*?\*\//g, sql: /--.*$/gm, mjs: /(?<=^|\s)\/\/.*$|^ ?\*.*$|\/\*.*/gm, md: /[^]+/g, sh: /#.*$/gm };
for (const path of files) {
  const said = comment[/(\w+)$/.exec(path)?.[1] ?? ''];
  const text = said ? readFileSync(path, 'utf8') : '';
  for (const [, name] of (text.match(said) ?? []).join('\n').matchAll(/(?<![\w.<>{*-])(?:\.{1,2}\/)*(\w[\w/.-]*\.(?:[ch]|sql|mjs))\b(?![\w.(])/g))
    if (!known.has(name) && !/[A-Z]{2}|^sysexits\.h$/.test(name)) {
      console.log(`${path}: no file has the name ${name}`);
      violations++;
    }
}
process.exit(violations ? 1 : 0);
