// The rules of the oracle over its history. Every rule is a query whose rows are violations; a run is good when no rule returns any.

/** fairway follows the network while it is at most so many ledgers behind: nodes lag by so many. */
const BEHIND = 4;
/** A database that has committed nothing for so long is down, and with it what fairway sends. */
const WORKS_MS = 2000;
/** A cap of the fee that leaves room for a raise in each round. */
const ROOMY_CAP = 20_020;
/** A node refuses as too late what so many ledgers could still include. */
const TOO_LATE = 3;

// Where a lease ends follows from the network's ledgers alone; the ordinals say when the database committed those ledgers.
// A ledger that was already being committed when the lease was granted may miss it; then the lease is due with the next ledger.
const DERIVE = `
TRUNCATE lease_life, lease_interval, includable, sending;
ANALYZE;
INSERT INTO lease_life
SELECT g.ordinal, g.hash, g.account, g.sequence, start.cursor, n.consumed, n.bound, n.dead, o.over, c.ordinal,
  CASE WHEN n.consumed IS NULL AND c.ordinal = start.next THEN coalesce(start.after_next, c.ordinal) ELSE c.ordinal END,
  CASE WHEN n.consumed IS NULL OR n.consumed > n.bound THEN 'expired'
    WHEN i.success THEN 'confirmed' WHEN NOT i.success THEN 'failed' ELSE 'superseded' END
FROM grant_made g
CROSS JOIN LATERAL (
  SELECT (SELECT b.sequence FROM ledger_commit b WHERE b.ordinal < g.ordinal ORDER BY b.ordinal DESC, b.sequence DESC LIMIT 1) AS cursor,
    (SELECT b.ordinal FROM ledger_commit b WHERE b.ordinal > g.ordinal ORDER BY b.ordinal LIMIT 1) AS next,
    (SELECT b.ordinal FROM ledger_commit b WHERE b.ordinal > g.ordinal ORDER BY b.ordinal OFFSET 1 LIMIT 1) AS after_next) start
CROSS JOIN LATERAL (
  SELECT e.consumed, least(e.late, e.crowded) AS bound, least(e.consumed + 1, e.late, g.max_ledger) AS dead FROM (
    SELECT (SELECT u.ledger FROM consumption u WHERE u.account = g.account AND u.sequence >= g.sequence
        ORDER BY u.sequence, u.ledger LIMIT 1) AS consumed,
      (SELECT l.sequence FROM ledger l WHERE l.close_time > g.max_time ORDER BY l.close_time, l.sequence LIMIT 1) AS late,
      (SELECT l.sequence FROM ledger l WHERE l.sequence >= g.max_ledger - 1 ORDER BY l.sequence LIMIT 1) AS crowded) e) n
CROSS JOIN LATERAL (SELECT least(n.consumed, n.bound) AS over) o
LEFT JOIN inclusion i ON i.hash = g.hash AND i.ledger = n.consumed
LEFT JOIN LATERAL (
  SELECT b.ordinal FROM ledger_commit b WHERE b.sequence >= greatest(o.over, start.cursor + 1) ORDER BY b.sequence LIMIT 1) c ON true;
CREATE INDEX IF NOT EXISTS lease_life_hash ON lease_life (hash);
ANALYZE lease_life;
INSERT INTO lease_interval SELECT hash, account, int8range(ordinal, end_ordinal) FROM lease_life
  ORDER BY ordinal ON CONFLICT DO NOTHING;
INSERT INTO includable SELECT hash, account, sequence, int8range(cursor + 1, CASE WHEN dead IS NOT NULL THEN greatest(cursor + 1, dead) END)
  FROM lease_life ORDER BY ordinal ON CONFLICT DO NOTHING;
INSERT INTO sending SELECT s.lease, l.sequence, EXISTS (SELECT FROM queued q WHERE q.lease = s.lease AND q.ledger = l.sequence),
    coalesce(l.committed_at <= l.closed_at, false) AND l.works
  FROM submission_change s JOIN wal_transaction w ON w.ordinal = s.ordinal JOIN lease_life g ON g.hash = s.lease
  JOIN (SELECT l.sequence, l.closed_at, min(w.committed_at) AS committed_at, EXISTS (SELECT FROM wal_transaction d
      WHERE d.committed_at BETWEEN l.closed_at - interval '${WORKS_MS} ms' AND l.closed_at) AS works FROM ledger l
    LEFT JOIN ledger_commit c ON c.sequence = l.sequence - ${BEHIND} LEFT JOIN wal_transaction w ON w.ordinal = c.ordinal
    GROUP BY l.sequence, l.closed_at) l ON l.closed_at > w.committed_at AND l.sequence <= least(g.consumed, g.bound - ${TOO_LATE})
  WHERE s.kind = 'INSERT' AND NOT EXISTS (SELECT FROM asked a WHERE a.lease = s.lease AND a.max_fee < ${ROOMY_CAP});
ANALYZE lease_interval, sending`;

