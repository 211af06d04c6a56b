// The scheme "exact" of @x402/stellar for facilitators, settled by fairway. It verifies as the package does. README.md beside it.
import crypto from 'node:crypto';
import { ExactStellarScheme } from '@x402/stellar/exact/facilitator';

export class FairwayScheme extends ExactStellarScheme {
  /** call: of ../javascript/fairway.mjs. account: distributionAccount of GET /v1/info, whose money no payment may move. options: the package's. */
  constructor(call, account, options) {
    super([{ address: account }], options);
    this.call = call;
  }

  async settle(payload, requirements) {
    const { isValid, invalidReason, payer } = await this.verify(payload, requirements);
    const answer = (errorReason, transaction = '') => ({ success: !errorReason, errorReason, transaction, network: requirements.network, payer });
    if (!isValid)
      return answer(invalidReason);
    let end = await this.call('POST', '/v1/submissions', { transactionXdr: payload.payload.transaction }, crypto.randomUUID());
    if (!end.first)
      return answer('duplicate_settlement');
    while (end.status === 'pending' && !end.rejected)
      end = await this.call('GET', `/v1/transactions/${end.hash}?wait=60`);
    return answer(end.status === 'confirmed' ? undefined : 'settle_exact_stellar_transaction_failed', end.ledgerHash ?? end.hash);
  }
}
