// Attributes of the dialect, those that any op may carry, and the flags of ops that are off in most
// graphs.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s

// CHECK: module attributes {gantry.topology = #gantry.topology<[<"/job:localhost/replica:0/task:0/device:CPU:0">, <"GPU:1">]>}
module attributes {gantry.topology = #gantry.topology<[
    #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">, #gantry.device<"/device:GPU:1">]>} {

// Ops of other dialects may carry a request and a name as well.
// CHECK-LABEL: @requests(
// CHECK: gantry.relu %arg0 {gantry.device = #gantry.device<"GPU:0">, gantry.name = "act"}
// CHECK: arith.addf %arg0, %arg0 {gantry.device = #gantry.device<"/job:a/task:1">}
func.func @requests(%x: tensor<4xf32>) {
  %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">, gantry.name = "act"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.addf %x, %x {gantry.device = #gantry.device<"/job:a/task:1">} : tensor<4xf32>
  return
}

// CHECK-LABEL: @directions(
// CHECK: gantry.compare eq,
// CHECK: gantry.compare ne,
// CHECK: gantry.compare lt,
// CHECK: gantry.compare le,
// CHECK: gantry.compare gt,
// CHECK: gantry.compare ge,
func.func @directions(%x: tensor<4xf32>) {
  %0 = gantry.compare eq, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = gantry.compare ne, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = gantry.compare lt, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %3 = gantry.compare le, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %4 = gantry.compare gt, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %5 = gantry.compare ge, %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// CHECK-LABEL: @pad_modes(
// CHECK: mode = #gantry<pad_mode reflect>
// CHECK: mode = #gantry<pad_mode edge>
// CHECK: mode = #gantry<pad_mode wrap>
func.func @pad_modes(%x: tensor<4xf32>, %v: tensor<f32>) {
  %0 = gantry.pad %x, %v {low = array<i64: 3>, high = array<i64: 3>, mode = #gantry<pad_mode reflect>} : (tensor<4xf32>, tensor<f32>) -> tensor<10xf32>
  %1 = gantry.pad %x, %v {low = array<i64: 5>, high = array<i64: 0>, mode = #gantry<pad_mode edge>} : (tensor<4xf32>, tensor<f32>) -> tensor<9xf32>
  %2 = gantry.pad %x, %v {low = array<i64: 4>, high = array<i64: 4>, mode = #gantry<pad_mode wrap>} : (tensor<4xf32>, tensor<f32>) -> tensor<12xf32>
  return
}

// CHECK-LABEL: @scatter_reductions(
// CHECK: reduction = #gantry<reduction mul>
// CHECK: reduction = #gantry<reduction max>
// CHECK: reduction = #gantry<reduction min>
func.func @scatter_reductions(%x: tensor<8xf32>, %i: tensor<4x1xi64>, %u: tensor<4xf32>) {
  %0 = gantry.scatter_nd %x, %i, %u {reduction = #gantry<reduction mul>} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>
  %1 = gantry.scatter_nd %x, %i, %u {reduction = #gantry<reduction max>} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>
  %2 = gantry.scatter_nd %x, %i, %u {reduction = #gantry<reduction min>} : (tensor<8xf32>, tensor<4x1xi64>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// CHECK-LABEL: @resize_modes(
// CHECK: coordinate_mode = #gantry<coordinate_mode tf_crop_and_resize>
// CHECK-SAME: exclude_outside
// CHECK-SAME: mode = #gantry<resize_mode cubic>
// CHECK-SAME: roi = array<f64: 0.000000e+00, 1.000000e+00>
// CHECK: coordinate_mode = #gantry<coordinate_mode asymmetric>
// CHECK-SAME: mode = #gantry<resize_mode nearest>, nearest_mode = #gantry<nearest_mode ceil>
func.func @resize_modes(%x: tensor<4xf32>) {
  %0 = gantry.resize %x {mode = #gantry<resize_mode cubic>, coordinate_mode = #gantry<coordinate_mode tf_crop_and_resize>, nearest_mode = #gantry<nearest_mode round_prefer_floor>, scales = array<f64: 2.0>, roi = array<f64: 0.0, 1.0>, cubic_coefficient = -0.5 : f64, extrapolation = 7.0 : f64, exclude_outside} : (tensor<4xf32>) -> tensor<8xf32>
  %1 = gantry.resize %x {mode = #gantry<resize_mode nearest>, coordinate_mode = #gantry<coordinate_mode asymmetric>, nearest_mode = #gantry<nearest_mode ceil>, scales = array<f64: 0.5>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// CHECK-LABEL: @flags(
// CHECK: gantry.gelu %arg0 {approximate}
// CHECK: gantry.matmul %arg0, %arg0 {transpose_a}
// CHECK: gantry.argmax %arg0 {axis = 0 : i64, keep_dims, last}
// CHECK: gantry.cumsum %arg0 {axis = 1 : i64, exclusive, reverse}
// CHECK: gantry.reduce_sum %arg0 {axes = array<i64: 0, 1>, keep_dims}
// CHECK: gantry.top_k %arg0 {axis = 1 : i64, k = 1 : i64, smallest}
// CHECK: gantry.is_inf %arg0 {no_negative}
// CHECK: gantry.attention %arg0, %arg0, %arg0, %arg1 {causal, scale = 5.000000e-01 : f64}
func.func @flags(%x: tensor<4x6xf32>, %m: tensor<4x4xf32>) {
  %0 = gantry.gelu %x {approximate} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = gantry.matmul %x, %x {transpose_a} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %2 = gantry.argmax %x {axis = 0 : i64, keep_dims, last} : (tensor<4x6xf32>) -> tensor<1x6xi64>
  %3 = gantry.cumsum %x {axis = 1 : i64, exclusive, reverse} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = gantry.reduce_sum %x {axes = array<i64: 0, 1>, keep_dims} : (tensor<4x6xf32>) -> tensor<1x1xf32>
  %5, %6 = gantry.top_k %x {axis = 1 : i64, k = 1 : i64, smallest} : (tensor<4x6xf32>) -> (tensor<4x1xf32>, tensor<4x1xi64>)
  %7 = gantry.is_inf %x {no_negative} : (tensor<4x6xf32>) -> tensor<4x6xi1>
  %8 = gantry.attention %x, %x, %x, %m {causal, scale = 0.5 : f64} : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x4xf32>) -> tensor<4x6xf32>
  return
}

}
