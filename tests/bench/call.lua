-- wrk: posts the call BENCH_BODY, each time with another number instead of @@@@@@.
dofile(os.getenv('BENCH_COMMON'))
local head, tail = os.getenv('BENCH_BODY'):match('^(.*)@@@@@@(.*)$')
function init()
    begin()
end
function request()
    sent = sent + 1
    return wrk.format(nil, nil, nil, string.format('%s%d%05x%s', head, number, sent, tail))
end
function response(status)
    if status == 200 or status == 202 then good = good + 1 else refused = refused + 1 end
end
