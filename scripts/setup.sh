# Sourced by quickstart, test and the benchmark scripts: installs what is missing, prints what it installs, and sets
#   DDPPROF_TORCH_PYTHON   the interpreter of the environment that has torch
#   DDPPROF_ROOT           this clone
#   DDPPROF_DIGITS         a folder with small images, for trainings that learn something (group tests)
# DDPPROF_SETUP selects groups of packages besides those that every build needs (default: "window tests"):
#   window    Qt, for the window
#   tests     the test libraries, MPI, the images; Python's byte code is compiled ahead
#   engines   Slurm, for tests/engines
#   clients   other people's training programs (Lightning, DeepSpeed, Ray, …), for tests/clients; sets DDPPROF_CLIENTS_PYTHON
#   notebook  nbclient and a kernel, for docs/guide/notebook.ipynb; sets DDPPROF_NOTEBOOK_PYTHON
#   bare      debootstrap and an X server without a screen, for scripts/bare-machine and the window's wheel
# Debian packages come from apt. Python packages go into a cache folder outside the clone
# (DDPPROF_CACHE_DIR, default ~/.cache/ddpprof), one environment for each version of requirements.txt.
# If everything is installed, nothing is done: a second run takes a second.

set -euo pipefail
DDPPROF_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export DDPPROF_ROOT
cache=${DDPPROF_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ddpprof}

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'set-up: %s\n' "$*" >&2; exit 3; }

DDPPROF_SETUP=${DDPPROF_SETUP-window tests}
in_setup() { [[ " $DDPPROF_SETUP " == *" $1 "* ]]; }

debian_packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates python3 python3-venv
  libfmt-dev libyaml-cpp-dev libcli11-dev nlohmann-json3-dev libssl-dev
  libsqlite3-dev libsqlitecpp-dev libceres-dev libeigen3-dev zlib1g-dev libzstd-dev libsimdjson-dev libcsv-dev
  libgloo-dev
)
if in_setup window; then debian_packages+=(qt6-base-dev qt6-svg-dev libqcustomplot-dev fonts-dejavu-core); fi
if in_setup tests; then
  debian_packages+=(libgtest-dev libgmock-dev libbenchmark-dev clang-16 libclang-rt-16-dev iproute2 hostname openmpi-bin
                    libopenmpi-dev zsh fish man-db groff-base dpkg-dev)
fi
if in_setup bare; then debian_packages+=(debootstrap xvfb); fi
if in_setup engines; then debian_packages+=(munge slurm-client slurmctld slurmd); fi
# Packages with a service that apt would start, now and at every boot. The tests start their own.
services=(munge slurmctld slurmd)

