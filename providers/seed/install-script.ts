/**
 * POSIX shell functions for scripts that cloud-init runs as root in a guest of any distribution:
 *
 * - `has COMMAND`: is it on PATH?
 * - `install_package NAME`: with apt-get, dnf, yum, zypper or apk. Tried 12 times, 10 s apart, because a fresh
 *   machine's own update jobs hold the package manager's locks for a while; a configuration file that is there
 *   already is kept. Fails when the last try failed.
 * - `start_service NAME [OPTION]`: enabled for every boot and running now, under systemd or OpenRC. Costs
 *   nothing where it is both already, and never restarts. The option goes to systemctl.
 */
export const SHELL_FUNCTIONS = `has() { command -v "$1" >/dev/null 2>&1; }

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=10 \\
    -o Dpkg::Options::=--force-confold install --no-install-recommends "$1"
}

install_once() {
  if has apt-get; then apt_install "$1" || { apt-get -q update && apt_install "$1"; }
  elif has dnf; then dnf -y install "$1"
  elif has yum; then yum -y install "$1"
  elif has zypper; then zypper --non-interactive install "$1"
  elif has apk; then apk add --update-cache "$1"
  else echo "no known package manager to install $1 with" >&2; tries_left=0; return 1
  fi
}

install_package() {
  tries_left=12
  until install_once "$1"; do
    tries_left=$((tries_left - 1))
    [ "$tries_left" -gt 0 ] || return 1
    sleep 10
  done
}

start_service() {
  if has systemctl; then
    systemctl is-enabled --quiet "$1" && systemctl is-active --quiet "$1" || systemctl enable --now "$@"
  elif has rc-update; then
    rc-update add "$1" default && rc-service "$1" start
  else
    echo "no known service manager to start $1 with" >&2
    return 1
  fi
}
`;
