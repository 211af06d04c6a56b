// Each fault, one after the other in its world: the status names its cause, its own rules fire and no other, and the log says it.
import { after, describe, test } from 'node:test';
import { patients } from './faults.mjs';
import { Patient } from './patient.mjs';

describe('the exam', { concurrency: 3 }, () => {
  for (const { name, skip, options, faults } of patients)
    describe(name, { concurrency: 1 }, () => {
      const patient = new Patient();
      let started;
      for (const fault of faults)
        test(`EX1 ${fault.name}`, { timeout: 600_000, skip }, async () => {
          await (started ??= patient.start(options));
          await fault.run(patient);
        });
      after(() => patient.stop());
    });
});
