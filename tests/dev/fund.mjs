// fund.mjs FILE: creates the distribution account of a development network. Writes a new key to FILE (mode 600) unless FILE exists, and
// has the network's friendbot create the account unless the network has it. RPC_URL selects the network.
import fs from 'node:fs';
import { Keypair } from '@stellar/stellar-sdk';
import { fundIfMissing } from './network.mjs';

const [file] = process.argv.slice(2);
if (!file || !process.env.RPC_URL) {
  console.error('usage: RPC_URL=... fund.mjs FILE');
  process.exit(64);
}
if (!fs.existsSync(file))
  fs.writeFileSync(file, Keypair.random().secret() + '\n', { mode: 0o600, flag: 'wx' });
const key = Keypair.fromSecret(fs.readFileSync(file, 'utf8').trim());
const created = await fundIfMissing(process.env.RPC_URL, key.publicKey());
console.log(`distribution account ${key.publicKey()}${created ? ', created by friendbot' : ''}`);
