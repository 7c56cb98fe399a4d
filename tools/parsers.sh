#!/bin/bash
# parsers.sh DIR: the real squid and cloud-init of this Debian release, for tests to run on rendered files.
# Downloads their packages (and those of their dependencies that this machine lacks), unpacks them under DIR/root
# and writes the wrappers DIR/bin/squid and DIR/bin/cloud-init. Installs nothing: no maintainer script runs, no
# service starts. Run again at will: what is there already is kept.
set -euo pipefail

[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 64; }
mkdir -p "$1"
dir=$(readlink -f "$1")

if [ ! -e "$dir/root" ]; then
  work=$(mktemp -d "$dir/unpack.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/debs/partial" "$work/root"
  fetch() {
    # --reinstall fetches both also where they are installed; NoLocking because nothing of dpkg's is written.
    apt-get install -y -qq --reinstall --download-only --no-install-recommends \
      -o Debug::NoLocking=true -o APT::Sandbox::User=root -o Dir::Cache::archives="$work/debs" \
      squid cloud-init >"$work/apt.log" 2>&1
  }
  echo "parsers: fetching Debian's squid and cloud-init (about 16 MB)" >&2
  if ! fetch; then
    echo "parsers: apt's lists are missing or out of date, refreshing them" >&2
    apt-get update -qq >&2
    fetch || { cat "$work/apt.log" >&2; echo "parsers: squid and cloud-init could not be fetched" >&2; exit 1; }
  fi
  for deb in "$work"/debs/*.deb; do dpkg-deb -x "$deb" "$work/root"; done
  mv -T "$work/root" "$dir/root" # the last step: a root that exists is whole
fi

# The packages' own paths (/usr/sbin/squid, /usr/share/squid, ...) exist for the wrapped program only: an overlay in
# a mount namespace of its own. Needs root, as the lab does. DIR may be moved, but must hold no comma or colon.
mkdir -p "$dir/bin"
for program in sbin/squid bin/cloud-init; do
  wrapper=$dir/bin/$(basename $program)
  cat >"$wrapper.new" <<X
#!/bin/bash
root=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")/root
exec unshare --mount --propagation private sh -c \\
  'mount -t overlay overlay -o "lowerdir=\$0/usr:/usr" /usr && exec /usr/$program "\$@"' "\$root" "\$@"
X
  chmod 755 "$wrapper.new"
  mv "$wrapper.new" "$wrapper"
done
echo "$dir/bin"
