// The largest size of an open dimension that the limits have room for; that, and one more, are compiled.
// RUN: gantry compile %s --devices=CPU:0@64KiB --largest-batch=n -o %t.gantry 2>&1 | FileCheck %s
// CHECK: remark: the largest 'n' that fits is 7; with 8, largest-batch.mlir:{{[0-9]+}}:{{[0-9]+}}: the plan needs 64.{{[0-9]+}} KiB on '/job:localhost/replica:0/task:0/device:CPU:0', the limit is 64 KiB
// RUN: gantry compile %s --devices=CPU:0@64KiB --dim n=7 -o %t.gantry
// RUN: bash -c "gantry compile %s --devices=CPU:0@64KiB --dim n=8 -o %t.gantry; test \$? = 3"

// Not even one fits: the error of that.
// RUN: bash -c "gantry compile %s --devices=CPU:0@7KiB --largest-batch=n -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: {{.*}}: the plan needs 8 KiB on {{.*}}, the limit is 7 KiB

// Errors of another kind are told as they are.
// RUN: not gantry compile %s --devices=CPU:0@64KiB --largest-batch=m -o %t.gantry 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: {{.*}}: the inputs have open dimensions ('x': 'tensor<?x1024xf32>'); give their sizes with --dim n=N

// RUN: not gantry compile %s --largest-batch=n -o %t.gantry 2>&1 | FileCheck %s --check-prefix=ANY
// ANY: error: --largest-batch n: sizes up to 2^20 fit; give a device a limit, as in --devices=CPU:0@1GiB
func.func @main(%x: tensor<?x1024xf32> {gantry.name = "x", gantry.dims = ["n", ""]}) -> (tensor<?xf32> {gantry.name = "y"}) {
  %0 = gantry.cumsum %x {axis = 1 : i64} : (tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %1 = gantry.reduce_sum %0 {axes = array<i64: 1>} : (tensor<?x1024xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}
