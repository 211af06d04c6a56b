// A small market: an issuer of two assets, and traders with trust lines who hold some of each.

import { Asset, Operation } from '@stellar/stellar-sdk';
import { offerKey } from '../entries.mjs';
import { decode } from '../xdr.mjs';
import { start as startApplying } from './applying.mjs';
import { keypair } from './harness.mjs';

export const NATIVE = Asset.native();
export const USD = new Asset('USD', keypair('issuer').publicKey());
export const EUR = new Asset('EUR', keypair('issuer').publicKey());

const trust = (asset, limit) => Operation.changeTrust({ asset, limit });

/** Prices are what one unit of the sold (or bought) asset costs. */
export const sell = (selling, buying, amount, price, offerId = 0) =>
  Operation.manageSellOffer({ selling, buying, amount, price, offerId });
export const buy = (selling, buying, buyAmount, price, offerId = 0) =>
  Operation.manageBuyOffer({ selling, buying, buyAmount, price, offerId });
export const sellPassively = (selling, buying, amount, price) =>
  Operation.createPassiveSellOffer({ selling, buying, amount, price });

/** The result of the last operation, as it is on the wire. */
export const resultOf = async (client, hash) => {
  const { result } = await client.call('getTransaction', { hash });
  return decode('TransactionResult', Buffer.from(result.resultXdr, 'base64')).result.results.at(-1).tr;
};

export const start = async (t) => {
  const world = await startApplying(t);
  const { client, applied } = world;
  const [issuer, maker, taker] = await client.create(['issuer', 'maker', 'taker'], '10000');
  for (const source of [maker, taker]) {
    await applied([trust(USD), trust(EUR)], { source });
    for (const asset of [USD, EUR])
      await applied(Operation.payment({ destination: source.publicKey(), asset, amount: '1000' }), { source: issuer });
  }
  return {
    ...world,
    issuer,
    maker,
    taker,
    offer: (key, offerId) => client.net.chain.state.peek(offerKey(client.id(key), offerId)),
    /** Applies it and returns the fields of its success; throws if it failed. */
    async traded(operation, source) {
      const { hash, status, operations } = await client
        .send(client.build(source, [operation].flat()))
        .then(async (sent) => (await client.close(), { ...sent, ...(await client.result(sent.hash)) }));
      if (status !== 'SUCCESS') throw new Error(`${status} ${JSON.stringify(operations)}`);
      return Object.values(await resultOf(client, hash))[1].success;
    },
  };
};

/** `[sold, bought]` of each offer that was crossed. */
export const claims = (atoms) => atoms.map(({ orderBook }) => [orderBook.amountSold, orderBook.amountBought]);
