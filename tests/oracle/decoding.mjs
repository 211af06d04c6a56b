// Parses the text of PostgreSQL's test_decoding plugin: committed transactions, in commit order.

const COLUMN = /("?[\w]+"?)\[([^:]*?)\]:('(?:[^']|'')*'|\S+)/g;

const value = text => {
  if (text === 'null' || text === 'unchanged-toast-datum')
    return null;
  return text[0] === "'" ? text.slice(1, -1).replaceAll("''", "'") : text;
};

/** {table, kind, row} of a line about a row, or null. For an update, the new row. */
export function parseChange(line) {
  const head = /^table ([\w."]+): (INSERT|UPDATE|DELETE): /.exec(line);
  if (!head)
    return null;
  const mark = line.indexOf(' new-tuple: ');
  const text = line.slice(mark >= 0 ? mark : head[0].length - 1);
  const row = {};
  for (const [, name, , raw] of text.matchAll(COLUMN))
    row[name.replaceAll('"', '')] = value(raw);
  return { table: head[1].replaceAll('"', ''), kind: head[2], row };
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
        this.take({ xid, committedAt: at, changes: changes.map(parseChange) });
    } else if (this.#changes && line.startsWith('table ') && this.tables.has(line.slice(6, line.indexOf(':')))) {
      this.#changes.push(line);
    }
  }
}
