# Shared by .ci/run, .ci/nightly and .ci/check, which source it: installs the tools, runs tests and reports what they did.
# shellcheck shell=bash

readonly GOLANGCI_VERSION=v2.15.0
readonly GOVULNCHECK_VERSION=v1.8.0
readonly GOTESTSUM_VERSION=v1.13.0
readonly COMPOSE_VERSION=v2.16.2

TOOLS_DIR="${TOOLS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/switchback/tools}"
OUT="$(mktemp -d)"
mkdir -p "$TOOLS_DIR" "$OUT/events"
export PATH="$TOOLS_DIR:$PATH"

have() { command -v "$1" >/dev/null 2>&1; }

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# Compiled packages do not name the folder they were built in, so that every clone uses the same ones. Without this a run adds
# gigabytes to the build cache.
GOFLAGS="$(go env GOFLAGS) -trimpath"
export GOFLAGS

# What a run writes at most, with an empty build cache.
readonly ROOM_GB=12

# room sees to it that the disk has space for a run. A full disk ends a run at any place, with an error that does not say so.
room() {
  local folder free
  for folder in "$(go env GOCACHE)" "$OUT"; do
    free="$(free_gb "$folder")"
    if [ "$free" -lt "$ROOM_GB" ] && [ "$folder" != "$OUT" ]; then
      echo "$free GB are free in $folder, of $ROOM_GB: deleting the Go build cache, which is there"
      go clean -cache
      free="$(free_gb "$folder")"
    fi
    if [ "$free" -lt "$ROOM_GB" ]; then
      echo "only $free GB are free in $folder; a run needs $ROOM_GB"
      return 1
    fi
  done
  note "free on disk: $free GB"
}

# free_gb FOLDER prints the gigabytes that are free there. df -P is in POSIX.
free_gb() {
  mkdir -p "$1"
  df -Pk "$1" | awk 'NR == 2 { print int($4 / 1048576); found = 1 } END { exit !found }'
}

