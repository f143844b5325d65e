"""scripts/install-deps with a false dpkg-query, apt-get, sudo and id on the PATH."""
import shutil
import unittest

from tools import SOURCE, TemporaryTree, run

SCRIPT = SOURCE / "scripts/install-deps"
PACKAGES = run([SCRIPT, "--list"]).stdout.split()

# Answers for the packages listed in the file `installed`; like the real one it fails when it does
# not know a name.
DPKG_QUERY = """#!/bin/sh
shift 3
code=0
for package; do
    if grep -qx -- "$package" "$FAKE/installed"; then echo "installed $package"; else code=1; fi
done
exit $code
"""
APT_GET = """#!/bin/sh
echo "apt-get[$DEBIAN_FRONTEND] $*" >> "$FAKE/calls"
case "$*" in *update*) exit "$(cat "$FAKE/update")" ;; *) exit "$(cat "$FAKE/install")" ;; esac
"""
NPM = '#!/bin/sh\necho "npm $*" >> "$FAKE/calls"\nexit "$(cat "$FAKE/npm")"\n'
SUDO = '#!/bin/sh\necho "sudo $*" >> "$FAKE/calls"\nexec "$@"\n'


class InstallDeps(unittest.TestCase):
    def call(self, installed=(), uid=0, sudo=True, debian=True, update=0, install=0, npm=None,
             flags=()):
        """Returns the result and the lines that apt-get and sudo were called with."""
        files = {
            "installed": "\n".join(installed) + "\n",
            "calls": "",
            "update": str(update),
            "install": str(install),
            "bin/id": f"#!/bin/sh\necho {uid}\n",
        }
        if debian:
            files["bin/dpkg-query"] = DPKG_QUERY
            files["bin/apt-get"] = APT_GET
        if sudo:
            files["bin/sudo"] = SUDO
        if npm is not None:
            files["bin/npm"] = NPM
            files["npm"] = str(npm)
        with TemporaryTree(files) as root:
            for tool in ("sh", "sed", "env", "grep", "cat"):
                (root / "bin" / tool).symlink_to(shutil.which(tool))
            for file in (root / "bin").iterdir():
                if not file.is_symlink():
                    file.chmod(0o755)
            environment = {"PATH": str(root / "bin"), "FAKE": str(root), "HOME": str(root)}
            result = run([SCRIPT, *flags], env=environment)
            return result, (root / "calls").read_text().splitlines()

    def test_list(self):
        for name in ("gcc", "cmake", "libdnnl-dev", "libcmocka-dev", "python3"):
            self.assertIn(name, PACKAGES)
        self.assertNotIn("valgrind", PACKAGES)

    def test_nothing_missing_does_nothing(self):
        result, calls = self.call(installed=PACKAGES)
        self.assertEqual((result.returncode, result.stdout, result.stderr, calls), (0, "", "", []))

    def test_root_updates_and_installs_what_is_missing(self):
        result, calls = self.call(installed=[p for p in PACKAGES if p not in ("cmake", "gcc")])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(calls), 2, calls)
        self.assertTrue(calls[0].startswith("apt-get[noninteractive] "), calls)
        self.assertTrue(calls[0].endswith(" update"), calls)
        self.assertTrue(calls[1].endswith(" install -y --no-install-recommends gcc cmake"), calls)

    def test_everything_missing(self):
        _, calls = self.call()
        self.assertTrue(calls[1].endswith(" ".join(PACKAGES)), calls)

    def test_dev_adds_the_checkers(self):
        _, calls = self.call(installed=PACKAGES, flags=["--dev"])
        for name in ("clang-format", "clang-tidy", "cppcheck", "valgrind"):
            self.assertIn(f" {name}", calls[-1])

    def test_dev_installs_the_runtime_of_exported_networks(self):
        missing, _ = self.call(installed=PACKAGES, flags=["--dev"], install=100)
        self.assertEqual(missing.returncode, 0)
        for code, words in ((0, "installing onnxruntime-node"), (1, "will be skipped")):
            result, calls = self.call(installed=PACKAGES, flags=["--dev"], npm=code)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(words, result.stderr)
            self.assertRegex(calls[-1], r"^npm install --prefix .* onnxruntime-node@[0-9.]+$")
            self.assertNotIn(" npm", calls[-2])  # which it has
        result, calls = self.call(installed=PACKAGES, npm=0)
        self.assertEqual(calls, [])

    def test_sudo_when_not_root(self):
        result, calls = self.call(installed=PACKAGES[1:], uid=1000)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(calls[0].startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get"), calls)
        self.assertTrue(calls[1].startswith("apt-get[noninteractive]"), calls)

    def test_no_root_and_no_sudo_leaves_it_to_the_build(self):
        result, calls = self.call(installed=PACKAGES[1:], uid=1000, sudo=False)
        self.assertEqual((result.returncode, calls), (0, []))
        self.assertIn(f"installed: {PACKAGES[0]}\n", result.stderr)

    def test_not_debian_says_what_to_install(self):
        result, calls = self.call(debian=False)
        self.assertEqual((result.returncode, calls), (0, []))
        self.assertIn("libdnnl-dev", result.stderr)

    def test_no_network(self):
        result, calls = self.call(installed=PACKAGES[1:], update=100)
        self.assertEqual((result.returncode, len(calls)), (0, 2))
        result, calls = self.call(installed=PACKAGES[1:], update=100, install=100)
        self.assertEqual(result.returncode, 0)
        self.assertIn(f"could not install {PACKAGES[0]}", result.stderr)

    def test_wrong_flag(self):
        self.assertEqual(self.call(flags=["--nonsense"])[0].returncode, 2)


if __name__ == "__main__":
    unittest.main()
