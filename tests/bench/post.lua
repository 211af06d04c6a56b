-- wrk: posts one and the same transaction; counts what was not answered 201. The last line is for bench.mjs.
local body = os.getenv('BENCH_BODY')
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init()
    refused = 0
    wrk.method = 'POST'
    wrk.body = body
    wrk.headers['Content-Type'] = 'application/json'
end
function response(status)
    if status ~= 201 then refused = refused + 1 end
end
function done(summary, latency)
    local all = 0
    for _, thread in ipairs(threads) do all = all + thread:get('refused') end
    local e = summary.errors
    io.write(string.format('BENCH {"requests":%d,"refused":%d,"errors":%d,"us":%d,"p50us":%d,"p99us":%d}\n',
        summary.requests, all, e.connect + e.read + e.write + e.timeout, summary.duration,
        latency:percentile(50), latency:percentile(99)))
end
