// Groups of ops over the rows of one tensor read it once: what one op has of an element the next has, too.

// RUN: gantry-opt %s --gantry-cuda-kernel-pipeline | FileCheck %s --implicit-check-not=memref.alloc --implicit-check-not=gpu.barrier

// A norm as exporters write it. Mean, variance and result share the four elements of a lane.
// CHECK-LABEL: func.func private @norm(
// CHECK-COUNT-4: memref.load
// CHECK-NOT: memref.load
// CHECK-COUNT-3: gpu.shuffle
// CHECK-NOT: memref.load
// CHECK-COUNT-3: gpu.shuffle
// CHECK-NOT: memref.load
// CHECK-COUNT-4: memref.store
gantry.kernel @norm {
^bb0(%x: tensor<64x32xf32>):
  %mean = gantry.reduce_mean %x {axes = array<i64: 1>, keep_dims} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %centred = gantry.sub %x, %mean : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %square = gantry.mul %centred, %centred : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %variance = gantry.reduce_mean %square {axes = array<i64: 1>, keep_dims} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %deviation = gantry.sqrt %variance : (tensor<64x1xf32>) -> tensor<64x1xf32>
  %y = gantry.div %centred, %deviation : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  gantry.yield %y : tensor<64x32xf32>
}

// Scores of attention: scaled, masked, exponentiated once for each element. The mask is read along its row.
// CHECK-LABEL: func.func private @scores(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<2x3x8x32xf32>{{[^%]*}}%[[MASK:[a-z0-9]*]]: memref<2x1x1x32xf32>
// CHECK-COUNT-4: memref.load %[[MASK]]
// CHECK-NOT: memref.load %[[MASK]]
// CHECK-COUNT-4: math.exp
// CHECK-NOT: math.exp
// CHECK: arith.divf
// CHECK-NOT: arith.divf
// CHECK-COUNT-4: arith.mulf
// CHECK: return
gantry.kernel @scores {
^bb0(%x: tensor<2x3x8x32xf32>, %mask: tensor<2x1x1x32xf32>, %scale: tensor<f32>):
  %0 = gantry.mul %x, %scale : (tensor<2x3x8x32xf32>, tensor<f32>) -> tensor<2x3x8x32xf32>
  %1 = gantry.add %0, %mask : (tensor<2x3x8x32xf32>, tensor<2x1x1x32xf32>) -> tensor<2x3x8x32xf32>
  %2 = gantry.softmax %1 {axis = 3 : i64} : (tensor<2x3x8x32xf32>) -> tensor<2x3x8x32xf32>
  gantry.yield %2 : tensor<2x3x8x32xf32>
}
