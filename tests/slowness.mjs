// Upper bounds of time in tests.
import fs from 'node:fs';
import os from 'node:os';

/** The factor, from 1 to 10, by which the load of this machine slows a program down: that of the last minute, or of now if that is more,
 *  because the average follows a load of some seconds late. */
function slowness() {
  const running = Number(/(\d+)\//.exec(fs.readFileSync('/proc/loadavg', 'utf8'))[1]);
  return Math.min(10, Math.max(1, Math.max(os.loadavg()[0], running) / os.availableParallelism()));
}

/** What takes up to ms alone may take that long here. */
export const slower = ms => Math.ceil(ms * slowness());
