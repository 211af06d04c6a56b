-- What the scripts for wrk share. Each counts good answers in `good` and others in `refused`; measure.mjs reads the last line.
local threads = {}
function setup(thread)
    table.insert(threads, thread)
    thread:set('number', #threads)
end
function begin()
    good, refused, sent = 0, 0, 0
    wrk.method = 'POST'
    wrk.headers['Content-Type'] = 'application/json'
end
function done(summary, latency)
    local answers, others = 0, 0
    for _, thread in ipairs(threads) do
        answers, others = answers + thread:get('good'), others + thread:get('refused')
    end
    local e = summary.errors
    io.write(string.format('BENCH {"good":%d,"refused":%d,"errors":%d,"us":%d,"p50us":%d,"p99us":%d}\n', answers, others,
        e.connect + e.read + e.write + e.timeout, summary.duration, latency:percentile(50), latency:percentile(99)))
end
