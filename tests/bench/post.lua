-- wrk: posts the same transaction (BENCH_BODY) each time. BENCH_HEADER: a header that gets a new value with every request, in the order of
-- the requests; BENCH_RUN makes it differ from those of other runs; with BENCH_RANDOM it is as random as a UUID.
dofile(os.getenv('BENCH_COMMON'))
local header, run, random = os.getenv('BENCH_HEADER'), os.getenv('BENCH_RUN'), os.getenv('BENCH_RANDOM')
function init()
    begin()
    wrk.body = os.getenv('BENCH_BODY')
    if random then math.randomseed(tonumber((run:gsub('%D', ''))) * 8 + number) end
end
if header then
    function request()
        sent = sent + 1
        local value = run .. '-' .. number .. '-' .. sent
        if random then value = string.format('%08x-%08x-', math.random(0, 0xffffffff), math.random(0, 0xffffffff)) .. value end
        wrk.headers[header] = value
        return wrk.format()
    end
end
function response(status)
    if status == 201 then good = good + 1 else refused = refused + 1 end
end
