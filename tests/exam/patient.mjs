// A service to which a fault happens, with its database and network, and what an operator sees of it: the lines of fairway status, the rules that
// fire, and the log.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { payment, sleep, startWorld, until } from '../e2e/harness.mjs';
import { proxyRpc } from '../e2e/rpc-proxy.mjs';
import { oldHost } from '../e2e/sick-server.mjs';

const root = path.resolve(import.meta.dirname, '../..'), promtool = path.join(root, 'build/packages/promtool');
const SCRAPE_S = 15, HEALTHY = 60; // scrapes
export const ACCOUNTS = 30;

/** The rules, which fire as soon as their expressions are true. */
const rules = parse(fs.readFileSync(path.join(root, 'docker/prometheus/rules.yml'), 'utf8'));
for (const group of rules.groups)
  for (const rule of group.rules)
    delete rule.for;

/** A world with a service, its RPC behind a proxy that does what `rpc` says. */
export class Patient {
  async start({ env = {}, rpcs = 1, ...options } = {}) {
    this.world = await startWorld({ accounts: ACCOUNTS, ledgerMs: 500, ...options });
    this.rpc = null;
    this.proxies = await Promise.all(Array.from({ length: rpcs }, (_, i) => proxyRpc(this.world.localnet.url,
      (call, forward) => this.rpc?.(call, forward, i) ?? forward())));
    const urls = this.proxies.map(({ url }) => url).join(',');
    this.host = oldHost(this.world.folder);
    this.env = { RPC_URL: urls, ...this.host.env };
    Object.assign(this.world.env, { LEDGER_SECONDS: '500ms', ...env });
    this.service = await this.world.serve(this.env);
    this.users = await Promise.all([this.world.newAccount(), this.world.newAccount()]);
    return this;
  }

  async stop() {
    this.proxies?.forEach(proxy => proxy.close());
    await this.world?.stop();
  }

  lease = timeoutSeconds => this.service.post('/v1/transactions',
    { transactionXdr: payment(this.world, ...this.users).toXDR(), timeoutSeconds });

  async status() {
    const { answers } = await (await fetch(`${this.service.adminUrl}/status.json`)).json();
    return Object.fromEntries(answers.map(({ question, level, answer }) => [question, { level, answer }]));
  }

  /** The values of all series. Unix times that rules compare with Prometheus's clock, which is this one, are seconds before it (negative). */
  async scrape() {
    const text = await (await fetch(`${this.service.adminUrl}/metrics`)).text();
    return new Map([...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (-?[\d.e+]+|\+Inf)$/gm)]
      .map(([, name, labels, value]) => [`${name}{job="fairway",instance="a"${labels ? `,${labels}` : ''}}`,
        name === 'fairway_cursor_close_time_seconds' ? String(Number(value) - Date.now() / 1000) : value]));
  }

  /** Which rules fire after the healthy scrape, repeated, and then these. */
  async firing(healthy, scrapes) {
    const series = new Set([healthy, ...scrapes].flatMap(scrape => [...scrape.keys()]));
    const at = (name, value, i) => name.startsWith('fairway_cursor_close_time_seconds') ? i * SCRAPE_S + Number(value) : value;
    const values = name => [...Array(HEALTHY).fill(healthy), ...scrapes]
      .map((scrape, i) => scrape.has(name) ? at(name, scrape.get(name), i) : '_').join(' ');
    const rulesFile = path.join(this.world.folder, 'rules.yml'), file = path.join(this.world.folder, 'tests.yml');
    fs.writeFileSync(rulesFile, stringify(rules));
    fs.writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: `${SCRAPE_S}s`, tests: [{ interval: `${SCRAPE_S}s`,
      input_series: [...[...series].map(name => ({ series: name, values: values(name) })),
        { series: 'up{job="fairway",instance="a"}', values: `1x${HEALTHY + scrapes.length}` }],
      promql_expr_test: [{ expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
        eval_time: `${(HEALTHY + scrapes.length - 1) * SCRAPE_S}s`, exp_samples: [{ labels: '{none="none"}', value: 1 }] }] }] }));
    const { stdout, stderr } = await promisify(execFile)(promtool, ['test', 'rules', file]).catch(failed => failed); // the RPCs go on meanwhile
    const got = /got: *(.*)/.exec(stdout + stderr)?.[1];
    assert.ok(got !== undefined, stdout + stderr);
    return [...got.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name).sort();
  }

  /** fault: begin() brings it about, end() ends it. names: the lines of the status that name it or follow from it; alerts: its rules; may, mayName: a rule, a line that may be there too; log: its line. */
  async exam(fault) {
    const { begin, names, end = () => {} } = fault;
    const isWell = async () => Object.values(await this.status()).every(({ level }) => level === 'ok');
    await until(isWell, 60_000, 'it is well');
    const from = this.service.log.length; // a call that grows old fails by time, and the same is logged once a minute
    this.host.grow(); // it happens to a service that is months old
    await until(isWell, 60_000, 'it is well');
    const healthy = await this.scrape(), scrapes = [];
    await begin();
    try {
      let seen;
      const isNamed = await until(async () => {
        seen = await this.status();
        return Object.entries(names).every(([question, words]) => seen[question].level !== 'ok' && words.test(seen[question].answer));
      }, 60_000, 'the status names it').catch(() => false);
      for (let i = 0; i < 4; i++, await sleep(700))
        scrapes.push(await this.scrape());
      await this.judge(fault, { isNamed, seen, firing: await this.firing(healthy, scrapes), log: () => this.service.log.slice(from) });
    } finally {
      await end();
    }
  }

  async judge({ names, alerts, may, mayName, log }, { isNamed, seen, firing, log: text }) {
    assert.ok(isNamed, `the status names it: ${JSON.stringify(seen, null, 1)}\n${text().slice(0, 3000)}`);
    const others = Object.entries(seen).filter(([question, { level }]) => level !== 'ok' && !names[question] && question !== mayName);
    assert.deepEqual(others, [], 'no other line names anything');
    assert.deepEqual(firing.filter(name => name !== may), alerts.toSorted());
    if (log)
      await until(() => log.test(text()), 10_000, 'the log says it');
  }

  /** A service that does not start with these variables. log: its line; check: the line of fairway check that asks for an act. */
  async examStart(fault) {
    const { code, out } = await this.world.start(['serve'], fault.env).ended, { out: check } = await this.world.start(['check'], fault.env).ended;
    await this.judgeStart(fault, { code, log: out, check });
  }

  async judgeStart(fault, { code, log, check }) {
    assert.equal(code, 78, log);
    assert.match(log, fault.log);
    assert.deepEqual([...check.matchAll(/^ACT +(\w+)/gm)].map(([, name]) => name), [fault.check], check);
  }
}
