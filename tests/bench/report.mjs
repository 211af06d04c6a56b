// How the bench prints its figures: tables in Markdown.

/** Numbers of connections: in most tables, and in that of the pools. */
export const connections = [1, 128], poolConnections = [1, 4, 16, 32, 128];

export const fmt = n => Math.round(n).toLocaleString('en-US');
export const cell = m => `${fmt(m.rate)}/s, ${m.p50_ms.toFixed(2)} / ${m.p99_ms.toFixed(2)} ms${m.refused ? `, ${m.refused} refused` : ''}`;
export const cpuCell = ({ cpu_us: c }) => `${c.postgres} (${c.ledgers}) / ${c.fairway} / ${c.keyd}; ${c.generator} / ${c.feed}`;
export const CPU = ['CPU us an answer at 1: PostgreSQL (of that ledgers) / fairway / keyd; load generator / feed', 'at 128'];
export const cpuCells = by => [cpuCell(by[1]), cpuCell(by[128])];
export const row = cells => console.log(`| ${cells.join(' | ')} |`);
export function table(title, first, last, counts = connections) {
  console.log(`\n${title}\n`);
  const head = [...first, ...counts.map(c => `${c} connection${c === 1 ? '' : 's'}`), ...last];
  row(head);
  row(head.map(() => '---:'));
}
