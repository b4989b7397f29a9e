// With --math=bf16 convolutions get factors of bf16 and sums of f32.

// RUN: gantry-opt %s --gantry-set-targets=math=bf16 --gantry-reduce-precision --gantry-put-channels-last --cse --canonicalize | FileCheck %s

// An image is rounded once for all that read it, whoever else does; filters are rounded here, in pairs of channels. What
// would be a loss otherwise takes the form, too: there is no other one.
// CHECK-LABEL: @pairs(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<1x4x2xf32>
// CHECK-DAG: %[[W:.*]] = gantry.constant dense<{{\[\[\[\[\[}}1.000000e+00, 2.000000e+00]], {{\[\[}}3.000000e+00, 4.000000e+00]]]]]> : tensor<1x1x2x1x2xbf16>
// CHECK-DAG: %[[N:.*]] = gantry.cast %[[X]] : (tensor<1x4x2xf32>) -> tensor<1x4x2xbf16>
// CHECK: %[[L:.*]] = gantry.transpose %[[N]] {{.*}} -> tensor<1x2x4xbf16>
// CHECK: gantry.conv %[[L]], %[[W]] {{.*}}accumulate_type = f32, {{.*}}layout = #gantry<image_layout NHWC>{{.*}} : (tensor<1x2x4xbf16>, tensor<1x1x2x1x2xbf16>) -> tensor<1x2x1xf32>
// CHECK-NOT: gantry.cast
// CHECK: gantry.conv %[[L]],
// CHECK-NOT: gantry.cast
func.func @pairs(%x: tensor<1x4x2xf32>, %v: tensor<1x4x2xf32>) -> (tensor<1x1x2xf32>, tensor<1x3x2xf32>, tensor<1x4x2xf32>) {
  %w = gantry.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %u = gantry.constant dense<1.0> : tensor<3x4x1xf32>
  %0 = gantry.conv %x, %w {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x2xf32>, tensor<1x4x1xf32>) -> tensor<1x1x2xf32>
  %1 = gantry.conv %x, %u {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x2xf32>, tensor<3x4x1xf32>) -> tensor<1x3x2xf32>
  %2 = gantry.add %x, %v : (tensor<1x4x2xf32>, tensor<1x4x2xf32>) -> tensor<1x4x2xf32>
  return %0, %1, %2 : tensor<1x1x2xf32>, tensor<1x3x2xf32>, tensor<1x4x2xf32>
}

// Three channels become four; borders in front of the convolution go into it all the same.
// CHECK-LABEL: @borders(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<1x3x8xf32>
// CHECK: %[[N:.*]] = gantry.cast %[[X]]
// CHECK: %[[F:.*]] = gantry.pad %[[N]], %{{.*}} {high = array<i64: 0, 1, 0>, low = array<i64: 0, 0, 0>{{.*}} -> tensor<1x4x8xbf16>
// CHECK: %[[L:.*]] = gantry.transpose %[[F]]
// CHECK: gantry.conv %[[L]], %{{.*}} {{.*}}pads_high = array<i64: 1>, pads_low = array<i64: 1>{{.*}} : (tensor<1x8x4xbf16>, tensor<1x3x2x16x2xbf16>) -> tensor<1x8x16xf32>
func.func @borders(%x: tensor<1x3x8xf32>, %w: tensor<16x3x3xf32>) -> tensor<1x16x8xf32> {
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %0 = gantry.pad %x, %zero {low = array<i64: 0, 0, 1>, high = array<i64: 0, 0, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x3x8xf32>, tensor<f32>) -> tensor<1x3x10xf32>
  %1 = gantry.conv %0, %w {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x3x10xf32>, tensor<16x3x3xf32>) -> tensor<1x16x8xf32>
  return %1 : tensor<1x16x8xf32>
}

// Groups of pairs are rounded; those of one channel, or of an odd number, stay as they are, and so do other types.
// CHECK-LABEL: @groups(
// CHECK: gantry.conv {{.*}}accumulate_type = f32
// CHECK-NOT: accumulate_type
// CHECK: return
func.func @groups(%x: tensor<1x12x5xf32>, %a: tensor<6x2x1xf32>, %b: tensor<4x3x1xf32>, %c: tensor<12x1x1xf32>, %y: tensor<1x4x5xf64>, %d: tensor<4x4x1xf64>)
    -> (tensor<1x6x5xf32>, tensor<1x4x5xf32>, tensor<1x12x5xf32>, tensor<1x4x5xf64>) {
  %0 = gantry.conv %x, %a {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 6 : i64} : (tensor<1x12x5xf32>, tensor<6x2x1xf32>) -> tensor<1x6x5xf32>
  %1 = gantry.conv %x, %b {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 4 : i64} : (tensor<1x12x5xf32>, tensor<4x3x1xf32>) -> tensor<1x4x5xf32>
  %2 = gantry.conv %x, %c {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 12 : i64} : (tensor<1x12x5xf32>, tensor<12x1x1xf32>) -> tensor<1x12x5xf32>
  %3 = gantry.conv %y, %d {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x4x5xf64>, tensor<4x4x1xf64>) -> tensor<1x4x5xf64>
  return %0, %1, %2, %3 : tensor<1x6x5xf32>, tensor<1x4x5xf32>, tensor<1x12x5xf32>, tensor<1x4x5xf64>
}

// A transposed convolution is rounded as the convolution that it becomes; its filter is moved as bf16.
// CHECK-LABEL: @transposed(
// CHECK-NEXT: gantry.constant dense<1.000000e+00> : tensor<1x1x2x16x2xbf16>
// CHECK-NEXT: gantry.cast
// CHECK: gantry.conv {{.*}}accumulate_type = f32
func.func @transposed(%x: tensor<1x4x5xf32>) -> tensor<1x8x10xf32> {
  %w = gantry.constant dense<1.0> : tensor<4x8x2xf32>
  %0 = gantry.conv_transpose %x, %w {strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, output_pads = array<i64: 0>, groups = 1 : i64} : (tensor<1x4x5xf32>, tensor<4x8x2xf32>) -> tensor<1x8x10xf32>
  return %0 : tensor<1x8x10xf32>
}

// An image without elements has nothing to multiply.
// CHECK-LABEL: @empty(
// CHECK-NOT: accumulate_type
func.func @empty(%x: tensor<0x4x5xf32>, %w: tensor<8x4x1xf32>) -> tensor<0x8x5xf32> {
  %0 = gantry.conv %x, %w {strides = array<i64: 1>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<0x4x5xf32>, tensor<8x4x1xf32>) -> tensor<0x8x5xf32>
  return %0 : tensor<0x8x5xf32>
}
