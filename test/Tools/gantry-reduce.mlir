// gantry-reduce keeps what a program calls interesting and throws away the rest: ops give way to
// their operands or to zeros, scopes to their bodies.

// RUN: gantry-reduce --help | FileCheck %s --check-prefix=HELP
// HELP: Makes a graph that fails small
// HELP: --test=<PROGRAM>

// RUN: gantry-reduce %s --test=%python --test-arg=%S/Inputs/interesting.py --test-arg=gantry.cumsum | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<4x4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = gantry.cumsum %[[X]]
// CHECK-NEXT: return %[[C]], %[[Y]]

// Whatever the word is, what is left has it and is valid.
// RUN: %python %S/Inputs/reduce_words.py gantry-reduce %s

// Nothing is left of a graph of which nothing is wanted.
// RUN: gantry-reduce %s --test=%python --test-arg=%S/Inputs/interesting.py --test-arg=module | FileCheck %s --check-prefix=NONE
// NONE: module {
// NONE-NEXT: }

// RUN: not gantry-reduce %s --test=%python --test-arg=%S/Inputs/interesting.py --test-arg=nothing.of.it 2>&1 | FileCheck %s --check-prefix=DULL
// DULL: gantry-reduce: error: the graph is not interesting as it is: '{{.*}}' exits with 0
// RUN: not gantry-reduce %s --test=/nonexistent/program 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: gantry-reduce: error: cannot run '/nonexistent/program': No such file or directory
// RUN: not gantry-reduce %s --test=no-such-program-here 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: gantry-reduce: error: there is no program 'no-such-program-here'
// RUN: not gantry-reduce %s --test=%python --test-arg=-c --test-arg="import sys; sys.exit(3)" 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: gantry-reduce: error: '{{.*}}' ended with exit status 3, expected 0 or 1

func.func @main(%x: tensor<4x4xf32>, %y: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>) {
  %0 = gantry.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = gantry.matmul %0, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.on "CPU:0" -> (tensor<4x4xf32>) {
    %a = gantry.exp %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %b = gantry.cumsum %a {axis = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    gantry.yield %b : tensor<4x4xf32>
  }
  %3 = gantry.add %2, %y : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %4 = gantry.exp %y : (tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.sigmoid %4 : (tensor<4xf32>) -> tensor<4xf32>
  return %3, %5 : tensor<4x4xf32>, tensor<4xf32>
}

func.func private @helper(%x: tensor<2x2xi64>) -> tensor<2x2xi64> {
  %c = arith.constant 3 : index
  %0 = gantry.mul %x, %x : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}
