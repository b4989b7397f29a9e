// Open dimensions get their sizes when compiling, by name.

// RUN: gantry run %s --dim batch=3 --fill ramp 2>/dev/null | FileCheck %s
// CHECK: f32[3,2] on CPU:0
// CHECK-NEXT: {{\[}}[ 1.  5.]
// CHECK-NEXT: [ 9. 13.]
// CHECK-NEXT: [17. 21.]]

// RUN: not gantry compile %s -o %t.gantry 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: gantry: error: {{.*}}dimensions.mlir:{{[0-9]+}}:1: the inputs have open dimensions ('input0': 'tensor<?x4xf32>'); give their sizes with --dim batch=N
// RUN: not gantry compile %s --dim batch=3 --dim time=4 -o %t.gantry 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: gantry: error: {{.*}} --dim time=4 names no open dimension of the graph
// RUN: gantry compile %s --dim batch=3 --stop-after=simplify -o %t.sized.mlir
// RUN: not gantry compile %t.sized.mlir --dim batch=3 -o %t.gantry 2>&1 | FileCheck %s --check-prefix=SIZED
// SIZED: gantry: error: {{.*}} --dim batch=3 names no open dimension of the graph
// RUN: not gantry compile %s --dim batch=some -o %t.gantry 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: gantry: error: --dim: expected NAME=N, N being a whole number from 0 on, got 'batch=some'

func.func @main(%x: tensor<?x4xf32> {gantry.dims = ["batch", ""]}) -> tensor<?x2xf32> {
  %0 = gantry.reshape %x : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
  %1 = gantry.reduce_sum %0 {axes = array<i64: 2>} : (tensor<?x2x2xf32>) -> tensor<?x2xf32>
  return %1 : tensor<?x2xf32>
}
