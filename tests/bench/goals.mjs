// The goals of the bench, and its figures beside those of another commit.
import { connections, fmt, poolConnections, row, table } from './report.mjs';
import { ledgerMs } from './setup.mjs';

/** Each case with figures for several connections: [its path in build/bench.json, its figures]. */
const cases = (all, name = []) => Object.entries(all ?? {}).filter(([, value]) => typeof value === 'object').flatMap(([key, value]) =>
  [...value.rate1 ? [[[...name, key].join(' '), value]] : [], ...cases(value, [...name, key])]);

/** Prints how each case compares with the same of an earlier run. */
export function ratios(figures, earlier) {
  const { commit, date } = earlier.about, others = Object.fromEntries(cases(earlier));
  table(`Beside commit ${commit}, ${date.slice(0, 10)}: the ratio of the rates / of the p50.`, ['case'], [], poolConnections);
  const ratio = (m, other, of) => (m[of] / other[of]).toFixed(2);
  for (const [name, m] of cases(figures).filter(([name]) => others[name]))
    row([name, ...poolConnections.map(c => m[`rate${c}`] && others[name][`rate${c}`] ?
      `${ratio(m, others[name], `rate${c}`)} / ${ratio(m, others[name], `p50_ms${c}`)}` : '')]);
}

/** Prints and returns the goals whose parts have run, beside what was reached. Those for a p99 over a history are for data on a RAM disk: elsewhere
 * they would compare pauses of the disk. */
export function goals(figures, earlier, onRamDisk) {
  const { pools: p = {}, lives: l = {}, in_use: u = {}, keys: k = {}, auth: a = {}, history: h = {}, release: r = {}, submit: s = {} } = figures, rows = [];
  const goal = (what, wanted, reached, met) => rows.push([what, wanted, reached, met ? 'yes' : '**no**']);
  const times = (what, wanted, ratio) => goal(what, `${wanted} x plain best`, `${ratio.toFixed(1)} x`, ratio >= wanted);
  const within = (what, percent, rate, of) => goal(what, `within ${percent} %`, `${(100 * rate / of - 100).toFixed(1)} %`, rate >= of * (1 - percent / 100));
  for (const [pool, wanted] of [[2000, 5], [10000, 20]])
    if (p[pool])
      times(`leases at 128 connections, ${fmt(pool)} accounts`, wanted, p[pool].rate128 / p[pool].plain_best);
  for (const [pool, { p50_ms1: ms }] of Object.entries(p)) {
    const before = earlier?.pools?.[pool]?.p50_ms1;
    if (before)
      goal(`a lone lease's p50, ${fmt(pool)} accounts, beside commit ${earlier.about.commit}`, `at most 0.85 of ${before.toFixed(2)} ms`, `${ms.toFixed(2)} ms`,
        ms <= 0.85 * before);
  }
  for (const { leases, bumps, half } of Object.values(l)) {
    within('fee bumps at 128 connections, beside leases', 15, bumps.rate128, leases.rate128);
    goal('p99 at half of the highest rate', 'under 20 ms', `${half.p99_ms.toFixed(1)} ms`, half.p99_ms < 20);
  }
  for (const { 'no authentication, a key each': open, 'a token and a key, which the token names': guarded } of Object.values(a))
    within('authenticated leases at 128 connections, beside unauthenticated', 10, guarded.rate128, open.rate128);
  for (const [pool, shares] of Object.entries(u))
    for (const share of ['80', '95'].filter(share => shares[share] && shares['10'])) {
      const most = pool * (1 - share / 100) * 1000 / ledgerMs, ten = shares['10'].rate128;
      within(`${share} % of ${fmt(pool)} accounts in use, beside ${most < ten ? `the ${fmt(most)}/s that become idle` : '10 %'}`, 20, shares[share].rate128,
        Math.min(ten, most));
    }
  for (const { without, with: keyed } of Object.values(k))
    within('with keys, beside without', 20, keyed.rate128, without.rate128);
  for (const { 0: none, random_keys: random, ...others } of Object.values(h))
    for (const [leases, m] of Object.entries(others)) {
      const over = `over ${fmt(leases)} settled leases, beside none`;
      within(`rate at 128 connections ${over}`, 20, m.rate128, none.rate128);
      const longer = (what, ms, beside) => goal(`${what} ${over}`, `at most ${(1.1 * beside).toFixed(2)} ms, 10 % more`, `${ms.toFixed(2)} ms`, ms <= 1.1 * beside);
      for (const time of onRamDisk ? ['p50', 'p99'] : ['p50']) {
        for (const c of connections)
          longer(`${time} at ${c} connection${c === 1 ? '' : 's'}`, m[`${time}_ms${c}`], none[`${time}_ms${c}`]);
        longer(`${time} at half of the highest rate`, m.half[`${time}_ms`], none.half[`${time}_ms`]);
      }
    }
  for (const [what, time, wanted] of [['today', 'p50', 100], ['today', 'p99', 300], ['large', 'p99', 400]])
    if (r[what])
      goal(`${time} from the RPC's ledger to the answer, ${what}`, `under ${wanted} ms`, `${fmt(r[what][`${time}_ms`])} ms`, r[what][`${time}_ms`] < wanted);
  if (r.large) {
    goal('ledgers of 6,000 transactions, each second', 'none behind', `${r.large.behind} behind`, r.large.behind === 0);
    goal('memory in the last third, beside the first', 'at most 10 % more', `${fmt(r.large.rss_mb[1])} MB, ${fmt(r.large.rss_mb[0])} MB`,
      r.large.rss_mb[1] <= 1.1 * r.large.rss_mb[0]);
  }
  if (r.catch_up)
    goal('catch-up, ledgers of today\'s size', 'at least 20/s', `${fmt(r.catch_up.rate)}/s`, r.catch_up.rate >= 20);
  for (const what of ['signed', 'calls'])
    for (const [time, wanted] of s[what] ? [['p50', 20], ['p99', 100]] : [])
      goal(`${time} from commit to sendTransaction, ${what}, 100 a second`, `under ${wanted} ms`, `${s[what].sent[`${time}_ms`].toFixed(1)} ms`,
        s[what].sent[`${time}_ms`] < wanted && s[what].sent.unsent === 0);
  if (rows.length > 0) {
    console.log('\nGoals\n');
    [['goal', 'wanted', 'reached', 'met'], ['---', '---:', '---:', '---'], ...rows].forEach(row);
  }
  return rows.map(([what, wanted, reached, met]) => ({ what, wanted, reached, met: met === 'yes' }));
}
