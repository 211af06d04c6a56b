// Error texts, where core puts its own: in diagnostic events.

import { XdrString, encode } from './xdr.mjs';

const DIAGNOSTIC = 2;
const SYMBOL = 15;
const STRING = 14;

/** A DiagnosticEvent of an error. */
export const diagnosticEvent = (words) => ({
  inSuccessfulContractCall: false,
  event: {
    ext: { v: 0 },
    contractId: null,
    type: DIAGNOSTIC,
    body: {
      v: 0,
      v0: { topics: [{ type: SYMBOL, sym: new XdrString('error') }], data: { type: STRING, str: new XdrString(words) } },
    },
  },
});

export const diagnosticError = (words) => encode('DiagnosticEvent', diagnosticEvent(words));
