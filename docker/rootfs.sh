#!/bin/sh
# Lays out the root file system of the image in DIR, from what `make build` made in build/release:
#
#   rootfs.sh DIR
set -eu
root=$1
programs="$root/usr/local/bin/fairway $root/usr/local/bin/fairway-keyd"
install -D -s -m 755 -t "$root/usr/local/bin" build/release/fairway build/release/fairway-keyd

# The loader and the libraries that the programs are linked with; and libgcc_s, which libc loads when a thread is cancelled.
libraries=$(ldd $programs | awk '$2 == "=>" { print $3 } NF == 2 && $1 ~ "^/" { print $1 }' | sort -u)
libraries="$libraries $(ldconfig -p | awk '/libgcc_s.so.1 / { print $NF; exit }')"
for library in $libraries; do
    [ -e "$root$library" ] || install -D -m 755 "$library" "$root$library"
done

# The trust store that libcurl and libpq read, the user, and where names are looked up.
install -D -m 644 -t "$root/etc/ssl/certs" /etc/ssl/certs/ca-certificates.crt
echo 'fairway:x:10001:10001:fairway:/:/sbin/nologin' >"$root/etc/passwd"
echo 'fairway:x:10001:' >"$root/etc/group"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"

# The packages that the libraries are from, where scanners for known vulnerabilities look for them; and their licences.
{
    echo ca-certificates
    for library in $libraries; do
        dpkg-query -S "*/${library##*/}"
    done | sed -e '/^diversion /d' -e 's/:.*//'
} | sort -u | while read -r package; do
    dpkg-query -s "$package" >"$root/tmp.status"
    install -D -m 644 "$root/tmp.status" "$root/var/lib/dpkg/status.d/$package"
    install -D -m 644 "/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
done
rm -f "$root/tmp.status"
install -D -m 644 /etc/os-release "$root/etc/os-release"
