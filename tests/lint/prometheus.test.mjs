// docker/prometheus: every query of rules.yml and dashboard.json names series and values of labels that exist, every alert has a heading in the
// runbook, and each fires at its fault, and no other with it (promtool, which install.sh takes from Debian).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';

const root = path.resolve(import.meta.dirname, '../..');
const read = name => fs.readFileSync(path.join(root, name), 'utf8');
const file = path.join(root, 'docker/prometheus/rules.yml'), promtool = path.join(root, 'build/packages/promtool');
const rules = parse(read('docker/prometheus/rules.yml')).groups.flatMap(group => group.rules);
const alerts = rules.filter(rule => rule.alert), recorded = rules.filter(rule => rule.record).map(rule => rule.record);
const panels = JSON.parse(read('docker/prometheus/dashboard.json')).panels;
const queries = [...rules, ...panels.flatMap(({ targets = [] }) => targets)].map(({ expr }) => expr);
const all = (text, pattern) => [...text.matchAll(pattern)].map(([, found]) => found);

const table = read('include/base/metric.h').replaceAll(/"\s*\\?\n\s*"/g, '');
const histograms = all(table, /X\(\w+, (?:SECONDS|SIZES), "(\w+)"/g);
const series = new Set([...all(table + read('src/api/get_metrics.c') + read('src/base/process.c'), /"((?:fairway|process)_[a-z_]+)"/g)
  .filter(name => !histograms.includes(name)), ...histograms.flatMap(name => [`${name}_bucket`, `${name}_sum`, `${name}_count`]), ...recorded, 'up']);

test('each query names series that exist', () => {
  const named = queries.flatMap(expr => all(expr.replaceAll(/\{[^}]*\}|\bby \([^)]*\)|\bon \([^)]*\)/g, ''),
    /\b((?:fairway|process)[a-z_0-9:]+|up)\b/g));
  assert.ok(named.length > 60);
  assert.deepEqual(named.filter(name => !series.has(name)), []);
});

