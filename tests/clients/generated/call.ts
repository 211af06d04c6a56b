// One contract call by openapi-fetch and the types that openapi-typescript makes of openapi.json: call.ts URL FUNC AUTH. Prints the status.
import createClient from 'openapi-fetch';
import type { paths } from './api.d.ts';

declare const process: { argv: string[] }; // for tsc, without the types of Node.js
const [baseUrl, func, auth] = process.argv.slice(2) as [string, string, string];
const { data, error } = await createClient<paths>({ baseUrl }).POST('/v1/submissions',
  { params: { query: { wait: 60 }, header: { 'Idempotency-Key': `ts-${auth.slice(0, 40)}` } }, body: { func, auth: [auth] } });
console.log(data ? data.status : `${error.code}: ${error.detail}`);
