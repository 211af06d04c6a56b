// Parses the text of PostgreSQL's test_decoding plugin: committed transactions, in commit order.

const COLUMN = /("?[\w]+"?)\[([^:]*?)\]:('(?:[^']|'')*'|\S+)/g;

const value = text => {
  if (text === 'null' || text === 'unchanged-toast-datum')
    return null;
  return text[0] === "'" ? text.slice(1, -1).replaceAll("''", "'") : text;
};

/** The tables of a line about rows; for a partition of one day, the table that it is a part of. Only TRUNCATE names several. */
const tablesOf = line => line.slice('table '.length, line.indexOf(':')).replaceAll('"', '').split(', ')
  .map(name => name.replace(/_\d{8}$/, ''));

/** {table, kind, row} for each table of a line. row: for an update, the new row; for a deletion, the columns of the primary key. */
export function parseChanges(line) {
  const head = /^table [\w.", ]+: (INSERT|UPDATE|DELETE|TRUNCATE): /.exec(line);
  if (!head)
    throw new Error(`a line of test_decoding that is not known: ${line}`);
  const mark = line.indexOf(' new-tuple: ');
  const text = line.slice(mark >= 0 ? mark : head[0].length - 1);
  const row = {};
  for (const [, name, , raw] of text.matchAll(COLUMN))
    row[name.replaceAll('"', '')] = value(raw);
  return tablesOf(line).map(table => ({ table, kind: head[1], row }));
}

/** Takes lines and emits transactions {xid, committedAt, changes}, each once, also when a restarted stream repeats some. */
export class Transactions {
  #seen = new Set();
  #changes = null;

  constructor(tables, take) {
    this.tables = new Set(tables);
    this.take = take;
  }

  /** The stream was cut off: it repeats what was not yet committed. */
  cut() {
    this.#changes = null;
  }

  line(line) {
    if (line.startsWith('BEGIN')) {
      this.#changes = [];
    } else if (line.startsWith('COMMIT')) {
      const [, xid, at] = /^COMMIT (\d+) \(at (.*)\)$/.exec(line);
      const changes = this.#changes;
      this.#changes = null;
      if (changes === null || this.#seen.has(xid))
        return;
      this.#seen.add(xid);
      if (changes.length > 0)
        this.take({ xid, committedAt: at, changes: changes.flatMap(parseChanges) });
    } else if (this.#changes && line.startsWith('table ') && tablesOf(line).some(table => this.tables.has(table))) {
      this.#changes.push(line);
    }
  }
}
