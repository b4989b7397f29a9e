"""The layer checker has to refuse what it is there for; each case is one bad or good include."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import check_layers


def offences(path, *lines):
    return [message for _, message in
            check_layers.offences_in(pathlib.PurePosixPath(path), "\n".join(lines))]


class CheckLayersTest(unittest.TestCase):
    def test_allowed_edges_pass(self):
        self.assertEqual(offences("lib/Plan/Reader.cpp", '#include "gantry/Plan/Reader.h"',
                                  '#include "gantry/Support/Status.h"', "#include <vector>"), [])
        self.assertEqual(offences("tools/gantry/Run.cpp", '#include "gantry/Runtime/Session.h"',
                                  '#include "gantry-c/compiler.h"'), [])
        self.assertEqual(offences("lib/Transforms/Fuse/FuseGroups.cpp",
                                  '#include "mlir/IR/Operation.h"'), [])

    def test_compiler_may_not_include_runtime(self):
        self.assertIn("may not include Runtime",
                      offences("lib/Target/CPU/X.cpp", '#include "gantry/Runtime/Session.h"')[0])

    def test_runtime_and_shared_may_not_include_the_compiler(self):
        self.assertTrue(offences("include/gantry/Runtime/Session.h",
                                 '#include "gantry/Dialect/Gantry/IR/Gantry.h"'))
        self.assertTrue(offences("lib/Plan/X.cpp", '#include "gantry/Runtime/Session.h"'))

    def test_mlir_stays_in_the_compiler(self):
        for path in ("lib/Runtime/X.cpp", "lib/Support/X.cpp", "tools/gantry/Main.cpp",
                     "lib/CAPI/Runtime.cpp"):
            self.assertIn("only the compiler knows MLIR",
                          offences(path, '#include "llvm/ADT/StringRef.h"')[0])
        self.assertEqual(offences("lib/CAPI/Compiler.cpp", '#include "mlir/IR/MLIRContext.h"'), [])

    def test_relative_and_cuda_includes_are_refused(self):
        self.assertIn("relative include",
                      offences("lib/Plan/X.cpp", '#include "../Device/Name.h"')[0])
        self.assertIn("our own words",
                      offences("lib/Runtime/drivers/cuda/X.cpp", "#include <cuda.h>")[0])

    def test_passes_see_what_a_target_is_and_no_target(self):
        self.assertEqual(offences("lib/Transforms/Fuse/X.cpp",
                                  '#include "gantry/Target/Target.h"'), [])
        self.assertIn("Transforms may not include Target/CPU",
                      offences("lib/Transforms/Fuse/X.cpp",
                               '#include "gantry/Target/CPU/CPUTarget.h"')[0])
        self.assertTrue(offences("lib/Target/Plan/X.cpp",
                                 '#include "gantry/Target/CPU/CPUTarget.h"'))
        self.assertTrue(offences("lib/Linalg/X.cpp", '#include "gantry/Target/CPU/Passes.h"'))

    def test_unknown_layer_is_named(self):
        self.assertIn("'Misc' is not in the table", offences("lib/Misc/X.cpp", "")[0])

    def test_tree_without_sources_fails(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(check_layers.main([empty]), 1)

    def test_tablegen_includes_are_read(self):
        self.assertTrue(offences("include/gantry/Dialect/Gantry/IR/X.td",
                                 'include "gantry/Pipeline/Passes.td"'))


if __name__ == "__main__":
    unittest.main()
