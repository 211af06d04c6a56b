// Prints secret seeds (S...), one a line, from what other services keep, one item a line on standard input; for
// `| fairway import-accounts`. Needs Node.js 18 or newer and nothing else. Two forms are read:
//   64 hexadecimal digits: the raw key of an OpenZeppelin Relayer signer;
//   base64: a row of wallet-backend or of the Stellar Disbursement Platform, sealed with the passphrase in PASSPHRASE_FILE:
//   a nonce of 12 bytes, AES-128-GCM with the first 16 bytes of SHA-256(passphrase), a tag of 16 bytes.
import { createDecipheriv, createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Strkey (SEP-23) of a raw seed: version byte, 32 bytes, CRC-16, in base 32. */
function strkey(seed) {
  const bytes = Buffer.from([18 << 3, ...seed, 0, 0]);
  let crc = 0;
  for (const byte of bytes.subarray(0, 33))
    for (let bit = 7, top; bit >= 0; bit--) {
      top = (crc >> 15) ^ (byte >> bit & 1);
      crc = crc << 1 & 0xffff ^ (top ? 0x1021 : 0);
    }
  bytes.writeUInt16LE(crc, 33);
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('');
  return bits.match(/.{5}/g).map(five => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[parseInt(five, 2)]).join('');
}

function open(sealed) {
  const passphrase = readFileSync(process.env.PASSPHRASE_FILE, 'utf8').replace(/\n$/, '');
  const cipher = createDecipheriv('aes-128-gcm', createHash('sha256').update(passphrase).digest().subarray(0, 16), sealed.subarray(0, 12));
  cipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([cipher.update(sealed.subarray(12, -16)), cipher.final()]).toString();
}

readFileSync(0, 'utf8').split('\n').map(line => line.trim().replace(/^0x/, '')).forEach((line, i) => {
  try {
    if (line !== '')
      console.log(/^[0-9a-fA-F]{64}$/.test(line) ? strkey(Buffer.from(line, 'hex')) : open(Buffer.from(line, 'base64')));
  } catch {
    console.error(`seeds.mjs: line ${i + 1} is neither a raw key nor opened by the passphrase`);
    process.exitCode = 1;
  }
});
