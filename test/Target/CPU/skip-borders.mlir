// Which convolutions may leave the zeros of their borders out: nobody may see that these were not
// multiplied.

// RUN: gantry-opt %s --gantry-put-channels-last | FileCheck %s

// Finite constants, and +0 behind the sums: the sign of a zero says nothing.
// CHECK-LABEL: @plus_zero(
// CHECK: gantry.conv {{.*}}border = #gantry<border plus_zero|unseen>
func.func @plus_zero(%x: tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32> {
  %w = gantry.constant dense<2.0> : tensor<16x16x3x3xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x32x32xf32>, tensor<f32>) -> tensor<1x16x34x34xf32>
  %0 = gantry.conv %p, %w {border = #gantry<border plus_zero>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x34x34xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  return %0 : tensor<1x16x32x32xf32>
}

// A constant without -0 is added: +0 before it changes nothing, and is not added.
// CHECK-LABEL: @bias(
// CHECK: gantry.conv
// CHECK-NOT: plus_zero
// CHECK-SAME: border = #gantry<border unseen>
func.func @bias(%x: tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32> {
  %w = gantry.constant dense<2.0> : tensor<16x16x3x3xf32>
  %b = gantry.constant dense<[[[[0.0]], [[1.0]], [[-1.0]], [[0.0]], [[1.0]], [[2.0]], [[3.0]], [[4.0]], [[0.0]], [[1.0]], [[-1.0]], [[0.0]], [[1.0]], [[2.0]], [[3.0]], [[4.0]]]]> : tensor<1x16x1x1xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x32x32xf32>, tensor<f32>) -> tensor<1x16x34x34xf32>
  %0 = gantry.conv %p, %w {border = #gantry<border plus_zero>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x34x34xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  %1 = gantry.add %0, %b : (tensor<1x16x32x32xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x32x32xf32>
  return %1 : tensor<1x16x32x32xf32>
}

// To -0 a sum of -0 adds up to -0: +0 stays.
// CHECK-LABEL: @negative_zero(
// CHECK: gantry.conv {{.*}}border = #gantry<border plus_zero|unseen>
func.func @negative_zero(%x: tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32> {
  %w = gantry.constant dense<2.0> : tensor<16x16x3x3xf32>
  %b = gantry.constant dense<[[[[0.0]], [[1.0]], [[-1.0]], [[0.0]], [[1.0]], [[2.0]], [[3.0]], [[4.0]], [[0.0]], [[1.0]], [[-1.0]], [[0.0]], [[1.0]], [[2.0]], [[3.0]], [[-0.0]]]]> : tensor<1x16x1x1xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x32x32xf32>, tensor<f32>) -> tensor<1x16x34x34xf32>
  %0 = gantry.conv %p, %w {border = #gantry<border plus_zero>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x34x34xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  %1 = gantry.add %0, %b : (tensor<1x16x32x32xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x32x32xf32>
  return %1 : tensor<1x16x32x32xf32>
}

// Somebody else reads the sums themselves, of a border that the graph has as an op of its own.
// CHECK-LABEL: @seen(
// CHECK: gantry.conv
// CHECK-NOT: unseen
// CHECK: return
func.func @seen(%x: tensor<1x16x32x32xf32>) -> (tensor<1x16x32x32xf32>, tensor<1x16x32x32xf32>) {
  %w = gantry.constant dense<2.0> : tensor<16x16x3x3xf32>
  %b = gantry.constant dense<1.0> : tensor<1x16x1x1xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x32x32xf32>, tensor<f32>) -> tensor<1x16x34x34xf32>
  %0 = gantry.conv %p, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x34x34xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  %1 = gantry.add %0, %b : (tensor<1x16x32x32xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x32x32xf32>
  return %0, %1 : tensor<1x16x32x32xf32>, tensor<1x16x32x32xf32>
}

// An infinite weight makes NaN of a zero.
// CHECK-LABEL: @infinite(
// CHECK: gantry.conv
// CHECK-NOT: unseen
// CHECK: return
func.func @infinite(%x: tensor<1x4x32x32xf32>) -> tensor<1x1x32x32xf32> {
  %w = gantry.constant dense<[[[[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.0]], [[1.0, 0xFF800000, 3.0]], [[1.0, 2.0, 3.0]]]]> : tensor<1x4x1x3xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 0, 1>, high = array<i64: 0, 0, 0, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x4x32x32xf32>, tensor<f32>) -> tensor<1x4x32x34xf32>
  %1 = gantry.conv %p, %w {border = #gantry<border plus_zero>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x4x32x34xf32>, tensor<1x4x1x3xf32>) -> tensor<1x1x32x32xf32>
  return %1 : tensor<1x1x32x32xf32>
}

// Weights that are given may be anything; -0 after them is still not seen.
// CHECK-LABEL: @given(
// CHECK: gantry.conv
// CHECK-NOT: plus_zero
// CHECK-NOT: unseen
// CHECK: return
func.func @given(%x: tensor<1x16x32x32xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32> {
  %b = gantry.constant dense<1.0> : tensor<1x16x1x1xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x32x32xf32>, tensor<f32>) -> tensor<1x16x34x34xf32>
  %0 = gantry.conv %p, %w {border = #gantry<border plus_zero>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x34x34xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  %1 = gantry.add %0, %b : (tensor<1x16x32x32xf32>, tensor<1x16x1x1xf32>) -> tensor<1x16x32x32xf32>
  return %1 : tensor<1x16x32x32xf32>
}

// A filter of f16 becomes f32 when the plan is loaded; it is known all the same.
// CHECK-LABEL: @half(
// CHECK: gantry.conv {{.*}}border = #gantry<border plus_zero|unseen>
func.func @half(%x: tensor<1x16x32x32xf32>) -> tensor<1x16x32x32xf32> {
  %h = gantry.constant dense<2.0> : tensor<16x16x3x3xf16>
  %w = gantry.cast %h : (tensor<16x16x3x3xf16>) -> tensor<16x16x3x3xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x32x32xf32>, tensor<f32>) -> tensor<1x16x34x34xf32>
  %0 = gantry.conv %p, %w {border = #gantry<border plus_zero>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x34x34xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x32x32xf32>
  return %0 : tensor<1x16x32x32xf32>
}

// Sums of bytes are exact.
// CHECK-LABEL: @bytes(
// CHECK: gantry.conv {{.*}}border = #gantry<border unseen>
func.func @bytes(%x: tensor<1x16x32x32xui8>, %w: tensor<16x16x3x3xi8>) -> tensor<1x16x32x32xi32> {
  %zero = gantry.constant dense<0> : tensor<ui8>
  %p = gantry.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x32x32xui8>, tensor<ui8>) -> tensor<1x16x34x34xui8>
  %0 = gantry.conv %p, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x34x34xui8>, tensor<16x16x3x3xi8>) -> tensor<1x16x32x32xi32>
  return %0 : tensor<1x16x32x32xi32>
}
