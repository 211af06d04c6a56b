// Error texts, where core puts its own: in diagnostic events.

import { XdrString } from './xdr.mjs';

const DIAGNOSTIC = 2;
const SYMBOL = 15;
const STRING = 14;

/** A DiagnosticEvent of an error. */
export const diagnosticEvent = ({ contractId = null, topics = [], data }) => ({
  inSuccessfulContractCall: false,
  event: {
    ext: { v: 0 },
    contractId,
    type: DIAGNOSTIC,
    body: { v: 0, v0: { topics: [{ type: SYMBOL, sym: new XdrString('error') }, ...topics], data } },
  },
});

/** One that has words only. */
export const diagnosticWords = (words) => diagnosticEvent({ data: { type: STRING, str: new XdrString(words) } });