# debian PACKAGE... installs Debian packages, or says which ones are missing on another system.
debian() {
  if ! have apt-get; then
    echo "missing on this machine, and only Debian packages are installed by this script: install $* by hand"
    return 1
  fi
  as_root apt-get update -qq
  # RUNLEVEL keeps a package from starting its server.
  as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# need COMMAND PACKAGE installs the package if the command is missing.
need() { have "$1" || debian "$2"; }

# The tests start PostgreSQL servers of their own from the distribution's packages.
postgis_package() {
  if ls /usr/share/postgresql/*/extension/postgis.control >/dev/null 2>&1; then return; fi
  as_root apt-get update -qq
  local package
  package="$(apt-cache search --names-only '^postgresql-[0-9]+-postgis-3$' | sort -V | tail -n 1 | cut -d ' ' -f 1)"
  if [ -z "$package" ]; then
    echo "this distribution has no package postgresql-N-postgis-3"
    return 1
  fi
  debian "$package"
}

# The checker of alert rules is part of Debian's prometheus package. It is unpacked and not installed: no server starts.
promtool_package() {
  if have promtool; then return; fi
  if ! have apt-get; then
    echo "promtool is missing: install Prometheus by hand"
    return 1
  fi
  as_root apt-get update -qq
  mkdir -p "$OUT/prometheus" && chmod 777 "$OUT" "$OUT/prometheus"
  (cd "$OUT/prometheus" && apt-get download -qq prometheus && dpkg -x prometheus_*.deb .)
  install -m 755 "$OUT/prometheus/usr/bin/promtool" "$TOOLS_DIR/promtool"
}

# browser brings what the tests of the web console need.
browser() {
  have chromium || have google-chrome || debian chromium
  export SWITCHBACK_TEST_CHROMIUM=required
}

# console_packages brings what the console's tests take from npm, pinned by their hashes.
console_packages() {
  need npm npm
  mkdir -p "$OUT/npm"
  cp internal/console/testdata/npm/package.json internal/console/testdata/npm/package-lock.json "$OUT/npm/"
  npm ci --prefix "$OUT/npm" --ignore-scripts --no-audit --no-fund --loglevel=error
  export NPM_DIR="$OUT/npm/node_modules"
}

# site_tools installs what builds the site of the documentation, pinned by hashes, once per list.
site_tools() {
  SITE_TOOLS="$TOOLS_DIR/site-$( (python3 -V && cat docs/site/requirements.txt) | sha256sum | cut -c 1-12)"
  exec 8>"$TOOLS_DIR/.site.lock"
  flock 8 # another run may install them now
  if [ -e "$SITE_TOOLS/.complete" ]; then
    exec 8>&-
    return
  fi
  echo "installing $(grep -c == docs/site/requirements.txt) Python packages for the site"
  if ! python3 -c 'import ensurepip' 2>/dev/null; then debian python3-venv; fi
  python3 -m venv --clear "$SITE_TOOLS"
  "$SITE_TOOLS/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement docs/site/requirements.txt
  touch "$SITE_TOOLS/.complete"
  exec 8>&-
}

# go_tool NAME VERSION PACKAGE installs a Go program once per version.
go_tool() {
  local stamp
  stamp="$TOOLS_DIR/.$1-$2-$(go env GOVERSION)"
  if [ -x "$TOOLS_DIR/$1" ] && [ -e "$stamp" ]; then return; fi
  echo "installing $1 $2"
  GOBIN="$OUT/bin" GOFLAGS='' go install "$3@$2"
  mv "$OUT/bin/$(basename "$3")" "$TOOLS_DIR/$1"
  touch "$stamp"
}

# tools installs what .ci/run and .ci/nightly need, pinned.
tools() {
  need git git
  need cc gcc # the race detector links with it
  need jq jq
  need javac default-jdk-headless # Kafka runs on it
  need mvn maven
  postgis_package
  go_tool gotestsum "$GOTESTSUM_VERSION" gotest.tools/gotestsum
  go version
  java -version 2>&1 | head -n 1
}

# corpora finds the published conformance data.
corpora() {
  CORPORA_DIR="${CORPORA_DIR:-../shared/corpora}"
  if [ "$CORPORA_DIR" = none ]; then
    unset CORPORA_DIR
    note "conformance data left out: CORPORA_DIR=none"
    return
  fi
  if [ ! -d "$CORPORA_DIR" ]; then
    echo "the conformance data are not in $CORPORA_DIR: set CORPORA_DIR to their folder, or to none"
    return 1
  fi
  CORPORA_DIR="$(cd "$CORPORA_DIR" && pwd)"
  export CORPORA_DIR
  note "conformance data: $(find "$CORPORA_DIR" -mindepth 1 -maxdepth 1 -type d | wc -l) corpora"
}

# start_postgis starts one PostGIS for all tests, in the background, and names it to them. stop_background ends it.
BACKGROUND=()
start_postgis() {
  go build -o "$OUT/serve" ./internal/testkit/postgis/serve
  "$OUT/serve" "$OUT/dsn" &
  BACKGROUND+=("$!")
  until [ -e "$OUT/dsn" ]; do
    if ! kill -0 "${BACKGROUND[-1]}" 2>/dev/null; then
      echo "the PostGIS for the tests did not start"
      return 1
    fi
    sleep 0.2
  done
  SWITCHBACK_TEST_POSTGIS_DSN="$(cat "$OUT/dsn")"
  export SWITCHBACK_TEST_POSTGIS_DSN
}

# stop_background ends what runs in the background.
stop_background() {
  local pid
  for pid in "${BACKGROUND[@]}"; do
    kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null
  done
  BACKGROUND=()
}

# gotest NAME ARGS... runs go test and keeps its events in $OUT/events/NAME.json. Failed tests are printed last.
gotest() {
  local name="$1"
  shift
  gotestsum --format pkgname --format-hide-empty-pkg --hide-summary=skipped --jsonfile "$OUT/events/$name.json" -- "$@"
}

# unexpected_skips NAME fails if a test was skipped for another reason than its tier: a real part is missing.
unexpected_skips() {
  jq -rs '
    [.[] | select(.Test)] | group_by([.Package, .Test])[]
    | select(any(.[]; .Action == "skip"))
    | select([.[].Output // ""] | join("") | contains("not in this tier: ") or (env.CORPORA_DIR == null and contains("CORPORA_DIR")) | not)
    | "\(.[0].Package) \(.[0].Test): \([.[].Output // ""] | join("") | split("\n")[1] // "")"' "$OUT/events/$1.json" >"$OUT/skips.txt"
  if [ -s "$OUT/skips.txt" ]; then
    echo "skipped, although every real part is demanded:"
    cat "$OUT/skips.txt"
    return 1
  fi
}

# said NAME TEXT notes the first line that starts with TEXT among a run's output, such as which broker the tests ran on.
# It fails without one: then the tests did not run on the real part.
said() {
  local line
  line="$(jq -r --arg text "$2" 'select(.Output) | .Output | select(contains($text))' "$OUT/events/$1.json" | awk -v text="$2" 'NF && !found { found = 1; print substr($0, index($0, text)) }')"
  if [ -z "$line" ]; then
    echo "no test has said \"$2\": the tests of this step did not run on it"
    return 1
  fi
  note "$line"
}

# slowest prints the ten tests of all steps that took the longest.
slowest() {
  echo "The ten slowest tests:"
  jq -r 'select(.Test and (.Test | contains("/") | not) and (.Action == "pass" or .Action == "fail")) | "\(.Elapsed)\t\(.Test)\t\(.Package)"' "$OUT"/events/*.json |
    sort -rn | awk -F '\t' 'NR <= 10 { sub(/^github.com\/[^\/]*\/[^\/]*\//, "", $3); printf "%6.1f s  %s (%s)\n", $1, $2, $3 }'
}

# totals prints how many tests passed, failed and were skipped in all steps.
totals() {
  jq -rs '[.[] | select(.Test)] | "\(map(select(.Action == "pass")) | length) passed, \(map(select(.Action == "fail")) | length) failed, \(map(select(.Action == "skip")) | length) left to .ci/nightly or to another step"' "$OUT"/events/*.json
}
