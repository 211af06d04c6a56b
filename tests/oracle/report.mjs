// Measurements of a run, from the oracle's history: how replicas served their clients, and how often keys were repeated.

/** For each replica of each contest: requests, the share that was served in time, and the waiting time of those. */
export async function contests(history) {
  const rows = await history.query(`SELECT contest, replica, count(*), round(avg(CASE WHEN status = 201 THEN 1.0 ELSE 0.0 END), 3),
      percentile_disc(0.5) WITHIN GROUP (ORDER BY waited_ms) FILTER (WHERE status = 201),
      percentile_disc(0.99) WITHIN GROUP (ORDER BY waited_ms) FILTER (WHERE status = 201)
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
