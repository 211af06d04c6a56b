-- wrk: posts the same transaction (BENCH_BODY) each time, with a new token of the client whose secret key is BENCH_SECRET (seed and public
-- key in hexadecimal digits) and whose address is BENCH_CLIENT. BENCH_KEY: token, no Idempotency-Key; header, a new one each time,
-- which the token names. BENCH_RUN makes keys and tokens differ from those of other runs.
local ffi = require('ffi')
ffi.cdef [[
int sodium_init(void);
int crypto_sign_detached(unsigned char *, unsigned long long *, const unsigned char *, unsigned long long, const unsigned char *);
int crypto_hash_sha256(unsigned char *, const unsigned char *, unsigned long long);
char *sodium_bin2base64(char *, size_t, const unsigned char *, size_t, int);
]]
local sodium = ffi.load('sodium')
sodium.sodium_init()
dofile(os.getenv('BENCH_COMMON'))
local run, kind = os.getenv('BENCH_RUN'), os.getenv('BENCH_KEY')
local secret = os.getenv('BENCH_SECRET'):gsub('..', function(digits) return string.char(tonumber(digits, 16)) end)
local signature, text = ffi.new('unsigned char[64]'), ffi.new('char[4096]')
local function encode(data, len)
    sodium.sodium_bin2base64(text, 4096, data, len, 7) -- sodium_base64_VARIANT_URLSAFE_NO_PADDING
    return ffi.string(text)
end
local claims -- up to those that differ
local header = '{"alg":"EdDSA","typ":"JWT"}'
header = encode(header, #header)
function init()
    begin()
    wrk.body = os.getenv('BENCH_BODY')
    local hash = ffi.new('unsigned char[32]')
    sodium.crypto_hash_sha256(hash, wrk.body, #wrk.body)
    local digits = ffi.string(hash, 32):gsub('.', function(byte) return string.format('%02x', byte:byte()) end)
    claims = string.format('{"sub":"%s","methodAndPath":"POST %s","bodyHash":"%s"', os.getenv('BENCH_CLIENT'), wrk.path, digits)
end
function request()
    sent = sent + 1
    local now, id = os.time(), run .. '-' .. number .. '-' .. sent
    local signed = string.format('%s,"iat":%d,"exp":%d,"%s":"%s"}', claims, now, now + 10, kind == 'header' and 'idempotencyKey' or 'jti', id)
    signed = header .. '.' .. encode(signed, #signed)
    sodium.crypto_sign_detached(signature, nil, signed, #signed, secret)
    wrk.headers['Authorization'] = 'Bearer ' .. signed .. '.' .. encode(signature, 64)
    if kind == 'header' then wrk.headers['Idempotency-Key'] = id end
    return wrk.format()
end
function response(status)
    if status == 201 then good = good + 1 else refused = refused + 1 end
end
