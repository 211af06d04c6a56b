// The serve processes of a storm. A place has one process at a time; one that ends is replaced at once.
import { Service, sleep } from '../e2e/harness.mjs';

export class Fleet {
  #stopped = false;

  /** client: the keypair that signs requests. */
  constructor(env, size, history, client) {
    this.client = client;
    this.env = env;
    this.history = history;
    this.places = Array.from({ length: size }, () => null);
    this.kills = 0;
    this.unexpectedEnds = [];
  }

  async start() {
    await Promise.all(this.places.map((_, i) => this.#begin(i)));
  }

  /** The processes that listen and were not killed. */
  get up() {
    return this.places.filter(service => service?.isUp);
  }

  async #begin(place) {
    const service = new Service(this.env, this.client);
    this.places[place] = service;
    service.ended.then(({ code, signal }) => {
      service.isUp = false;
      // 70: its key process was killed; 69: PostgreSQL was unavailable while it started
      if (!this.#stopped && !service.wasKilled && !(code === 70 && service.lostKeyd) && code !== 69)
        this.unexpectedEnds.push([`code ${code}, signal ${signal}`,
          ...service.log.split('\n').filter(line => /level=(error|fatal)/.test(line)).slice(-5), service.log.slice(-300)].join('\n'));
      if (!this.#stopped)
        this.#begin(place).catch(error => this.unexpectedEnds.push(String(error)));
    });
    while (!service.url && service.process.exitCode === null && service.process.signalCode === null)
      await sleep(20);
    service.isUp = service.url !== undefined;
  }

  async #answers(service) {
    return (await fetch(`${service.url}/livez`, { signal: AbortSignal.timeout(2000) }).catch(() => null))?.ok === true;
  }

  /** Kills a process that responds, with kill -9; returns whether there was one. */
  async kill(random) {
    const service = this.up.length > 0 ? random.pick(this.up) : null;
    if (!service || !await this.#answers(service) || !service.isUp)
      return false;
    service.wasKilled = true;
    service.isUp = false;
    service.process.kill('SIGKILL');
    const { signal } = await service.ended;
    if (signal !== 'SIGKILL')
      throw new Error(`a killed process ended by ${signal}`);
    this.kills++;
    this.history.append('kill', new Date(), 'serve', 'SIGKILL');
    return true;
  }

  async killKeyd(random) {
    const service = this.up.length > 0 ? random.pick(this.up) : null;
    const pid = service?.keydPid ?? null;
    if (pid === null)
      return false;
    service.lostKeyd = true;
    process.kill(pid, 'SIGKILL');
    this.history.append('kill', new Date(), 'keyd', 'SIGKILL');
    return true;
  }

  /** Stops a process (SIGSTOP) for ms, in the middle of whatever it does. */
  async freeze(random, ms) {
    const service = this.up.length > 1 ? random.pick(this.up) : null;
    if (!service)
      return false;
    service.process.kill('SIGSTOP');
    this.history.append('kill', new Date(), 'serve', `SIGSTOP ${ms}`);
    await sleep(ms);
    service.process.kill('SIGCONT');
    return true;
  }

  /** Kills all of them and starts `size` processes with other settings. */
  async restart(env, size = this.places.length) {
    await this.stop();
    this.#stopped = false;
    this.env = env;
    this.places = Array.from({ length: size }, () => null);
    await this.start();
  }

  async stop() {
    this.#stopped = true;
    await Promise.all(this.places.map(service => service?.kill('SIGKILL')));
  }
}
