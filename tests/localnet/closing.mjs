// The clock that closes ledgers: one every `ledgerMs`, until paused. With 0, ledgers are closed by hand only.

export class Closing {
  #chain;
  #onError;
  #timer = null;
  #due = 0;
  #running = false;

  constructor(chain, ledgerMs, onError) {
    this.#chain = chain;
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
    this.#due = Math.max(this.#due + this.ledgerMs, Date.now());
    this.#timer = setTimeout(async () => {
      try {
        await this.#chain.closeLedger();
        if (this.#running) this.#schedule();
      } catch (error) {
        this.#running = false;
        this.#onError(error);
      }
    }, this.#due - Date.now());
  }
}
