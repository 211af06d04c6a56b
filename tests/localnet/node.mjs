// The chain as a node that lags by some ledgers sees it: what the RPC methods read, cut off at an earlier ledger.

export class LaggingNode {
  #chain;
  #latest;

  constructor(chain, lag) {
    this.#chain = chain;
    const { history } = chain;
    this.#latest = Math.max(history.oldest, history.latest - lag);
    const latest = this.#latest;
    this.history = {
      latest,
      oldest: history.oldest,
      ledger: (sequence) => (sequence > latest ? null : history.ledger(sequence)),
      summary: (sequence) => history.summary(sequence),
      find: (hash) => {
        const found = history.find(hash);
        return found && found.ledger <= latest ? found : null;
      },
    };
    this.state = chain.past.stateAt(latest, chain.state);
  }

  get head() {
    return this.#chain.headAt(this.#latest);
  }

  get supportedProtocol() {
    return this.#chain.supportedProtocol;
  }

  get closeTime() {
    return this.history.summary(this.#latest).closeTime;
  }

  now() {
    return this.#chain.now();
  }

  submit(transaction) {
    return this.#chain.submitAt(transaction, this.#latest, this.state, this.closeTime);
  }
}
