#!/usr/bin/env bash
# Builds the Debian package, for processors like this machine's, and prints its path:
#
#   scripts/package/build.sh FOLDER
#
# Its maintainer is who builds it, by DEBFULLNAME and DEBEMAIL, as for the tools of Debian. Without them the address is
# one of a domain that nobody can have. The version is the newest of CHANGELOG.md; where the commit has no tag, time and
# hash of the commit follow. The tag of a release has to be that version.
set -euo pipefail
output=$(mkdir -p "${1:?write build.sh FOLDER}" && cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
umask 022 # of what the package installs

version=$(sed -n 's/^## \[\([0-9][0-9.]*\)\].*/\1/p' scripts/package/CHANGELOG.md | head -n 1)
newest=$version
maintainer="${DEBFULLNAME:-pfcswitch authors} <${DEBEMAIL:-noreply@example.org}>"
date=$(date -u +%Y-%m-%d)
if commit=$(git rev-parse --short=8 HEAD 2>/dev/null); then # not in the source of a release without its history
  date=$(git log -1 --format=%cs)
  tags=$(git tag --points-at HEAD --list 'v[0-9]*')
  if [[ -z $tags ]]; then
    version+=+$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S).$commit
  elif ! grep -qxF "v$version" <<<"$tags"; then
    echo "the commit has the tag" $tags "and the newest version of CHANGELOG.md is $version: give both the same" >&2
    exit 1
  fi
fi
SOURCE_DATE_EPOCH=$(date -ud "$date" +%s)
architecture=$(dpkg --print-architecture)
export SOURCE_DATE_EPOCH # of the man pages and the archive: the same source makes the same package

program=$tree/usr/bin/pfcswitch
docs=$tree/usr/share/doc/pfcswitch
man=$tree/usr/share/man/man1
mkdir -p "$docs" "$man" "$tree/etc/pfcswitch"
release="-X pfcswitch/cmd/internal/api.release=v$version"
CGO_ENABLED=0 go build -trimpath -buildvcs=auto -ldflags="-s -w $release" -o "$program" ./cmd/pfcswitch
install -D -m 644 -t "$tree/usr/lib/systemd/system" scripts/systemd/pfcswitch@.service
install -D -m 644 scripts/package/lintian-overrides "$tree/usr/share/lintian/overrides/pfcswitch"
install -m 644 scripts/package/copyright "$docs/copyright"

CGO_ENABLED=0 go build -trimpath -tags man -ldflags="$release" -o "$work/man" ./cmd/pfcswitch
"$work/man" man "$man"
gzip -9n "$man"/*
complete() { install -D -m 644 <("$program" completion "$1") "$tree/usr/share/$2"; }
complete bash bash-completion/completions/pfcswitch
complete zsh zsh/vendor-completions/_pfcswitch
complete fish fish/vendor_completions.d/pfcswitch.fish

# debian_changelog writes CHANGELOG.md as Debian has it; what is not released yet belongs to a package of a commit.
debian_changelog() {
  local today=
  [[ $version == "$newest" ]] || today="$version $date"
  awk -v today="$today" -v by="$maintainer" '
    function signed(  command, text) {
      if (day) { command = "date -uRd " day; command | getline text; close(command); printf "\n -- %s  %s\n\n", by, text }
    }
    /^## / {
      signed(); gsub(/[][]/, ""); name = $2; day = $4
      if (name == "Unreleased") { split(today, of, " "); name = of[1]; day = of[2] }
      if (day) printf "pfcswitch (%s) unstable; urgency=medium\n\n", name
    }
    day && /^- / { print "  * " substr($0, 3) }
    day && /^  / { print "  " $0 }
    END { signed() }' scripts/package/CHANGELOG.md
}
debian_changelog | gzip -9n >"$docs/changelog.gz"

# The licences of what the program is linked of ask for their texts to come with it.
{
  printf '== Go %s\n\n' "$(go env GOVERSION)"
  cat "$(go env GOROOT)/LICENSE"
  go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/pfcswitch | sort -u |
    while read -r path of folder; do
      printf '\n== %s %s\n\n' "$path" "$of"
      cat "$folder"/{LICENSE,License,COPYING,NOTICE}* 2>/dev/null || true # most have one of these
    done
} | gzip -9n >"$docs/third-party-notices.gz"

nfpm=$(go -C scripts/package tool -n nfpm)
VERSION=$version MAINTAINER=$maintainer ARCH=$architecture TREE=$tree "$nfpm" package --config scripts/package/nfpm.yaml --packager deb \
  --target "$output" >"$work/nfpm.log" || { cat "$work/nfpm.log" >&2; exit 1; }
echo "$output/pfcswitch_${version}_$architecture.deb"
