// One process per data directory. The lock is a Unix socket in the abstract namespace: the kernel removes it when its holder
// dies, however it dies.

import { createServer } from 'node:net';
import { realpathSync } from 'node:fs';
import { sha256 } from './network.mjs';

/** Resolves to a function that unlocks, or to null if another process holds the directory. */
export const lockDirectory = (directory) =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.unref();
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(null) : reject(error)));
    server.listen(`\0localnet ${sha256(realpathSync(directory)).toString('hex')}`, () => {
      resolve(() => new Promise((done) => server.close(done)));
    });
  });
