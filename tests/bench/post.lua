-- wrk: posts the same transaction each time, and counts responses other than 201. BENCH_HEADER: a header that gets a new value with every
-- request (BENCH_RUN makes it differ from those of other runs). measure.mjs reads the last line.
local body, header, run = os.getenv('BENCH_BODY'), os.getenv('BENCH_HEADER'), os.getenv('BENCH_RUN')
local threads = {}
function setup(thread)
    table.insert(threads, thread)
    thread:set('number', #threads)
end
function init()
    refused, sent = 0, 0
    wrk.method = 'POST'
    wrk.body = body
    wrk.headers['Content-Type'] = 'application/json'
end
if header then
    function request()
        sent = sent + 1
        wrk.headers[header] = run .. '-' .. number .. '-' .. sent
        return wrk.format()
    end
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
