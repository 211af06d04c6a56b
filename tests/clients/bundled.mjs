// passkey-kit and smart-account-kit are written for bundlers: their imports have no file name extensions, and some files are TypeScript. With
// these hooks Node.js loads them as they are. (The last try is for version 14.6 of the SDK, whose "minimal" misses its package.json by a folder.)
import fs from 'node:fs';
import { registerHooks } from 'node:module';
import ts from 'typescript';

registerHooks({
  resolve(specifier, context, next) {
    const names = specifier.startsWith('.') ? [specifier, `${specifier}.js`, `${specifier}.ts`, `${specifier}/index.js`, `../${specifier}`] : [specifier];
    for (const name of names)
      try {
        return next(name, context);
      } catch (error) {
        if (name === names.at(-1))
          throw error;
      }
  },
  load(url, context, next) {
    if (!url.endsWith('.ts'))
      return next(url, context);
    const { outputText: source } = ts.transpileModule(fs.readFileSync(new URL(url), 'utf8'), { compilerOptions: { module: 'ESNext', target: 'ES2022' } });
    return { format: 'module', shortCircuit: true, source };
  },
});
