-- wrk: whole lives. Leases BENCH_BODY, adds the user's signature to the answer, and posts that for its fee bump. Counts the fee bumps. The
-- signature is 64 bytes of anything: fairway does not verify it, the network does.
dofile(os.getenv('BENCH_COMMON'))
local lease = os.getenv('BENCH_BODY')
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
local function sign(text)
    local envelope = decode(text)
    return encode(envelope:sub(1, -77) .. '\0\0\0\2' .. envelope:sub(-72) .. 'hint\0\0\0\64' .. ('s'):rep(64))
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
        signed[#signed + 1] = sign(body:match('"transactionXdr":"([^"]+)"'))
    elseif status == 200 then
        good = good + 1
    else
        refused = refused + 1
    end
end
