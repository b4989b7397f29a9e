// RUN: gantry-opt %s --gantry-emit-gpu-lines | FileCheck %s

// A thread takes a line and goes along it in order; what is summed is f32, what is stored the type of the
// op.
// CHECK-LABEL: func.func private @running(
// CHECK-SAME: %[[X:.*]]: memref<4x9xf16>{{.*}}, %[[Y:.*]]: memref<4x9xf16>
// CHECK-SAME: gpu.known_grid_size = array<i32: 1, 1, 1>
// CHECK: scf.if
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c9{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32) {
// CHECK: %[[AT:.*]] = memref.load %[[X]]
// CHECK: %[[WIDE:.*]] = arith.extf %[[AT]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[WIDE]]
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: scf.yield %[[NEXT]]
gantry.kernel @running {
^bb0(%x: tensor<4x9xf16>):
  %0 = gantry.cumsum %x {axis = 1 : i64} : (tensor<4x9xf16>) -> tensor<4x9xf16>
  gantry.yield %0 : tensor<4x9xf16>
}

// Others stay kernels.
// CHECK: gantry.kernel @other
gantry.kernel @other {
^bb0(%x: tensor<4xf32>):
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  gantry.yield %0 : tensor<4xf32>
}
