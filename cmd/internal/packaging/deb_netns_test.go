package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pfcswitch/cmd/internal/lab/labtest"
	"pfcswitch/dataplane/assert"
)

// installations run in a copy of this machine's files that ends with the test. A systemctl that notes its arguments
// stands for systemd's.
const installations = `
set -e
mount -t tmpfs tmpfs "$DIR"
mkdir "$DIR/upper" "$DIR/changes" "$DIR/system"
mount -t overlay overlay -o lowerdir=/,upperdir="$DIR/upper",workdir="$DIR/changes" "$DIR/system"
mkdir -p "$DIR/system/run/systemd/system" "$DIR/system/packages"
printf '#!/bin/sh\necho "systemctl $*"\n' >"$DIR/system/usr/local/bin/systemctl"
chmod +x "$DIR/system/usr/local/bin/systemctl"
printf 'path-include *\nforce-unsafe-io\n' >"$DIR/system/etc/dpkg/dpkg.cfg.d/zz-test"
rm -f "$DIR/system/var/lib/man-db/auto-update" # the index of all manuals
mount --bind "$PACKAGES" "$DIR/system/packages"
chroot "$DIR/system" /bin/sh -ec '
  mount -t proc proc /proc
  mount -t tmpfs tmpfs /dev && mknod -m 666 /dev/null c 1 3
  say() { echo "== $*"; "$@"; }
  say dpkg -i /packages/old.deb
  pfcswitch version
  echo "name: mine" >/etc/pfcswitch/mine.yaml
  mkdir -p /var/lib/private/pfcswitch /var/lib/pfcswitch /run/pfcswitch /etc/systemd/system/multi-user.target.wants
  touch /var/lib/pfcswitch/capture /run/pfcswitch/by-hand.sock
  ln -s /usr/lib/systemd/system/pfcswitch@.service /etc/systemd/system/multi-user.target.wants/pfcswitch@mine.service
  say dpkg -i /packages/new.deb
  dpkg-query -W -f "now \${Version} of \${Maintainer}\n" pfcswitch
  dpkg -L pfcswitch >files
  for file in man/man1/pfcswitch.1.gz man/man1/pfcswitch-lab-schema.1.gz bash-completion/completions/pfcswitch \
      zsh/vendor-completions/_pfcswitch fish/vendor_completions.d/pfcswitch.fish; do
    echo "/usr/share/$file"
  done >>files
  while read -r file; do [ -e "$file" ] || echo "missing: $file"; done <files
  zcat /usr/share/man/man1/pfcswitch-run.1.gz | grep -q "SIGHUP puts the file in force" || echo "missing: manual"
  if zcat /usr/share/man/man1/pfcswitch*.gz | grep -qF -e "=[]" -e "[=false]"; then echo "missing: plain words"; fi
  bash -c ". /usr/share/bash-completion/completions/pfcswitch; type __start_pfcswitch" >/dev/null || echo "missing: Tab"
  say dpkg -r pfcswitch
  ls -d /usr/bin/pfcswitch /etc/pfcswitch/mine.yaml /var/lib/private/pfcswitch 2>/dev/null || true
  say dpkg -P pfcswitch
  while read -r file; do [ -d "$file" ] || [ ! -e "$file" ] || echo "left: $file"; done <files
  ls -d /var/lib/private/pfcswitch /var/lib/pfcswitch /run/pfcswitch/* \
    /etc/systemd/system/multi-user.target.wants/pfcswitch@* 2>/dev/null || true
'
`

// release makes version 9.9.9 in a clone with the scripts of this tree: first under a wrong tag, then under its own.
const release = `set -e
git clone -q --depth 1 "file://$PWD" "$DIR/clone"
cp -a scripts "$DIR/clone/"
cd "$DIR/clone"
sed -i 's/^## \[Unreleased\]/&\n\n## [9.9.9] - 2026-11-28/' scripts/package/CHANGELOG.md
git -c user.name=a -c user.email=a@example.org commit -qam 9.9.9
git tag v9.9.8
! scripts/package/build.sh "$DIR" 2>&1 || echo "is built"
git tag -d v9.9.8 >/dev/null
git tag v9.9.9
package=$(scripts/package/build.sh "$DIR")
basename "$package"
dpkg-deb -x "$package" "$DIR/released"
"$DIR/released/usr/bin/pfcswitch" version | cut -d ' ' -f 1,2
zcat "$DIR/released/usr/share/doc/pfcswitch/changelog.gz" | head -n 1
`

