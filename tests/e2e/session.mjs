// One psql that stays connected, for queries that only read. A process for each of the queries by which a test waits would take more CPU
// time than all else that the test does.
import { spawn } from 'node:child_process';

const END = 'end of the result';
/** What psql prints among the rows when the server ends the session. */
const LOST = /^(FATAL|PANIC|WARNING): /m;

export class Session {
  #psql;
  #text = '';
  #waiting;

  constructor(url) {
    this.#psql = spawn('sh', ['-c', 'exec psql -X -q -t -A -F "\t" "$0" 2>&1', url], { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#psql.stdout.setEncoding('utf8').on('data', text => {
      this.#text += text;
      for (const [end, isRight] of [[`${END} false\n`, true], [`${END} true\n`, false]])
        if (this.#text.endsWith(end))
          this.#answer(isRight && !LOST.test(this.#text) ? this.#text.slice(0, -end.length) : undefined);
    });
    this.url = url;
    this.over = false;
    const ended = () => {
      this.over = true;
      this.#answer(undefined);
    };
    this.#psql.stdin.on('error', ended);
    this.#psql.on('close', ended);
    this.#psql.stdin.write('SET client_min_messages = error;\n');
  }

  #answer(text) {
    this.#waiting?.(text);
    this.#waiting = undefined;
  }

  get busy() {
    return this.#waiting !== undefined;
  }

  /** The output of a SELECT, one row a line; undefined when it failed or the connection was lost. Not while busy. */
  query(select) {
    this.#text = '';
    return new Promise(resolve => {
      this.#waiting = resolve;
      this.#psql.stdin.write(`${select}\n;\n\\echo ${END} :ERROR\n`);
    });
  }

  end() {
    this.#psql.kill('SIGKILL');
  }
}