/** What fairway sends has no bid in the node for at most so many ledgers, of those that it follows, while it may be included: a bid that nodes have
 *  dropped is replaced after four ledgers, the network holds one back for two, and each end of an outage of the database costs one or two. Six
 *  were seen in a soak of 33,000. */
export const UNSENT_BOUND = 7;

/** Allowed difference between the shares of requests that replicas served in time while accounts are scarce. */
export const SHARE_BOUND = 0.10;

export const RULES = {
  'double lease': `SELECT hash, account, 'granted in ' || ordinal FROM lease_life l
    WHERE NOT EXISTS (SELECT FROM lease_interval i WHERE i.hash = l.hash)`,
  'double signature': `SELECT hash, account, sequence FROM lease_life l WHERE NOT EXISTS (SELECT FROM includable i WHERE i.hash = l.hash)`,
  // in the transaction that inserted the ledger, and not before the network closed it
  'early release': `SELECT e.hash, 'in ' || e.ordinal, 'by ledger ' || e.ledger, 'due by ' || coalesce(l.over::text, 'none') FROM lease_end e
    LEFT JOIN lease_life l ON l.hash = e.hash
    WHERE NOT EXISTS (SELECT FROM ledger_commit c WHERE c.ordinal = e.ordinal AND c.sequence = e.ledger)
    OR l.over IS NULL OR e.ledger < l.over OR e.ordinal < l.end_ordinal`,
  'lost release': `SELECT l.hash, l.account, 'due in ' || l.last_ordinal, 'ended in ' || coalesce(e.ordinal::text, 'none') FROM lease_life l
    LEFT JOIN lease_end e ON e.hash = l.hash
    WHERE l.end_ordinal IS NOT NULL AND (e.ordinal IS NULL OR e.ordinal > l.last_ordinal)`,
  'wrong result': `SELECT e.hash, e.result, 'not ' || l.result FROM lease_end e JOIN lease_life l ON l.hash = e.hash
    WHERE l.over IS NOT NULL AND e.result <> l.result`,
  // an account and its lease change in one transaction
  'account without lease': `SELECT c.account, 'in ' || c.ordinal, coalesce(c.before, 'idle'), coalesce(c.lease, 'idle')
    FROM (SELECT *, lag(lease) OVER (PARTITION BY account ORDER BY ordinal) AS before FROM account_change) c
    WHERE c.lease IS DISTINCT FROM c.before
    AND (c.lease IS NOT NULL AND NOT EXISTS (SELECT FROM grant_made g WHERE g.hash = c.lease AND g.ordinal = c.ordinal AND g.account = c.account)
      OR c.before IS NOT NULL AND NOT EXISTS (SELECT FROM lease_end e WHERE e.hash = c.before AND e.ordinal = c.ordinal))`,
  'lease without account': `SELECT g.hash, g.account FROM grant_made g WHERE NOT EXISTS (
    SELECT FROM account_change c WHERE c.account = g.account AND c.ordinal = g.ordinal AND c.lease = g.hash)`,
  'two rows for one signature': `SELECT hash, count(*) FROM grant_made GROUP BY hash HAVING count(*) > 1`,
  'two ends of one lease': `SELECT hash, count(*) FROM lease_end GROUP BY hash HAVING count(*) > 1`,
  'stale sequence': `SELECT l.hash, l.account, l.sequence, 'after ' || coalesce(u.sequence::text, 'none') FROM lease_life l
    LEFT JOIN LATERAL (SELECT max(sequence) AS sequence FROM consumption u
      WHERE u.account = l.account AND u.ledger <= l.cursor) u ON true WHERE l.sequence IS DISTINCT FROM u.sequence + 1`,
  // received_at is truncated to milliseconds
  'unrecorded signature': `SELECT s.kind, s.hash, s.account, 'received ' || s.received_at, 'committed ' || coalesce(w.committed_at::text, 'never') FROM signature s
    LEFT JOIN grant_made g ON s.kind = 'lease' AND g.hash = s.hash AND (g.account, g.sequence, g.max_time, g.envelope)
      = (s.account, s.sequence, s.max_time, s.envelope)
    LEFT JOIN bump_recorded b ON s.kind = 'fee bump' AND b.hash = s.hash AND b.lease = s.inner_hash
    LEFT JOIN wal_transaction w ON w.ordinal = coalesce(g.ordinal, b.ordinal)
    WHERE w.ordinal IS NULL OR w.committed_at >= s.received_at + interval '1 ms'`,
  // keys of the history before the run count too: they begin with history-
  'second lease for a key': `SELECT idempotency_key, count(*), 'first in ' || min(ordinal), 'last in ' || max(ordinal) FROM key_taken
    GROUP BY client, idempotency_key HAVING count(*) > 1 OR idempotency_key LIKE 'history-%'`,
  // in the transaction of its lease
  'key without lease': `SELECT k.idempotency_key, 'in ' || k.ordinal, k.lease FROM key_taken k WHERE NOT EXISTS (SELECT FROM grant_made g
    WHERE g.hash = k.lease AND g.ordinal = k.ordinal)`,
  'different responses to a key': `SELECT idempotency_key, count(DISTINCT digest) FROM keyed_answer
    GROUP BY idempotency_key HAVING count(DISTINCT digest) > 1`,
  'response to another key': `SELECT s.hash, s.idempotency_key, coalesce(k.keys, 'no key') FROM signature s
    CROSS JOIN LATERAL (SELECT string_agg(t.idempotency_key, ' ') AS keys, bool_or(t.idempotency_key = s.idempotency_key) AS same,
      bool_or(t.idempotency_key IS DISTINCT FROM s.idempotency_key AND t.idempotency_key NOT LIKE 'token:%') AS other
      FROM key_taken t WHERE t.lease = s.hash) k
    WHERE s.kind = 'lease' AND (s.idempotency_key IS NOT NULL AND k.same IS NOT TRUE OR k.other)
    AND EXISTS (SELECT FROM grant_made g WHERE g.hash = s.hash)`,
  // in a ledger that could still include the lease's transaction, or before the lease was granted
  'merged while leased': `SELECT l.hash, l.account, 'merged in ' || r.ledger, 'live until ' || coalesce(l.dead::text, 'none')
    FROM lease_life l JOIN removal r ON r.account = l.account WHERE l.dead IS NULL OR r.ledger < l.dead`,
  'history changed': `SELECT 'in ' || ordinal, kind, table_name, hash FROM history_change`,
  'unfair contest': `SELECT contest, count(*) || ' replicas', round(min(share), 3), round(max(share), 3) FROM (
      SELECT contest, replica, avg(CASE WHEN status < 300 THEN 1.0 ELSE 0.0 END) AS share FROM contest_request GROUP BY contest, replica) s
    GROUP BY contest HAVING count(*) < 2 OR max(share) - min(share) > ${SHARE_BOUND}`,
  'bad sequence caused by us': `SELECT s.hash, s.code, 'node at ' || s.node_ledger, 'granted as of ' || s.sequence_ledger,
      'consumed in ' || coalesce(l.consumed::text, 'none') FROM submission s JOIN lease_life l ON l.hash = s.hash
    WHERE s.code = -5 AND s.node_ledger >= s.sequence_ledger AND (l.consumed IS NULL OR l.consumed > s.node_ledger)`,
  'included twice': `SELECT hash, count(*) FROM inclusion GROUP BY hash HAVING count(*) > 1`,
  'charged above the bid': `SELECT hash, ledger, charged, bid FROM inclusion WHERE charged > bid`,
  'bid above the cap': `SELECT b.lease, b.fee, a.cap FROM (SELECT lease, fee FROM bump_recorded UNION SELECT lease, fee FROM queued) b
    JOIN (SELECT lease, max(max_fee) AS cap, bool_or(max_fee IS NULL) AS free FROM asked GROUP BY lease) a ON a.lease = b.lease
    WHERE b.fee > a.cap AND NOT a.free`,
  // closed_at is later than the close
  'sent before it was recorded': `SELECT q.hash, q.lease, q.ledger FROM queued q JOIN grant_made g ON g.hash = q.lease
    LEFT JOIN bump_recorded b ON (b.hash, b.lease) = (q.hash, q.lease)
    -- ensure-accounts records its leases with their fee bumps (ENVELOPE_TYPE_TX_FEE_BUMP)
    LEFT JOIN wal_transaction w ON w.ordinal = CASE WHEN g.envelope LIKE '00000005%' THEN g.ordinal ELSE b.ordinal END
    WHERE q.hash <> q.lease AND NOT EXISTS (SELECT FROM ledger l WHERE l.sequence = q.ledger AND l.closed_at >= w.committed_at)`,
  'left unsent': `SELECT lease, count(*) || ' ledgers', 'from ' || min(ledger),
      (SELECT CASE WHEN max_ledger IS NULL THEN 'a payment' ELSE 'a call' END FROM grant_made g WHERE g.hash = s.lease LIMIT 1) FROM (
      SELECT *, sum(live::int) OVER (PARTITION BY lease ORDER BY ledger) AS run FROM sending WHERE followed) s
    WHERE NOT live GROUP BY lease, run HAVING count(*) > ${UNSENT_BOUND}`,
  // it goes in the transaction that ends its lease
  'submission without its lease': `SELECT s.lease, s.kind, 'in ' || s.ordinal FROM submission_change s
    LEFT JOIN lease_end e ON e.hash = s.lease
    WHERE CASE s.kind WHEN 'DELETE' THEN e.ordinal IS DISTINCT FROM s.ordinal ELSE e.ordinal <= s.ordinal END`,
  'ledgers': `SELECT c.sequence, 'after ' || c.before, 'in ' || c.ordinal
    FROM (SELECT *, lag(sequence) OVER (ORDER BY ordinal, sequence) AS before FROM ledger_commit) c
    LEFT JOIN ledger l ON l.sequence = c.sequence
    WHERE c.sequence <> c.before + 1 OR l.close_time IS DISTINCT FROM c.close_time`,
  'cursor': `SELECT c.ordinal, c.sequence, c.term FROM (
      SELECT *, lag(term) OVER (ORDER BY ordinal) AS before FROM cursor_change) c
    WHERE c.term < c.before OR c.sequence IS DISTINCT FROM (SELECT max(b.sequence) FROM ledger_commit b WHERE b.ordinal <= c.ordinal)`,
  'ledger without cursor': `SELECT c.sequence FROM ledger_commit c WHERE NOT EXISTS (SELECT FROM cursor_change m WHERE m.ordinal = c.ordinal)`,
};

