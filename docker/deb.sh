#!/bin/sh
# Makes the Debian package build/fairway_VERSION_ARCHITECTURE.deb from FOLDER/root, where `make install` has put the files. The same files give the
# same bytes.
#
#   SOURCE_DATE_EPOCH=SECONDS deb.sh FOLDER VERSION      the time of every file
set -eu
umask 022
command -v dpkg-shlibdeps >/dev/null || { echo "dpkg-shlibdeps is missing. Install Debian's package dpkg-dev." >&2; exit 69; }
folder=$1 version=$2 root=$1/root architecture=$(dpkg --print-architecture)
strip --strip-unneeded "$root/usr/bin/fairway" "$root/usr/bin/fairway-keyd"

# dpkg-shlibdeps reads the packages, and their lowest versions, that the programs need on this release of Debian.
mkdir -p "$folder/debian" "$root/DEBIAN"
printf 'Source: fairway\n\nPackage: fairway\nArchitecture: any\n' >"$folder/debian/control"
libraries=$(cd "$folder" && dpkg-shlibdeps -O root/usr/bin/fairway root/usr/bin/fairway-keyd | sed -n 's/^shlibs:Depends=//p')

cat >"$root/DEBIAN/control" <<END
Package: fairway
Version: $version
Architecture: $architecture
Maintainer: fairway <root@localhost>
Depends: $libraries, ca-certificates
Section: net
Priority: optional
Installed-Size: $(du -k -s --apparent-size "$root/usr" | cut -f1)
Description: Stellar channel-account signing service
 fairway, its key process fairway-keyd, a systemd unit that is not enabled, and the pages.
 /usr/share/doc/fairway/docker/README.md describes the installation, and roles.sql beside it the roles of the database.
END
(cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
# The number of threads changes what xz makes.
dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$root" "build/fairway_${version}_$architecture.deb"
