// A hostile client of the HTTP interface, as a process of its own: attackers.mjs NAME PORT. Repeats its attack until it is killed. Requests
// that are to be parsed have a token: their client is known (its seed is ATTACK_CLIENT), and hostile. The clients of ATTACK_LEASES and
// ATTACK_REQUESTS have the limits openLeases and requestsPerSecond.
import crypto from 'node:crypto';
import net from 'node:net';
import { Account, Address, Keypair, Operation, SorobanDataBuilder, StrKey, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { authorization, quickSigner } from '../e2e/token.mjs';

const RATE = Number(process.env.ATTACK_RATE ?? 200); // requests a second of the attacks that send whole requests
const OPEN_MS = 500; // in which an attack opens its connections
const FROM = '127.0.0.2'; // the honest client has another address
const HOST = 'Host: x\r\n', JSON_TYPE = 'Content-Type: application/json\r\n', POST = `POST /v1/transactions HTTP/1.1\r\n${HOST}${JSON_TYPE}`;
const BODY = 64 << 10; // less than the cap of the path, so that it is read and parsed

const signerOf = seed => seed && quickSigner(Keypair.fromSecret(seed));
let client = signerOf(process.env.ATTACK_CLIENT);
const token = (...request) => client ? Object.entries(authorization(client, ...request)).map(([name, value]) => `${name}: ${value}\r\n`).join('') : '';
const post = (body, path = '/v1/transactions', key) => `POST ${path} HTTP/1.1\r\n${HOST}${JSON_TYPE}${token('POST', path, body, key)}` +
  `Content-Length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
/** The head of a POST with a good token, whose body never comes. */
const head = length => `${POST}${token('POST', '/v1/transactions', '')}Content-Length: ${length}\r\n\r\n`;
const get = path => `GET ${path} HTTP/1.1\r\n${HOST}${token('GET', path)}\r\n`;
const [, , name, port] = process.argv;
const connect = () => net.connect({ port: Number(port), host: '127.0.0.1', localAddress: FROM });

/** Opens a connection again whenever it is closed. begin(socket) is called for each; it returns a timer, or nothing. */
function keep(begin) {
  const socket = connect();
  let timer;
  socket.on('connect', () => (timer = begin(socket)));
  socket.on('error', () => {});
  socket.on('data', () => {});
  socket.on('close', () => {
    clearInterval(timer);
    setTimeout(keep, 1000 + Math.random() * 1000, begin);
  });
}

const times = (count, begin) => () => {
  for (let i = 0; i < count; i++) setTimeout(keep, Math.random() * OPEN_MS, begin);
};

/** One byte of the text a second, then the connection is held. */
const drip = text => socket => {
  let at = 0;
  return setInterval(() => socket.write(text[at++ % text.length]), 1000);
};

/** Calls make at most every 5 s: a token is valid for some seconds. */
function renewed(make) {
  let text, made = -Infinity;
  return () => {
    if (performance.now() - made > 5000) [text, made] = [make(), performance.now()];
    return text;
  };
}

/** Whole requests at RATE, over 8 connections. vary(text) changes each of them. */
function flood(make, vary = text => text) {
  const text = renewed(make);
  return times(8, socket => setInterval(() => socket.writableLength < 1e6 && socket.write(vary(text()), 'latin1'), 8000 / RATE));
}

/** So many connections of the client with this seed, each of which sends its next request when it has a reply to the last one. */
const loop = (count, seed, make) => () => {
  client = signerOf(seed);
  const send = socket => socket.write(make(), 'latin1');
  times(count, socket => (socket.on('data', () => send(socket)), void send(socket)))();
};

/** Makes bodies with a transaction, which is made once. */
const source = Keypair.random();
const transaction = (build, finish = () => {}) => {
  let body;
  return () => {
    if (!body) {
      const built = build(new TransactionBuilder(new Account(source.publicKey(), '0'), { fee: '100', networkPassphrase: 'none' }).setTimeout(0)).build();
      finish(built);
      body = JSON.stringify({ transactionXdr: built.toXDR() });
    }
    return body;
  };
};

/** It is refused for its min sequence number, which is judged last. */
const refused = builder => builder.setMinAccountSequence('1');
const small = builder => builder.addOperation(Operation.bumpSequence({ source: source.publicKey(), bumpTo: '0' }));
const smallRefused = transaction(builder => small(refused(builder))), smallGood = transaction(small);

/** 100 sources and 20 signatures: each signature could be of each source, if the ends of keys are all that is compared. */
const ambiguousSignatures = transaction(builder => {
  for (let i = 0; i < 100; i++) {
    const key = Buffer.from(source.rawPublicKey());
    key.writeUInt32BE(i, 4);
    builder.addOperation(Operation.bumpSequence({ source: StrKey.encodeEd25519PublicKey(key), bumpTo: '0' }));
  }
  return builder;
}, built => {
  for (let i = 0; i < 20; i++)
    built.signatures.push(new xdr.DecoratedSignature({ hint: source.signatureHint(), signature: source.sign(Buffer.from([i])) }));
});

/** As many values as a Soroban transaction can have. */
const manyValues = transaction(builder => refused(builder).setSorobanData(new SorobanDataBuilder().build())
  .addOperation(Operation.invokeHostFunction({ source: source.publicKey(), auth: [], func: xdr.HostFunction.hostFunctionTypeInvokeContract(
    new xdr.InvokeContractArgs({ contractAddress: Address.contract(Buffer.alloc(32)).toScAddress(), functionName: 'f',
      args: [xdr.ScVal.scvVec(Array.from({ length: 32_000 }, () => xdr.ScVal.scvVoid()))] })) })));

/** Each request on a connection of its own. */
const dialFlood = make => () => setInterval((text => () => {
  const socket = connect();
  socket.on('connect', () => socket.write(text(), 'latin1')).on('data', () => {}).on('error', () => {});
  setTimeout(() => socket.destroy(), 500);
})(renewed(make)), 1000 / RATE);

/** The claims of a client with the signature of another key, so that the signature has to be checked. */
const forged = () => authorization({ publicKey: () => client.publicKey(), sign: data => other.sign(data) }, 'GET', '/v1/pool').authorization;
const other = quickSigner(Keypair.random());

const keys = Array.from({ length: BODY / 12 }, (_, i) => `"k${i}":${i % 10}`).join(',');

export const attacks = {
  'idle connections': times(2000, () => {}),
  'slow heads': times(500, drip(`${POST}X-Slow: ${'a'.repeat(5000)}`)),
  'slow bodies': times(500, socket => (socket.write(head(5000)), drip('{"transactionXdr":"AAAA')(socket))),
  'replies not read': times(100, socket => void socket.pause().write(get('/v1/channel-accounts?limit=100').repeat(3))),
  'pipelined requests': flood(() => get('/livez').repeat(20)),
  'truncated requests': dialFlood(() => `${head(50)}{"transactionXdr":`),
  'malformed heads': dialFlood(() => 'GET /livez\0 HTTP/1.1\r\nHost: x\r\n\r\n'),
  'smuggled requests': dialFlood(() => `${POST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /livez HTTP/1.1\r\n${HOST}\r\n`),
  'oversized heads': dialFlood(() => `GET /livez HTTP/1.1\r\n${HOST}X-Big: ${'a'.repeat(60_000)}\r\n\r\n`),
  'oversized bodies': dialFlood(() => `${POST}Content-Length: 100000000\r\n\r\n${'a'.repeat(200_000)}`),
  'bodies without a token': dialFlood(() => `${POST}Content-Length: ${BODY}\r\n\r\n${'a'.repeat(BODY)}`),
  'tokens of another key': flood(() => `GET /v1/pool HTTP/1.1\r\n${HOST}Authorization: ${forged()}\r\n\r\n`),
  'readiness checks': flood(() => get('/readyz')),
  'endless chunks': times(20, socket => (socket.write(`${POST}Transfer-Encoding: chunked\r\n\r\n`),
    setInterval(() => socket.write(`8000\r\n${' '.repeat(0x8000)}\r\n`), 100))),
  'queries of 250 parameters': flood(() => get('/livez?' + Array.from({ length: 250 }, (_, i) => `p${i}=1`).join('&'))),
  'JSON of many keys': flood(() => post(`{${keys}}`)),
  'JSON of deep nesting': flood(() => post('{"a":'.repeat(BODY / 5))),
  'base64 that is no transaction': flood(() => post(JSON.stringify({ transactionXdr: 'AAAA'.repeat(BODY / 4) }))),
  'fee bumps with ambiguous signatures': flood(() => post(ambiguousSignatures(), '/v1/fee-bumps')),
  'Soroban transactions of many values': flood(() => post(manyValues())),
  'refused transactions with a new key each': flood(() => '', () => post(smallRefused(), undefined, crypto.randomUUID())),
  'leases above a limit, on 800 connections': loop(800, process.env.ATTACK_LEASES, () => post(smallGood())),
  'requests above a limit, on 800 connections': loop(800, process.env.ATTACK_REQUESTS, () => post(smallRefused())),
  'hashes that are unknown': flood(() => get(`/v1/transactions/${crypto.randomBytes(32).toString('hex')}`)),
};

/** Those that send as fast as they get replies: they take all the processor time that there is, so that only failed requests count. */
export const loops = new Set(Object.keys(attacks).filter(attack => / above a limit, /.test(attack)));

if (name) {
  attacks[name]();
  process.send?.('begun');
}
