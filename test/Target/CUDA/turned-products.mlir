// Products read matrices of heads that lie side by side where they are, and write them so.
// RUN: gantry-opt %s --gantry-cuda-kernel-pipeline | FileCheck %s --implicit-check-not=tensor.
// RUN: gantry-opt %s --gantry-cuda-kernel-pipeline | FileCheck %s --check-prefix=PLACES

// Rows of either operand are 256 elements apart, heads 64: both are read four terms at a time.
// CHECK-LABEL: func.func private @scores(
// CHECK-SAME: %[[Q:.*]]: memref<128x4x64xf32> {{{.*}}}, %[[K:.*]]: memref<128x4x64xf32>
// CHECK: %[[QS:[^ ]*]] = memref.reinterpret_cast %[[Q]] to offset: [0], sizes: [32768]
// CHECK: %[[KS:[^ ]*]] = memref.reinterpret_cast %[[K]] to offset: [0], sizes: [32768]
// CHECK: vector.load %[[QS]][{{.*}}] {alignment = 16 : i64} : memref<32768xf32>, vector<4xf32>
// CHECK: vector.load %[[KS]][{{.*}}] {alignment = 16 : i64} : memref<32768xf32>, vector<4xf32>
// CHECK: gpu.barrier
gantry.kernel @scores {
^bb0(%q: tensor<128x4x64xf32>, %k: tensor<128x4x64xf32>):
  %0 = gantry.transpose %q {permutation = array<i64: 1, 0, 2>} : (tensor<128x4x64xf32>) -> tensor<4x128x64xf32>
  %1 = gantry.transpose %k {permutation = array<i64: 1, 2, 0>} : (tensor<128x4x64xf32>) -> tensor<4x64x128xf32>
  %2 = gantry.matmul %0, %1 : (tensor<4x128x64xf32>, tensor<4x64x128xf32>) -> tensor<4x128x128xf32>
  gantry.yield %2 : tensor<4x128x128xf32>
}

// The result of row and head goes to row * 256 + head * 64.
// PLACES-LABEL: func.func private @context(
// PLACES-SAME: %[[R:[^ ]*]]: memref<128x4x64xf32> {{{[^}]*}}}) attributes
// PLACES: %[[LINE:.*]] = arith.muli %[[HEAD:.*]], %c64
// PLACES: vector.load {{.*}}memref<32768xf32>, vector<4xf32>
// PLACES: gpu.barrier
// PLACES: %[[IN_HEAD:.*]] = arith.addi %[[LINE]], %{{.*}} overflow
// PLACES-NEXT: %[[ROW:.*]] = arith.muli %{{.*}}, %c256
// PLACES-NEXT: %[[PLACE:.*]] = arith.addi %[[ROW]], %[[IN_HEAD]] overflow
// PLACES: %[[RESULT:[^ ]*]] = memref.reinterpret_cast %[[R]]
// PLACES-NEXT: memref.store %{{.*}}, %[[RESULT]][%[[PLACE]]]
gantry.kernel @context {
^bb0(%w: tensor<4x128x128xf32>, %v: tensor<128x4x64xf32>):
  %0 = gantry.transpose %v {permutation = array<i64: 1, 0, 2>} : (tensor<128x4x64xf32>) -> tensor<4x128x64xf32>
  %1 = gantry.matmul %w, %0 : (tensor<4x128x128xf32>, tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
  %2 = gantry.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<4x128x64xf32>) -> tensor<128x4x64xf32>
  gantry.yield %2 : tensor<128x4x64xf32>
}