# install_debian_packages [PACKAGE…]: installs those that are missing; default: debian_packages.
install_debian_packages() {
  [ $# -gt 0 ] || set -- "${debian_packages[@]}"
  command -v dpkg-query >/dev/null || {
    say "this is not Debian: expecting these packages' counterparts to be installed: $*"
    return 0
  }
  local package missing=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these Debian packages are missing and this user is neither root nor has sudo: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing Debian packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  install_without_starting "${missing[@]}"
}

# install_without_starting PACKAGE…: new services among the packages are neither started nor enabled. Services that were
# installed before are not changed.
install_without_starting() {
  local service new=() status=0
  for service in "${services[@]}"; do
    [[ " $* " != *" $service "* ]] || new+=("$service")
  done
  (
    policy=/usr/sbin/policy-rc.d
    if [ ${#new[@]} -gt 0 ] && [ ! -e "$policy" ]; then
      trap '"${as_root[@]}" rm -f "$policy"' EXIT
      # Debian's policy: with exit code 101 the installation of a package does not start its service.
      printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
  ) || status=$?
  for service in "${new[@]}"; do
    "${as_root[@]}" systemctl disable --quiet "$service" 2>/dev/null || "${as_root[@]}" update-rc.d "$service" disable || true
  done
  [ "$status" -eq 0 ] || die "apt-get could not install: $*"
}

install_python_packages() {
  if [ -n "${DDPPROF_TORCH_PYTHON:-}" ]; then
    say "using the torch of $DDPPROF_TORCH_PYTHON (DDPPROF_TORCH_PYTHON is set)"
    return 0
  fi
  local interpreter requirements key environment
  interpreter=/usr/bin/python3
  [ -x "$interpreter" ] || interpreter=$(command -v python3) || die "python3 not found"
  "$interpreter" -c 'import ensurepip, venv' 2>/dev/null || interpreter=$(command -v python3)
  requirements=$DDPPROF_ROOT/scripts/requirements.txt
  key=$({ "$interpreter" -c 'import sys; print(sys.version_info[:2])'; cat "$requirements"; } | sha256sum | cut -c1-12)
  environment=$cache/python-$key
  export DDPPROF_TORCH_PYTHON=$environment/bin/python
  if [ -e "$environment/complete" ]; then
    compile_python_packages "$environment"
    return 0
  fi
  mkdir -p "$cache"
  local free_kib
  free_kib=$(df -Pk "$cache" | awk 'NR == 2 {print $4}')
  [ "$free_kib" -gt 6000000 ] || die "$cache has $((free_kib / 1024)) MiB free; the Python packages need 6 GB. Set DDPPROF_CACHE_DIR to a larger disk."
  say "installing $(grep -c == "$requirements") Python packages (torch $(sed -n 's/^torch==//p' "$requirements"), about 4 GB) into $environment"
  rm -rf "$environment"
  "$interpreter" -m venv "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-compile -r "$requirements"
  touch "$environment/complete"
  compile_python_packages "$environment"
}

# compile_python_packages ENVIRONMENT: the tests start Python's torch many times, so its byte code is compiled once. A
# build does not run Python's torch and does without these minutes.
compile_python_packages() {
  in_setup tests || return 0
  [ ! -e "$1/compiled" ] || return 0
  say "compiling the byte code of the Python packages"
  "$1/bin/python" -m compileall -q -j 0 "$1/lib" >/dev/null || true  # some packages have files of other Python versions
  touch "$1/compiled"
}

# build_ddpprof PRESET [CMAKE OPTION]…: configures if needed and builds. The build runs test programs to list their tests:
# fixed_addresses is the command that starts it.
fixed_addresses=()
build_ddpprof() {
  local preset=$1
  shift
  (
    cd "$DDPPROF_ROOT"
    mkdir -p build
    say "configuring and building (preset $preset; log: build/$preset.log)"
    # A folder that was configured for another compiler starts anew.
    { { cmake --preset "$preset" "$@" || cmake --fresh --preset "$preset" "$@"; } && "${fixed_addresses[@]}" cmake --build --preset "$preset"; } >"build/$preset.log" 2>&1 || {
      tail -n 60 "build/$preset.log" >&2
      die "the build failed (whole log: build/$preset.log)"
    }
  )
}

# Downloads real images for trainings that are meant to learn: the digits of the scikit-learn package. Nothing else of
# this package is used.
install_digits() {
  local wheel=scikit_learn==1.9.1 folder
  if [ -n "${DDPPROF_DIGITS:-}" ]; then return 0; fi
  export DDPPROF_DIGITS=$cache/digits-1
  [ ! -e "$DDPPROF_DIGITS/complete" ] || return 0
  say "fetching the handwritten digits of the package scikit-learn (9 MB) into $DDPPROF_DIGITS"
  folder=$(mktemp -d)
  "$DDPPROF_TORCH_PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$folder" \
    "$wheel" || die "could not fetch $wheel; set DDPPROF_DIGITS to a folder that scripts/learning_rate/digits.py has filled"
  "$DDPPROF_TORCH_PYTHON" -B "$DDPPROF_ROOT/scripts/learning_rate/digits.py" "$folder"/*.whl "$DDPPROF_DIGITS"
  rm -rf "$folder"
  touch "$DDPPROF_DIGITS/complete"
}

# install_beside_torch VARIABLE NAME REQUIREMENTS: makes an environment NAME with the packages of a file, and sets VARIABLE to
# its interpreter, unless it is set. The environment imports torch and pandas from that of DDPPROF_TORCH_PYTHON, so that
# these are not installed twice.
install_beside_torch() {
  if [ -n "${!1:-}" ]; then return 0; fi
  local requirements=$DDPPROF_ROOT/$3 key environment site
  site=$("$DDPPROF_TORCH_PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
  key=$({ echo "$site"; cat "$requirements"; } | sha256sum | cut -c1-12)
  environment=$cache/$2-$key
  export "$1=$environment/bin/python"
  [ ! -e "$environment/complete" ] || return 0
  say "installing $(grep -c == "$requirements") Python packages of $3 into $environment"
  rm -rf "$environment"
  "$DDPPROF_TORCH_PYTHON" -m venv "$environment"
  echo "$site" >"$("$environment/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torch.pth"
  local pip=("$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps)
  {
    { ! grep -q ^setuptools== "$requirements" || "${pip[@]}" "$(grep ^setuptools== "$requirements")"; } &&
      DS_BUILD_OPS=0 "${pip[@]}" --no-build-isolation -r "$requirements"
  } || die "the packages of $3 could not be installed"
  touch "$environment/complete"
}

# The torch wheel takes minutes to download and unpack, so this runs while apt installs the other packages.
if command -v dpkg-query >/dev/null; then install_debian_packages python3 python3-venv ca-certificates; fi
(install_python_packages) &
python_packages=$!
install_debian_packages
wait "$python_packages" || die "the Python packages could not be installed"
install_python_packages  # sets DDPPROF_TORCH_PYTHON
if in_setup tests; then install_digits; fi
if in_setup clients; then install_beside_torch DDPPROF_CLIENTS_PYTHON clients tests/clients/requirements.txt; fi
if in_setup notebook; then install_beside_torch DDPPROF_NOTEBOOK_PYTHON notebook tests/python_package/requirements.txt; fi
