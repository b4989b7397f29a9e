// Matrix products, convolutions, pooling, attention.
// Every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK-LABEL: @matmul(
// CHECK: gantry.matmul %arg0, %arg1 {transpose_b} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<16x8xf32>) {
  %c = gantry.matmul %a, %b {transpose_b} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: @matmul_bytes(
// CHECK: gantry.matmul %arg0, %arg1 : (tensor<4x8xui8>, tensor<8x16xi8>) -> tensor<4x16xi32>
func.func @matmul_bytes(%a: tensor<4x8xui8>, %b: tensor<8x16xi8>) {
  %c = gantry.matmul %a, %b : (tensor<4x8xui8>, tensor<8x16xi8>) -> tensor<4x16xi32>
  return
}

// CHECK-LABEL: @wide(
// CHECK: gantry.matmul %arg0, %arg1 {accumulate_type = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
func.func @wide(%a: tensor<4x8xbf16>, %b: tensor<8x16xbf16>) {
  %c = gantry.matmul %a, %b {accumulate_type = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  return
}

// CHECK-LABEL: @conv(
// CHECK: gantry.conv %arg0, %arg1 {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) {
  %y = gantry.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, pads_high = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x8x8xf32>
  return
}

// CHECK-LABEL: @conv_transpose(
// CHECK: gantry.conv_transpose %arg0, %arg1 {dilations = array<i64: 1>, groups = 1 : i64, output_pads = array<i64: 0>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x2x3xf32>) -> tensor<1x2x9xf32>
func.func @conv_transpose(%x: tensor<1x3x4xf32>, %w: tensor<3x2x3xf32>) {
  %y = gantry.conv_transpose %x, %w {dilations = array<i64: 1>, groups = 1 : i64, output_pads = array<i64: 0>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>} : (tensor<1x3x4xf32>, tensor<3x2x3xf32>) -> tensor<1x2x9xf32>
  return
}

// CHECK-LABEL: @max_pool(
// CHECK: gantry.max_pool %arg0 {dilations = array<i64: 1>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
func.func @max_pool(%x: tensor<1x3x8xf32>) {
  %y = gantry.max_pool %x {dilations = array<i64: 1>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// CHECK-LABEL: @avg_pool(
// CHECK: gantry.avg_pool %arg0 {dilations = array<i64: 1>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
func.func @avg_pool(%x: tensor<1x3x8xf32>) {
  %y = gantry.avg_pool %x {dilations = array<i64: 1>, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// CHECK-LABEL: @lp_pool(
// CHECK: gantry.lp_pool %arg0 {dilations = array<i64: 1>, p = 2.000000e+00 : f64, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
func.func @lp_pool(%x: tensor<1x3x8xf32>) {
  %y = gantry.lp_pool %x {dilations = array<i64: 1>, p = 2.000000e+00 : f64, pads_high = array<i64: 0>, pads_low = array<i64: 0>, strides = array<i64: 2>, window = array<i64: 2>} : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// CHECK-LABEL: @attention(
// CHECK: gantry.attention %arg0, %arg1, %arg2 {scale = 1.250000e-01 : f64} : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
func.func @attention(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>) {
  %y = gantry.attention %q, %k, %v {scale = 1.250000e-01 : f64} : (tensor<2x4x8xf32>, tensor<2x6x8xf32>, tensor<2x6x8xf32>) -> tensor<2x4x8xf32>
  return
}
