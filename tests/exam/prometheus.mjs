// Prometheus itself, with docker/prometheus/rules.yml as it is, which scrapes services every three seconds and evaluates the rules every second.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { freePort, sleep, until } from '../e2e/harness.mjs';

const root = path.resolve(import.meta.dirname, '../..'), program = path.join(root, 'build/packages/prometheus');
const file = path.join(root, 'docker/prometheus/rules.yml'), rules = parse(fs.readFileSync(file, 'utf8')).groups.flatMap(group => group.rules);
const SCRAPE_S = 3, LATE_MS = 45_000; // an answer may take 2.5 s; ledgers count as late after 30 s

const seconds = text => Number(text.slice(0, -1)) * { s: 1, m: 60, h: 3600 }[text.at(-1)];
/** For how many seconds the alert's expression must be true. */
const windowOf = name => seconds(rules.find(({ alert }) => alert === name)?.for ?? '0s');
/** Over how many seconds its expression looks back. */
const rangeOf = name => Math.max(0, ...[...rules.find(({ alert }) => alert === name).expr.matchAll(/\[(\w+)\]/g)].map(([, range]) => seconds(range)));

export class Prometheus {
  async start(parent, ...services) {
    this.folder = fs.mkdtempSync(path.join(parent, 'prometheus-'));
    this.watch(...services);
    const port = await freePort(), config = path.join(this.folder, 'config.yml');
    this.url = `http://127.0.0.1:${port}`;
    fs.writeFileSync(config, stringify({ global: { scrape_interval: `${SCRAPE_S}s`, scrape_timeout: `${SCRAPE_S}s`, evaluation_interval: '1s' }, rule_files: [file],
      scrape_configs: [{ job_name: 'fairway', file_sd_configs: [{ files: [path.join(this.folder, 'targets.json')] }] }] }));
    this.process = spawn(program, [`--config.file=${config}`, `--storage.tsdb.path=${path.join(this.folder, 'data')}`, `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error'], { stdio: ['ignore', 'ignore', 'inherit'] });
    this.ended = new Promise(ended => this.process.on('exit', ended));
    await until(async () => (await fetch(`${this.url}/-/ready`).catch(() => ({}))).ok, 30_000, 'Prometheus is ready');
    return this;
  }

  async stop() {
    this.process?.kill('SIGKILL');
    await this.ended;
  }

  /** Scrapes these services from now on. */
  watch(...services) {
    const file = path.join(this.folder, 'targets.json');
    fs.writeFileSync(`${file}.new`, JSON.stringify([{ targets: services.map(({ adminUrl }) => new URL(adminUrl).host) }]));
    fs.renameSync(`${file}.new`, file);
  }

  /** The names of the alerts that fire. */
  async firing() {
    const { data } = await (await fetch(`${this.url}/api/v1/alerts`)).json();
    return [...new Set(data.alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname))].sort();
  }

  /** These alerts fire, LATE_MS after the longest of their windows at the latest, and no other does in 75 s. may: one that may fire too. Says in seen
   *  after how many seconds each did. */
  async expect(names, may) {
    const begun = Date.now(), seen = this.seen = {}, last = Math.max(...names.map(windowOf)) * 1000 + LATE_MS, least = 75_000;
    for (let passed = 0; passed < least || (passed < last && names.some(name => seen[name] === undefined)); passed = Date.now() - begun) {
      for (const name of await this.firing())
        seen[name] ??= Math.round((Date.now() - begun) / 1000);
      await sleep(500);
    }
    assert.deepEqual(Object.keys(seen).filter(name => name !== may || names.includes(may)).sort(), names.toSorted());
  }

  /** Waits until no alert fires that looks back for a minute or less. */
  async isQuiet() {
    await until(async () => (await this.firing()).every(name => rangeOf(name) > 60), LATE_MS + 60_000, 'the alerts stop');
  }
}
