// Measurements of a run, from the oracle's history: how replicas served their clients, how often keys were repeated, and how what fairway sends
// was kept in the node.

/** For each replica of each contest: requests, the share that was served in time, and the waiting time of those. */
export async function contests(history) {
  const rows = await history.query(`SELECT contest, replica, count(*), round(avg(CASE WHEN status < 300 THEN 1.0 ELSE 0.0 END), 3),
      percentile_disc(0.5) WITHIN GROUP (ORDER BY waited_ms) FILTER (WHERE status < 300),
      percentile_disc(0.99) WITHIN GROUP (ORDER BY waited_ms) FILTER (WHERE status < 300)
    FROM contest_request GROUP BY contest, replica ORDER BY contest, replica`);
  return rows.map(([contest, replica, requests, share, p50, p99]) => ({ contest: Number(contest), replica: Number(replica),
    requests: Number(requests), servedShare: Number(share), waitP50Ms: Number(p50), waitP99Ms: Number(p99) }));
}

/** {keyed, repeated}: keys that got a lease, and how many of them got it more than once. */
export async function keys(history) {
  const [[keyed, repeated]] = await history.query(`SELECT count(*), count(*) FILTER (WHERE answers > 1)
    FROM (SELECT count(*) AS answers FROM keyed_answer GROUP BY idempotency_key) k`);
  return { keyed: Number(keyed), repeated: Number(repeated) };
}

/**
 * {submissions, included, ledgers, live, longest}: what fairway sent, and how much of it a ledger included; in how many ledgers it might have
 * been included while fairway followed the network; in how many of these a bid waited; and the most in a row without one.
 */
export async function submissions(history) {
  const [row] = await history.query(`SELECT (SELECT count(*) FROM submission_change WHERE kind = 'INSERT'),
      (SELECT count(*) FROM submission_change s JOIN inclusion i ON i.hash = s.lease WHERE s.kind = 'INSERT'),
      count(*), count(*) FILTER (WHERE live), (SELECT coalesce(max(n), 0) FROM (
        SELECT count(*) FILTER (WHERE NOT live) AS n FROM (
          SELECT lease, live, sum(live::int) OVER (PARTITION BY lease ORDER BY ledger) AS run FROM sending WHERE followed) r
        GROUP BY lease, run) l)
    FROM sending WHERE followed`);
  const [submitted, included, ledgers, live, longest] = row.map(Number);
  return { submissions: submitted, included, ledgers, live, longest };
}