// The package is as Debian wants it, and comes and goes without a trace but the user's own files.
func TestDebianPackage(t *testing.T) {
	labtest.Require(t)
	for _, program := range []string{"dpkg-deb", "lintian"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed (Debian: dpkg, lintian)", program)
		}
	}
	if labtest.OneUser(t) {
		t.Skip("dpkg installs as root, and this is an ordinary user")
	}
	dir := labtest.TempDir(t)
	script := func(text string) string {
		t.Helper()
		cmd := exec.Command("unshare", "-m", "bash", "-c", text)
		cmd.Env = append(os.Environ(), "DEBFULLNAME=", "DEBEMAIL=", "PACKAGES="+dir, "DIR="+labtest.TempDir(t))
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		assert.MustBeTrue(t, err == nil, "%v\n%s", err, out)
		return string(out)
	}
	path := strings.TrimSpace(script(`scripts/package/build.sh "$PACKAGES"`))
	script(`set -e; mv "$PACKAGES/` + filepath.Base(path) + `" "$PACKAGES/new.deb"; dpkg-deb -R "$PACKAGES/new.deb" "$PACKAGES/old"
		sed -i 's/^Version: .*/Version: 0.0.1/' "$PACKAGES/old/DEBIAN/control"
		dpkg-deb -b -Znone "$PACKAGES/old" "$PACKAGES/old.deb"; rm -r "$PACKAGES/old"`)
	version := strings.Split(filepath.Base(path), "_")[1]
	t.Run("maintained", func(t *testing.T) {
		t.Parallel()
		said := script(`set -e; export DEBFULLNAME="Ada Byron" DEBEMAIL=ada@example.org
			package=$(scripts/package/build.sh "$DIR"); dpkg-deb -f "$package" Maintainer
			dpkg-deb --fsys-tarfile "$package" | tar xO ./usr/share/doc/pfcswitch/changelog.gz | zcat | grep -m1 "^ -- "`)
		assert.True(t, strings.HasPrefix(said, "Ada Byron <ada@example.org>\n -- Ada Byron <ada@example.org>  "),
			"by DEBFULLNAME and DEBEMAIL the maintainer is\n%s", said)
	})
	t.Run("released", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
			t.Skip("this is not a clone, which alone has tags")
		}
		architecture := strings.Split(filepath.Base(path), "_")[2]
		assert.Equal(t, script(release), "the commit has the tag v9.9.8 and the newest version of CHANGELOG.md is "+
			"9.9.9: give both the same\npfcswitch_9.9.9_"+architecture+"\npfcswitch v9.9.9\n"+
			"pfcswitch (9.9.9) unstable; urgency=medium\n", "a release")
	})
	t.Run("lintian", func(t *testing.T) {
		t.Parallel()
		out, err := exec.Command("lintian", "--allow-root", "--fail-on", "error,warning",
			filepath.Join(dir, "new.deb")).CombinedOutput()
		assert.True(t, err == nil, "lintian: %v\n%s", err, out)
		t.Logf("%s", out)
	})
	t.Run("installed", func(t *testing.T) {
		t.Parallel()
		steps := strings.Split(script(installations), "== ")
		assert.MustEqual(t, len(steps), 5, "%q", steps)
		for i, want := range []string{"pfcswitch v" + version,
			"now " + version + " of pfcswitch authors <noreply@example.org>\n",
			"systemctl stop pfcswitch@*.service\n", "systemctl daemon-reload\n"} {
			assert.Contains(t, steps[i+1], want, "step %d", i+1)
		}
		kept := "/etc/pfcswitch/mine.yaml\n"
		assert.True(t, !strings.Contains(steps[2], "missing: ") && !strings.Contains(steps[2], "systemctl stop") &&
			strings.Contains(steps[3], kept+"/var/lib/private/pfcswitch\n") && !strings.Contains(steps[3], "/usr/bin"),
			"upgraded and removed:\n%s%s", steps[2], steps[3])
		assert.True(t, !strings.Contains(steps[4], "left: ") && !strings.Contains(steps[4], "/var/lib/") &&
			!strings.Contains(steps[4], "wants/") && strings.Contains(steps[4], "/run/pfcswitch/by-hand.sock\n"),
			"purged:\n%s", steps[4])
		t.Logf("%s", steps)
	})
}
