"""The checker of ELF files has to find search paths that depend on the current folder."""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import check_elf


def library(runpath, needed="libc.so.6", tag=29):
    """A shared library with nothing in it but what the loader reads of it; tag 15 makes an RPATH of it."""
    strings = b"\0" + runpath.encode() + b"\0" + needed.encode() + b"\0"
    header, segment, entry = 64, 56, 16
    table = header + 2 * segment
    text = table + 5 * entry
    dynamic = [(1, len(runpath) + 2), (tag, 1), (5, text), (10, len(strings)), (0, 0)]
    size = text + len(strings)
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    return b"".join([
        identity, struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, header, 0, 0, header, segment, 2, 64, 0, 0),
        struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, size, size, 4096),
        struct.pack("<IIQQQQQQ", 2, 4, table, table, table, 5 * entry, 5 * entry, 8),
        *(struct.pack("<QQ", *each) for each in dynamic), strings])


@unittest.skipUnless(shutil.which("readelf"), "readelf is missing: apt-get install binutils")
class CheckElfTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def offences(self, *arguments, **named):
        (self.folder / "lib.so").write_bytes(library(*arguments, **named))
        count, lines = check_elf.check_places(self.folder)
        self.assertEqual(count, 1)
        return lines

    def test_absolute_folders_and_places_beside_the_file(self):
        for path in ("/usr/lib/llvm-22/lib", "$ORIGIN", "$ORIGIN/../lib:/opt/x", "${ORIGIN}/.."):
            self.assertEqual(self.offences(path), [], path)

    def test_the_current_folder_in_each_of_its_forms(self):
        for path, entry in ((":::::", ""), ("", ""), ("/usr/lib:", ""), (":/usr/lib", ""), ("/a::/b", ""), (".", "."),
                            ("lib", "lib"), ("/a:../lib", "../lib"), ("$ORIGINAL/x", "$ORIGINAL/x"), ("$LIB", "$LIB")):
            for kind, tag in (("RUNPATH", 29), ("RPATH", 15)):
                self.assertEqual(self.offences(path, tag=tag), [
                    f"{self.folder}/lib.so: error: the entry '{entry}' of its {kind} [{path}] is in the current folder; "
                    "expected absolute folders, or $ORIGIN"], path)

    def test_names_with_folders(self):
        self.assertEqual(self.offences("/a", needed="/opt/libx.so"), [])
        self.assertEqual(self.offences("/a", needed="lib/libx.so"), [
            f"{self.folder}/lib.so: error: needs 'lib/libx.so', which is in the current folder; expected a name, or an "
            "absolute path"])

    def test_a_folder_without_programs_is_an_error(self):
        (self.folder / "text").write_text("\x7fELL")
        done = subprocess.run([sys.executable, check_elf.__file__, str(self.folder)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.folder}: error: no program and no library is there", done.stdout)


if __name__ == "__main__":
    unittest.main()
