// Rows of the database fill no array that may be too small for them: db_count() is only compared, or its function allocates by it
// (NEW_ARRAY(db_count(...)). A loop takes its bound from db_count_at_most(), the item of a row from db_ordinal(), and
// what is copied to a place of fixed size its length from db_copy(). Prints each violation; exit 1 when there is any.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const sources = ['src', 'cmd'].flatMap((root) =>
  readdirSync(root, { recursive: true }).filter((name) => name.endsWith('.c')).map((name) => `${root}/${name}`)).sort();

const uses = /\bdb_count\((?:[^()]|\([^()]*\))*\)(?!\s*(?:[=!]=|[<>]))/g;
const places = /\[(?:\(size_t\))?db_i(?:64|32)\(|\bmemcpy\([^,;]*,\s*db_(?:bytea|text)\(/g;
let violations = 0;
for (const path of sources.filter((name) => name !== 'src/db/rows.c')) {
  const text = readFileSync(path, 'utf8');
  for (const body of text.matchAll(/^\{$[^]*?^\}/gm)) {
    const found = [...(body[0].includes('NEW_ARRAY(db_count(') ? [] : body[0].matchAll(uses)), ...body[0].matchAll(places)];
    for (const { 0: what, index } of found) {
      console.log(`${path}:${text.slice(0, body.index + index).split('\n').length}: ${what}: without a bound`);
      violations++;
    }
  }
}

// H16: a subquery of a statement that writes may run again for each row, and locks others.
const once = /AS MATERIALIZED \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*LIMIT [^()]*FOR (?:NO KEY )?UPDATE/;
for (const name of readdirSync('migrations/functions'))
  for (const statement of readFileSync(`migrations/functions/${name}`, 'utf8').replace(/--.*/g, '').split(';'))
    if (/\b(?:UPDATE|DELETE FROM|INSERT INTO) fairway\./.test(statement) && /LIMIT [^()]*FOR (?:NO KEY )?UPDATE/.test(statement) && !once.test(statement)) {
      console.log(`migrations/functions/${name}: locks and limits in a subquery that is not AS MATERIALIZED`);
      violations++;
    }
process.exit(violations ? 1 : 0);
