// Shape rules with open dimensions: what is known stays known, what is open stays open, and a result
// may be declared less precisely than it is inferred.

// RUN: gantry-opt %s | FileCheck %s
// RUN: gantry-opt %s --gantry-specialize-shapes="dims=arg0:0=5" --split-input-file | FileCheck %s --check-prefix=SIZED

// A known size meets an open one as itself, 1 meets it as open.
// SIZED-LABEL: @broadcast(
// SIZED: gantry.add {{.*}} -> tensor<5x3xf32>
// SIZED: gantry.add {{.*}} -> tensor<5x4xf32>
// CHECK-LABEL: @broadcast(
// CHECK: -> tensor<?x3xf32>
func.func @broadcast(%x: tensor<?x3xf32>, %y: tensor<1x3xf32>, %z: tensor<5x1x4xf32>) {
  %0 = gantry.add %x, %y : (tensor<?x3xf32>, tensor<1x3xf32>) -> tensor<?x3xf32>
  %1 = gantry.reduce_max %x {axes = array<i64: 1>, keep_dims} : (tensor<?x3xf32>) -> tensor<?x1xf32>
  %2 = gantry.reduce_max %z {axes = array<i64: 1>} : (tensor<5x1x4xf32>) -> tensor<5x4xf32>
  %3 = gantry.add %1, %2 : (tensor<?x1xf32>, tensor<5x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

// SIZED-LABEL: @contractions(
// SIZED: gantry.matmul {{.*}} -> tensor<5x2xf32>
// SIZED: gantry.conv {{.*}} -> tensor<5x6x4xf32>
// CHECK-LABEL: @contractions(
// CHECK: gantry.matmul {{.*}} -> tensor<?x2xf32>
// CHECK: gantry.conv {{.*}} -> tensor<?x6x4xf32>
func.func @contractions(%x: tensor<?x8xf32>, %w: tensor<8x2xf32>, %f: tensor<6x2x3xf32>) {
  %0 = gantry.matmul %x, %w : (tensor<?x8xf32>, tensor<8x2xf32>) -> tensor<?x2xf32>
  %c = gantry.constant dense<[[0], [1]]> : tensor<2x1xi64>
  %1 = gantry.gather %x, %c {axis = 1 : i64} : (tensor<?x8xf32>, tensor<2x1xi64>) -> tensor<?x2x1xf32>
  %2 = gantry.concat %1, %1, %1 {axis = 2 : i64} : (tensor<?x2x1xf32>, tensor<?x2x1xf32>, tensor<?x2x1xf32>) -> tensor<?x2x3xf32>
  %3 = gantry.concat %2, %2 {axis = 2 : i64} : (tensor<?x2x3xf32>, tensor<?x2x3xf32>) -> tensor<?x2x6xf32>
  %4 = gantry.conv %3, %f {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<?x2x6xf32>, tensor<6x2x3xf32>) -> tensor<?x6x4xf32>
  return
}

// -----

// Windows over an open dimension: its size decides the result's.
// SIZED-LABEL: @windows(
// SIZED: gantry.reshape {{.*}} -> tensor<1x1x5xf32>
// SIZED: gantry.max_pool {{.*}} -> tensor<1x1x2xf32>
// SIZED: gantry.max_pool {{.*}}ceil_mode{{.*}} -> tensor<1x1x3xf32>
// SIZED: gantry.pad {{.*}} -> tensor<7xf32>
// SIZED: return {{.*}} : tensor<1x1x2xf32>
// CHECK-LABEL: @windows(
func.func @windows(%x: tensor<?xf32>) -> tensor<1x1x?xf32> {
  %0 = gantry.reshape %x : (tensor<?xf32>) -> tensor<1x1x5xf32>
  %1 = gantry.max_pool %0 {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x1x5xf32>) -> tensor<1x1x?xf32>
  %2 = gantry.max_pool %0 {ceil_mode, window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x1x5xf32>) -> tensor<1x1x?xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %3 = gantry.pad %x, %zero {low = array<i64: 1>, high = array<i64: 1>, mode = #gantry<pad_mode edge>} : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  return %1 : tensor<1x1x?xf32>
}

// -----

// SIZED-LABEL: @selection(
// SIZED: gantry.top_k {{.*}} -> (tensor<5x2xf32>, tensor<5x2xi64>)
// SIZED: gantry.one_hot {{.*}} -> tensor<5x2x3xf32>
// SIZED: gantry.transpose {{.*}} -> tensor<4x5xf32>
// SIZED: gantry.cast {{.*}} -> tensor<4x5xi32>
// CHECK-LABEL: @selection(
func.func @selection(%x: tensor<?x4xf32>, %on: tensor<f32>, %off: tensor<f32>) {
  %v, %i = gantry.top_k %x {axis = 1 : i64, k = 2 : i64} : (tensor<?x4xf32>) -> (tensor<?x2xf32>, tensor<?x2xi64>)
  %0 = gantry.one_hot %i, %off, %on {axis = 2 : i64, depth = 3 : i64} : (tensor<?x2xi64>, tensor<f32>, tensor<f32>) -> tensor<?x2x3xf32>
  %1 = gantry.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %2 = gantry.cast %1 : (tensor<4x?xf32>) -> tensor<4x?xi32>
  return
}
