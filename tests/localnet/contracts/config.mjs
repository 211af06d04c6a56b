// Settings of contracts on which a real network votes. The values are close to those of the public network, not equal to them.

const DAY = 17_280;

/** Fees in stroops. */
export const RATES = Object.freeze({
  instructions: 25n, // for 10,000
  diskReadEntry: 6_250n,
  writeEntry: 10_000n,
  diskRead1Kb: 1_786n,
  write1Kb: 3_500n,
  historical1Kb: 16_235n,
  events1Kb: 10_000n,
  bandwidth1Kb: 1_624n,
  rent1Kb: 3_500n,
  persistentRentDenominator: 2_103n,
  temporaryRentDenominator: 4_206n,
});

export const LIMITS = Object.freeze({
  instructions: 400_000_000,
  diskReadEntries: 100,
  writeEntries: 200,
  footprintEntries: 400,
  diskReadBytes: 200_000,
  writeBytes: 132_096,
  eventBytes: 16_384,
  transactionBytes: 132_096,
});

/** How long entries live, in ledgers. On this network none of them dies: see README.md. */
export const LIFETIME = Object.freeze({ minPersistent: 120 * DAY, minTemporary: DAY, max: 180 * DAY });

/** The asset contract extends its entries when less than the threshold is left. */
export const INSTANCE_EXTENSION = Object.freeze({ threshold: 6 * DAY, to: 7 * DAY });
export const BALANCE_EXTENSION = Object.freeze({ threshold: 29 * DAY, to: 30 * DAY });

/** The cost of a call in instructions. This network does not meter them: each call costs the same. */
export const INSTRUCTIONS = Object.freeze({ call: 200_000, signature: 400_000 });
