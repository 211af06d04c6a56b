-- wrk: whole lives. Leases BENCH_BODY, signs the answer as the user whose secret key is BENCH_SECRET (seed and public key in hexadecimal
-- digits), and posts that for its fee bump. Counts the fee bumps.
local ffi = require('ffi')
ffi.cdef [[
int sodium_init(void);
int crypto_sign_detached(unsigned char *, unsigned long long *, const unsigned char *, unsigned long long, const unsigned char *);
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
local digits, values = {}, {}
local alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
for i = 0, 63 do
    digits[i] = alphabet:sub(i + 1, i + 1)
    values[alphabet:byte(i + 1)] = i
end
local function decode(text)
    local out, n = {}, #text
    for i = 1, n, 4 do
        local a, b, c, d = text:byte(i, i + 3)
        local group = values[a] * 262144 + values[b] * 4096 + (values[c] or 0) * 64 + (values[d] or 0)
        out[#out + 1] = string.char(math.floor(group / 65536), math.floor(group / 256) % 256, group % 256)
    end
    local padding = text:sub(-2) == '==' and 2 or text:sub(-1) == '=' and 1 or 0
    return table.concat(out):sub(1, -1 - padding)
end
local function encode(bytes)
    local out = {}
    for i = 1, #bytes, 3 do
        local a, b, c = bytes:byte(i, i + 2)
        local group = a * 65536 + (b or 0) * 256 + (c or 0)
        out[#out + 1] = digits[math.floor(group / 262144)] .. digits[math.floor(group / 4096) % 64] ..
            (b and digits[math.floor(group / 64) % 64] or '=') .. (c and digits[group % 64] or '=')
    end
    return table.concat(out)
end
-- The envelope ends with one signature: its count, a hint, a length and 64 bytes.
local signature = ffi.new('unsigned char[64]')
local function sign(text, hash)
    local envelope = decode(text)
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
    elseif status == 200 then
        good = good + 1
    else
        refused = refused + 1
    end
end
