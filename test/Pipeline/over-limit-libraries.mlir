// A library's workspace that nobody has asked for is the first thing that goes where memory is short.

// RUN: not gantry compile %s --devices=CPU:0,GPU:0@26MiB --gpu-arch=sm_90 --cubins=off -o %t.none 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: the plan needs 28 MiB on {{.*}}GPU:0', the limit is 26 MiB: {{.*}} or have a plan made that fits but may take longer (--over-limit=fix)
// REFUSED: 4 MiB: 'scratch'

// RUN: gantry compile %s --devices=CPU:0,GPU:0@26MiB --gpu-arch=sm_90 --cubins=off --over-limit=fix -v -o %t.gantry 2>&1 | FileCheck %s
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=PLAN
// CHECK: over the limit: products of a library, whose speed no prediction knows, are computed by kernels of the plan: saves 4 MiB
// PLAN-NOT: library =
// PLAN: plan.kernel @matmul_add_0

// One that is named stays.
// RUN: not gantry compile %s --devices=CPU:0,GPU:0@26MiB --gpu-arch=sm_90 --cubins=off --over-limit=fix --libraries=cublaslt -o %t.none 2>&1 | FileCheck %s --check-prefix=NAMED
// NAMED: the plan needs 28 MiB

// And where there is room it does, too.
// RUN: gantry compile %s --devices=CPU:0,GPU:0@29MiB --gpu-arch=sm_90 --cubins=off --over-limit=fix -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=ROOM
// ROOM: library = "cublasLt"

func.func @main(%x: tensor<2048x2048xbf16>, %w: tensor<2048x2048xbf16>, %b: tensor<2048xbf16>) -> tensor<2048x2048xbf16> {
  %0 = gantry.matmul %x, %w : (tensor<2048x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<2048x2048xbf16>
  %1 = gantry.add %0, %b : (tensor<2048x2048xbf16>, tensor<2048xbf16>) -> tensor<2048x2048xbf16>
  return %1 : tensor<2048x2048xbf16>
}
