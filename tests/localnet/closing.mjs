// The clock that closes ledgers: one every `ledgerMs`, or up to the fault `scatterMs` later, until paused. With `ledgerMs` 0,
// ledgers are closed by hand only.

export class Closing {
  #chain;
  #faults;
  #onError;
  #timer = null;
  #due = 0;
  #running = false;

  constructor(chain, ledgerMs, faults, onError) {
    this.#chain = chain;
    this.#faults = faults;
    this.ledgerMs = ledgerMs;
    this.#onError = onError;
  }

  get isRunning() {
    return this.#running;
  }

  resume() {
    if (this.#running || this.ledgerMs === 0) return;
    this.#running = true;
    this.#due = Date.now();
    this.#schedule();
  }

  /** No ledger starts to close after this, except by hand. */
  pause() {
    this.#running = false;
    clearTimeout(this.#timer);
  }

  /** Keeps a steady interval. Late ledgers do not follow each other faster than they close. */
  #schedule() {
    this.#due = Math.max(this.#due + this.ledgerMs, Date.now() - this.#faults.settings.scatterMs);
    const closes = this.#due + this.#faults.upTo('scatterMs');
    this.#timer = setTimeout(async () => {
      try {
        await this.#chain.closeLedger();
        if (this.#running) this.#schedule();
      } catch (error) {
        this.#running = false;
        this.#onError(error);
      }
    }, closes - Date.now());
  }
}