/** What a label may be; of others, such as job, nothing is known. */
const values = {
  code: ['OK', ...all(read('include/base/err.h'), /X\([A-Z_]+, "([A-Z_]+)"/g)],
  route: [...read('src/api/api.c').matchAll(/"(GET|POST)", "([^"]+)"/g)].map(([, method, target]) => `${method} ${target}`),
  end: ['confirmed', 'failed', 'expired', 'superseded', 'consumed'],
  result: ['ok', 'error', 'failed', 'cancelled'],
  state: ['idle', 'leased', 'creating', 'retiring', 'quarantined', 'pending', 'rejected'],
  client: ['none', 'other'],
  check: all(read('include/api/judge.h'), /X\([A-Z]+, "([a-z]+)"/g),
};
test('each query names values of labels that exist', () => {
  const named = queries.flatMap(expr => [...expr.matchAll(/(\w+)!?=~?"([^"]*)"/g)]).filter(([, label]) => label !== 'job');
  assert.ok(named.length > 8);
  assert.deepEqual(named.flatMap(([, label, text]) => text.split('|').filter(value => !values[label]?.includes(value))), []);
  for (const value of [...values.end, ...values.result])
    assert.ok(read('src/base/metric.c').includes(`"${value}"`), value);
});

test('the API and the runbook name the checks that there are', () => {
  const { components } = JSON.parse(read('src/api/openapi.json'));
  const [schema] = Object.values(components.schemas).filter(({ properties }) => properties?.checks);
  assert.deepEqual(schema.properties.checks.items.properties.name.enum, ['service', ...values.check]);
  const rows = all(read('docker/runbook.md').split('### FairwayCheckWarns')[0], /^\| (`.*?`) \|/gm).flatMap(names => all(names, /`([a-z]+)`/g));
  assert.deepEqual(rows.toSorted(), values.check.toSorted());
});

test('each alert has a severity, a summary and a heading of its own in the runbook, and each such heading an alert', () => {
  assert.deepEqual(alerts.map(({ labels, annotations, alert }) => [labels.severity, annotations.runbook, annotations.summary.endsWith('.'), alert])
    .filter(([severity, runbook, ends, alert]) => !['warning', 'critical'].includes(severity) || !ends ||
      runbook !== `docker/runbook.md#${alert.toLowerCase()}`), []);
  assert.deepEqual(all(read('docker/runbook.md'), /^### (Fairway\w+)$/gm), alerts.map(({ alert }) => alert));
});

test('compose.yaml mounts each file that Prometheus and Grafana need, and they name the service, its port and the rules', () => {
  const { services } = parse(read('docker/compose.yaml'), { merge: true }), { scrape_configs: [scrape], rule_files } = parse(read('docker/prometheus/prometheus.yml'));
  const mounts = [...services.prometheus.volumes, ...services.grafana.volumes].map(volume => volume.split(':')).filter(([from]) => from.startsWith('./'));
  assert.deepEqual(mounts.map(([from]) => path.basename(from)).sort(), ['dashboard.json', 'grafana-dashboards.yml', 'grafana-datasources.yml',
    'prometheus.yml', 'rules.yml']);
  assert.deepEqual(mounts.filter(([from]) => !fs.existsSync(path.join(root, 'docker', from))), []);
  const [{ names, port }] = scrape.dns_sd_configs;
  assert.ok(services[names[0]] && port === 9001 && services.serve.environment.ADMIN_LISTEN === '0.0.0.0', 'ADMIN_PORT is PORT + 1000');
  assert.deepEqual([scrape.job_name, rule_files], ['fairway', ['rules.yml']]);
});

test('kubernetes.sh prints the rules as they are, and a monitor of the port that kubernetes.yaml has', () => {
  const { status, stdout, stderr } = spawnSync('sh', [path.join(root, 'docker/prometheus/kubernetes.sh')], { encoding: 'utf8', env: { ...process.env, LABELS: 'a: b' } });
  assert.equal(status, 0, stderr);
  const [service, monitor, rule] = stdout.split(/^---$/m).map(text => parse(text));
  assert.deepEqual(rule.spec, parse(read('docker/prometheus/rules.yml')));
  assert.deepEqual(rule.metadata.labels, { 'app.kubernetes.io/name': 'fairway', a: 'b' });
  assert.equal(monitor.spec.endpoints[0].port, service.spec.ports[0].name);
  const deployment = read('docker/kubernetes.yaml').split(/^---$/m).map(text => parse(text)).find(({ kind }) => kind === 'Deployment');
  assert.deepEqual(service.spec.selector, deployment.spec.selector.matchLabels);
  assert.ok(deployment.spec.template.spec.containers[0].ports.some(({ name, containerPort }) => name === service.spec.ports[0].targetPort && containerPort === 9001));
});

// ---- promtool

test('promtool can read each query of the dashboard', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-rules-')), name = path.join(folder, 'rules.yml');
  fs.writeFileSync(name, stringify({ groups: [{ name: 'dashboard', rules: panels.flatMap(({ targets = [] }) => targets)
    .map(({ expr }, i) => ({ record: `dashboard:${i}`.replace(/\d+/, n => 'x'.repeat(Number(n) + 1)), expr: expr.replaceAll('$job', 'fairway') })) }] }));
  const { status, stdout, stderr } = spawnSync(promtool, ['check', 'rules', name], { encoding: 'utf8' });
  fs.rmSync(folder, { recursive: true });
  assert.equal(status, 0, stdout + stderr);
});

const LEASE = 'POST /v1/transactions';
const steady = '5x120', growing = '0+60x120', none = '0x120';
/** Two replicas of a service that is well, by metric: the values at each minute. */
const healthy = {
  up: '1x120', process_start_time_seconds: '1000x120', fairway_build_info: '1x120',
  fairway_grants_allowed: '1x120', fairway_grants_held_until_seconds: none,
  fairway_cursor_lag_seconds: steady, fairway_cursor_close_time_seconds: '-5+60x120', fairway_ingestion_lead_taken_total: '1x120',
  'fairway_channel_accounts{state="idle"}': '80x120', 'fairway_channel_accounts{state="leased"}': '20x120',
  'fairway_channel_accounts{state="quarantined"}': none,
  'fairway_leases_ended_total{end="confirmed"}': growing, 'fairway_leases_ended_total{end="expired"}': '0+1x120',
  fairway_leases_granted_total: growing, fairway_oldest_lease_seconds: '12x120',
  'fairway_http_requests_total{route="POST /v1/transactions",code="OK"}': growing,
  'fairway_http_requests_total{route="POST /v1/transactions",code="INTERNAL"}': none,
  'fairway_http_requests_total{route="POST /v1/transactions",code="CONFLICT"}': none,
  'fairway_http_requests_total{route="POST /v1/fee-bumps",code="SEAL_BROKEN"}': none,
  'fairway_http_requests_total{route="POST /v1/transactions",code="CHANNEL_ACCOUNT_UNAVAILABLE"}': none,
  'fairway_http_requests_total{route="POST /v1/transactions",code="OVERLOADED"}': none,
  'fairway_http_requests_total{route="POST /v1/transactions",code="OUTCOME_UNKNOWN"}': none,
  'fairway_client_requests_total{client="none",code="UNAUTHORIZED"}': none,
  'fairway_http_connections{listener="api"}': '40x120', 'fairway_http_connections_max{listener="api"}': '1024x120',
  ...Object.fromEntries(values.check.map(check => [`fairway_check{check="${check}"}`, none])),
  'fairway_submissions{state="pending"}': '10x120', 'fairway_submissions{state="rejected"}': '1x120',
  'fairway_rpc_ledgers_refuted_total{rpc="2"}': none,
  fairway_distribution_spendable_stroops: '1000000000-100000x120',
  fairway_distribution_balance_stroops: '3000000000-100000x120',
};
/** From minute 60 on, the last ledger is that of minute 59. */
const late = { fairway_cursor_lag_seconds: '5x60 65+60x60', fairway_cursor_close_time_seconds: '-5+60x60 3595x60' };
/** What each fault changes, in both replicas or in the one that is named first; and the alerts that fire within 20 minutes of minute 60. */
const faults = {
  'all is well': [{}, []],
  'grants are stopped': [{ fairway_grants_allowed: '1x60 0x60' }, ['FairwayNotGranting']],
  'no replica has a database': [{ fairway_grants_allowed: '1x60 0x60', fairway_grants_held_until_seconds: '0x60 stale _x59' }, ['FairwayNotGranting']],
  'a hold that does not end': [{ fairway_grants_allowed: '1x60 0x60', fairway_grants_held_until_seconds: '0x60 5000x60' }, ['FairwayHold']],
  'ledgers are late': [late, ['FairwayLedgersLate']],
  'nobody leads': [{ 'a fairway_ingestion_leader': '1x60 0x60', ...late },
    ['FairwayLedgersLate', 'FairwayNoLeader']],
  'a command leads': [{ 'a fairway_ingestion_leader': '1x60 0x60' }, []],
  'the lead goes back and forth': [{ 'b fairway_ingestion_lead_taken_total': '1x60 2+1x60' }, ['FairwayLeadChanges']],
  'few accounts are idle': [{ 'fairway_channel_accounts{state="idle"}': '80x60 5x60', 'fairway_channel_accounts{state="leased"}': '20x60 95x60' },
    ['FairwayPoolNearlyLeased']],
  'no account is idle': [{ [`a fairway_http_requests_total{route="${LEASE}",code="CHANNEL_ACCOUNT_UNAVAILABLE"}`]: '0x60 0+3x60' },
    ['FairwayPoolExhausted']],
  'one request finds no idle account': [{ [`a fairway_http_requests_total{route="${LEASE}",code="CHANNEL_ACCOUNT_UNAVAILABLE"}`]: '0x65 1x54' }, []],
  'an account is in quarantine': [{ 'fairway_channel_accounts{state="quarantined"}': '0x60 1x60' }, ['FairwayQuarantine']],
  'a client does not submit': [{ 'fairway_leases_ended_total{end="expired"}': '0x60 0+60x60' }, ['FairwayLeasesExpire']],
  'a lease stays open': [{ fairway_oldest_lease_seconds: '12x60 500x60' }, ['FairwayOldLease']],
  'a bug, once, in the last minutes': [{ [`b fairway_http_requests_total{route="${LEASE}",code="INTERNAL"}`]: '0x75 1x45' }, ['FairwayInternalError']],
  'a seed does not open': [{ 'a fairway_http_requests_total{route="POST /v1/fee-bumps",code="SEAL_BROKEN"}': '0x75 1x45' }, ['FairwayInternalError']],
  'a slow database': [{ [`a fairway_http_requests_total{route="${LEASE}",code="OUTCOME_UNKNOWN"}`]: '0x60 0+2x60' }, ['FairwayOverloaded']],
  'many connections': [{ 'b fairway_http_connections{listener="api"}': '40x60 1000x60' }, ['FairwayConnectionsNearLimit']],
  'wrong tokens': [{ 'fairway_client_requests_total{client="none",code="UNAUTHORIZED"}': '0x60 0+60x60' }, ['FairwayTokensRefused']],
  'the clock is slow': [{ fairway_cursor_lag_seconds: '5x60 -55x60' }, ['FairwayClock']],
  'the clock is fast': [{ fairway_cursor_lag_seconds: '5x60 65x60' }, ['FairwayClock']],
  "the network's clock is fast": [{ fairway_cursor_lag_seconds: '5x60 -55x60', fairway_cursor_close_time_seconds: '-5+60x60 3655+60x59' }, ['FairwayClock']],
  "Prometheus's clock is fast": [{ fairway_cursor_close_time_seconds: '-5+60x60 3535+60x59' }, ['FairwayClock']],
  'an RPC changes a ledger': [{ 'a fairway_rpc_ledgers_refuted_total{rpc="2"}': '0x75 1x45' }, ['FairwayRpcLies']],
  'the money lasts for hours': [{ fairway_distribution_spendable_stroops: '1000000000-1000000x120',
    fairway_distribution_balance_stroops: '3000000000-1000000x120' }, ['FairwayFundsRunOut']],
  'money comes in': [{ fairway_distribution_spendable_stroops: '1000000000-100000x60 9000000000-100000x60',
    fairway_distribution_balance_stroops: '3000000000-100000x60 11000000000-100000x60' }, []],
  'the pool grows for more than an hour': [{ fairway_distribution_spendable_stroops: '1000000000-10000000x80 200000000-100000x40' }, []],
  'money is taken out': [{ fairway_distribution_spendable_stroops: '1000000000-100000x5 600000000-100000x115',
    fairway_distribution_balance_stroops: '3000000000-100000x5 2600000000-100000x115' }, []],
  'one replica has no database': [{ 'a fairway_check{check="database"}': '0x60 2x60' }, ['FairwayCheckFails']],
  'an RPC is stuck': [{ 'fairway_check{check="rpcs"}': '0x60 1x60' }, ['FairwayCheckWarns']],
  'the network refuses': [{ 'fairway_submissions{state="rejected"}': '1x60 10x60' }, ['FairwaySubmissionsRejected']],
  'all replicas are gone': [{ up: '1x60 _x60' }, ['FairwayGone']],
  'a replica is gone': [{ 'b up': '1x60 0x60' }, ['FairwayReplicaGone']],
  'a replica restarts': [{ 'b process_start_time_seconds': '1000x60 2000+60x60' }, ['FairwayReplicaGone']],
};

const labelled = (name, instance) => name.includes('{') ? name.replace('{', `{job="fairway",instance="${instance}",`)
  : `${name}{job="fairway",instance="${instance}"}`;

/** The series of both replicas, with what the fault changes. */
function input(changes) {
  const samples = new Map();
  const set = (name, instance, line) => samples.set(labelled(name, instance), line);
  for (const [name, line] of Object.entries(healthy))
    for (const instance of ['a', 'b'])
      set(name, instance, line);
  set('fairway_ingestion_leader', 'a', '1x120');
  set('fairway_ingestion_leader', 'b', none);
  for (const [key, line] of Object.entries(changes)) {
    const [, one, name] = /^(?:([ab]) )?(.*)/.exec(key);
    for (const instance of one ? [one] : ['a', 'b']) {
      assert.ok(samples.has(labelled(name, instance)), name);
      set(name, instance, line);
    }
  }
  return [...samples].map(([of, line]) => ({ series: of, values: line }));
}

const at = (expr, samples) => ({ expr, eval_time: '80m', exp_samples: samples });
const fired = names => at('count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[80m]))',
  names.map(name => ({ labels: `{alertname="${name}"}`, value: 1 })));

/** Runs promtool on tests of the rules. */
function judge(tests) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fairway-rules-')), name = path.join(folder, 'tests.yml');
  try {
    fs.writeFileSync(name, stringify({ rule_files: [file], evaluation_interval: '1m', tests: tests.map(one => ({ interval: '1m', ...one })) }));
    const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', name], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

test('each alert fires at its fault, and no other does', () => {
  const tested = Object.values(faults).flatMap(([, wanted]) => wanted);
  assert.deepEqual(alerts.map(({ alert }) => alert).filter(name => !tested.includes(name)), []);
  judge(Object.entries(faults).map(([name, [changes, wanted]]) => ({ name, input_series: input(changes), promql_expr_test: [fired(wanted)] })));
});

test('what is recorded', () => {
  const buckets = Object.entries({ 0.01: 50, 0.1: 99, '+Inf': 100 }).map(([le, count]) => ({ values: `0+${count}x120`,
    series: `fairway_http_request_duration_seconds_bucket{job="fairway",route="${LEASE}",le="${le}"}` }));
  const wanted = { 'fairway:leases:rate5m': 2, 'fairway:lease_seconds:p50': 0.01, 'fairway:lease_seconds:p99': 0.1, 'fairway:idle:ratio': 0.8 };
  judge([{ input_series: [...input({}), ...buckets], promql_expr_test: [
    ...Object.entries(wanted).map(([name, value]) => at(name, [{ labels: `${name}{job="fairway"}`, value }])),
    at('round(fairway:distribution_hours_left)', [{ labels: '{job="fairway"}', value: 165 }])] }]);
});