// The replayed log must equal the tables, and every account must be usable again.
export const FINAL_RULES = {
  'leaked account': `SELECT account, state, coalesce(lease, 'idle') FROM final_account
    WHERE lease IS NOT NULL OR state NOT IN ('active', 'retired', 'creating')`,
  'pool size': `SELECT wanted, a.count FROM final_pool, (SELECT count(*) FROM final_account WHERE state = 'active') a WHERE wanted <> a.count`,
  // sponsored by the distribution account but unusable; accounts that are only 'creating' must not exist yet
  'orphaned account': `SELECT n.account, coalesce(f.state, 'no row') FROM final_network n LEFT JOIN final_account f ON f.account = n.account
    WHERE f.state IS DISTINCT FROM 'active'`,
  'history lost': `SELECT seeded, kept, keys_seeded, keys_kept FROM final_history WHERE seeded <> kept OR keys_seeded <> keys_kept`,
  'not dropped by housekeeping': `SELECT old_left, old_keys_left FROM final_history WHERE old_left > 0 OR old_keys_left > 0`,
  'open lease': `SELECT hash, account FROM final_lease WHERE result IS NULL`,
  'lease rows': `SELECT coalesce(g.hash, f.hash), g.account, f.account, e.result, f.result FROM grant_made g
    LEFT JOIN lease_end e ON e.hash = g.hash FULL JOIN final_lease f ON f.hash = g.hash
    WHERE (g.account, e.result, e.ledger) IS DISTINCT FROM (f.account, f.result, f.ledger)`,
  'key rows': `SELECT coalesce(k.idempotency_key, f.idempotency_key), k.lease, f.lease FROM key_taken k
    FULL JOIN final_key f ON (f.client, f.idempotency_key) = (k.client, k.idempotency_key) WHERE k.lease IS DISTINCT FROM f.lease`,
  'open submission': `SELECT coalesce(c.lease, f.lease) FROM (SELECT lease FROM submission_change GROUP BY lease
      HAVING count(*) FILTER (WHERE kind = 'INSERT') <> count(*) FILTER (WHERE kind = 'DELETE')) c
    FULL JOIN final_submission f ON f.lease = c.lease`,
  'account rows': `SELECT coalesce(c.account, f.account) FROM (
      SELECT DISTINCT ON (account) account, state, sequence, lease FROM account_change ORDER BY account, ordinal DESC) c
    FULL JOIN final_account f ON f.account = c.account
    WHERE (c.state, c.sequence, c.lease) IS DISTINCT FROM (f.state, f.sequence, f.lease)`,
  'cursor row': `SELECT f.sequence, f.term, m.sequence, m.term FROM final_cursor f,
    (SELECT sequence, term FROM cursor_change ORDER BY ordinal DESC LIMIT 1) m WHERE (f.sequence, f.term) <> (m.sequence, m.term)`,
  'sequence of the network': `SELECT f.account, f.sequence, n.sequence FROM final_account f LEFT JOIN final_network n ON n.account = f.account
    WHERE f.state = 'active' AND f.sequence IS DISTINCT FROM n.sequence`,
};

/** Returns {rule: rows} of the broken rules; {} when none is. */
export async function judge(history, { final = true } = {}) {
  await history.flush();
  await history.query(DERIVE);
  const broken = {};
  for (const [name, sql] of Object.entries(final ? { ...RULES, ...FINAL_RULES } : RULES)) {
    const rows = await history.query(sql);
    if (rows.length > 0)
      broken[name] = rows;
  }
  return broken;
}

/** One line for each violation, some of each rule. */
export const describe = broken => Object.entries(broken).flatMap(([name, rows]) =>
  [`${name}: ${rows.length}`, ...rows.slice(0, 5).map(row => `    ${row.join('  ')}`)]).join('\n');
