-- wrk: posts the leased and signed transactions of the file BENCH_FILE (base64, one a line) for fee bumps, each with another maxFee, so that
-- no fee bump has been signed before.
dofile(os.getenv('BENCH_COMMON'))
local transactions = {}
function init()
    begin()
    for line in io.lines(os.getenv('BENCH_FILE')) do table.insert(transactions, line) end
end
function request()
    sent = sent + 1
    return wrk.format(nil, nil, nil, string.format('{"transactionXdr":"%s","maxFee":"%d"}',
        transactions[1 + (sent * 7 + number) % #transactions], 20000 + (2 * sent + number) % 1900000))
end
function response(status)
    if status == 200 then good = good + 1 else refused = refused + 1 end
end
