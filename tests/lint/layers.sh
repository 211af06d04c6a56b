#!/bin/sh
# Checks the layers of src/README.md: a module includes headers of itself and of the modules below it, and a library only
# where it belongs. Prints each violation; exit 1 when there is any.
set -eu
cd "$(dirname "$0")/../.."

below() {
    case $1 in
    base) echo base ;;
    sandbox) echo base sandbox ;;
    xdr) echo base xdr ;;
    stellar) echo base xdr stellar ;;
    keys) echo base sandbox xdr stellar keys ;;
    db) echo base db ;;
    limits) echo base db limits ;;
    rpc) echo base xdr stellar rpc ;;
    pool) echo base xdr stellar keys db limits pool ;;
    grant) echo base xdr stellar keys db limits pool grant ;;
    submit) echo base xdr stellar keys db limits rpc pool grant submit ;;
    upkeep) echo base xdr stellar keys db limits rpc pool upkeep ;;
    ingest) echo base xdr stellar keys db limits rpc pool upkeep ingest ;;
    provision) echo base xdr stellar keys db limits rpc pool upkeep ingest provision ;;
    http) echo base http ;;
    auth) echo base xdr stellar db limits http auth ;;
    api) echo base xdr stellar keys db limits rpc pool grant submit http auth api ;;
    *) echo "layers.sh: no rule for module $1" >&2; exit 1 ;;
    esac
}

library() { # header -> the modules that may include it
    case $1 in
    libpq-fe.h | postgres_ext.h | libpq/*) echo db ;;
    curl/*) echo rpc ;;
    microhttpd.h) echo http ;;
    sodium.h | sodium/*) echo base keys stellar auth ;;
    jansson.h) echo base auth rpc ;;
    esac
}

bad=0
complain() {
    echo "$1"
    bad=1
}

for file in $(find src include -name '*.[ch]'); do
    module=$(echo "$file" | cut -d/ -f2)
    allowed=" $(below "$module") "
    for header in $(sed -n 's/^#include "\([^"]*\/[^"]*\)".*/\1/p' "$file"); do
        other=${header%%/*}
        case $allowed in *" $other "*) ;; *) complain "$file includes $header: $module does not stand on $other" ;; esac
    done
    for header in $(sed -n 's/^#include <\([^>]*\)>.*/\1/p' "$file"); do
        may=$(library "$header")
        [ -n "$may" ] || continue
        case " $may " in *" $module "*) ;; *) complain "$file includes <$header>, which belongs to $may" ;; esac
    done
done

# SQL stands where the domain is, nowhere else
for file in $(grep -lE '"(SELECT|INSERT|UPDATE|DELETE|WITH|BEGIN|COMMIT|ROLLBACK)\b' -r src cmd --include='*.[ch]' || true); do
    case $file in src/limits/* | src/pool/* | src/grant/* | src/upkeep/* | src/ingest/* | src/provision/* | src/db/*) ;; *) complain "$file has SQL" ;; esac
done

# hand-written sources stay readable
for file in $(find src cmd include -name '*.[ch]' ! -name 'schema.*' ! -path include/xdr/types.h -size +20k); do
    complain "$file is larger than 20 KB"
done
exit $bad
