-- wrk: whole lives. Leases BENCH_BODY, signs the answer as the user whose secret key is BENCH_SECRET (seed and public key in hexadecimal
-- digits), and posts that to BENCH_BUMP_PATH for its fee bump, or to be submitted. Counts the answers to that.
local ffi = require('ffi')
ffi.cdef [[
int sodium_init(void);
int crypto_sign_detached(unsigned char *, unsigned long long *, const unsigned char *, unsigned long long, const unsigned char *);
int sodium_base642bin(unsigned char *, size_t, const char *, size_t, const char *, size_t *, const char **, int);
char *sodium_bin2base64(char *, size_t, const unsigned char *, size_t, int);
]]
local sodium = ffi.load('sodium')
sodium.sodium_init()
dofile(os.getenv('BENCH_COMMON'))
local lease = os.getenv('BENCH_BODY')
local function unhex(text)
    return (text:gsub('..', function(digits) return string.char(tonumber(digits, 16)) end))
end
local secret = unhex(os.getenv('BENCH_SECRET'))
local bump_path = os.getenv('BENCH_BUMP_PATH')
local signed = {}
local BASE64 = 1 -- sodium_base64_VARIANT_ORIGINAL
local bytes, len, text = ffi.new('unsigned char[65536]'), ffi.new('size_t[1]'), ffi.new('char[87384]')
local function decode(base64)
    assert(sodium.sodium_base642bin(bytes, 65536, base64, #base64, nil, len, nil, BASE64) == 0)
    return ffi.string(bytes, len[0])
end
local function encode(data)
    sodium.sodium_bin2base64(text, 87384, data, #data, BASE64)
    return ffi.string(text)
end
-- The envelope ends with one signature: its count, a hint, a length and 64 bytes.
local signature = ffi.new('unsigned char[64]')
local function sign(base64, hash)
    local envelope = decode(base64)
    sodium.crypto_sign_detached(signature, nil, unhex(hash), 32, secret)
    return encode(envelope:sub(1, -77) .. '\0\0\0\2' .. envelope:sub(-72) .. secret:sub(-4) .. '\0\0\0\64' .. ffi.string(signature, 64))
end
function init()
    begin()
end
function request()
    local transaction = table.remove(signed)
    if not transaction then return wrk.format(nil, nil, nil, lease) end
    return wrk.format(nil, bump_path, nil, '{"transactionXdr":"' .. transaction .. '"}')
end
function response(status, _, body)
    if status == 201 then
        signed[#signed + 1] = sign(body:match('"transactionXdr":"([^"]+)"'), body:match('"hash":"(%x+)"'))
    elseif status == 200 or status == 202 then
        good = good + 1
    else
        refused = refused + 1
    end
end
