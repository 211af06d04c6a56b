// The methods of the server by name: those of Stellar RPC, and those that control the network.

import { controlMethods } from './control.mjs';
import { unlessEmpty } from './empty-store.mjs';
import { entryMethods } from './entries.mjs';
import { ledgerMethods } from './ledgers.mjs';
import { networkMethods } from './network.mjs';
import { submissionMethods } from './submission.mjs';
import { transactionMethods } from './transactions.mjs';

const groups = [networkMethods, ledgerMethods, entryMethods, submissionMethods, transactionMethods, controlMethods];

export const createMethods = (context) =>
  new Map(
    groups
      .flatMap((create) => Object.entries(create(context)))
      .map(([name, method]) => [name, unlessEmpty(name, method, context)]),
  );
