// Products of quantised values become products of bytes, with scales behind them.

// RUN: gantry-opt %s --gantry-multiply-bytes --split-input-file | FileCheck %s

// A zero point of the left operand is taken off each sum, times the sum of the weights.

// CHECK-LABEL: @centred(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xui8>
// CHECK-DAG: %[[W:.*]] = gantry.constant dense<{{\[\[}}1, -2], [3, 4], [-5, 127]]> : tensor<3x2xi8>
// CHECK: %[[SUMS:.*]] = gantry.matmul %[[X]], %[[W]] : (tensor<2x3xui8>, tensor<3x2xi8>) -> tensor<2x2xi32>
// CHECK: %[[OFFSET:.*]] = gantry.constant dense<[10, -1290]> : tensor<2xi32>
// CHECK: %[[Y:.*]] = gantry.add %[[SUMS]], %[[OFFSET]]
// CHECK: return %[[Y]]
func.func @centred(%x: tensor<2x3xui8>) -> tensor<2x2xi32> {
  %w = gantry.constant dense<[[1, -2], [3, 4], [-5, 127]]> : tensor<3x2xi8>
  %zero = gantry.constant dense<10> : tensor<i32>
  %0 = gantry.cast %x : (tensor<2x3xui8>) -> tensor<2x3xi32>
  %1 = gantry.sub %0, %zero : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  %2 = gantry.cast %w : (tensor<3x2xi8>) -> tensor<3x2xi32>
  %y = gantry.matmul %1, %2 : (tensor<2x3xi32>, tensor<3x2xi32>) -> tensor<2x2xi32>
  return %y : tensor<2x2xi32>
}

// -----

// Signed bytes are turned by their first bit; a zero point of the weights goes into them.

// CHECK-LABEL: @signed(
// CHECK-SAME: %[[X:.*]]: tensor<1x2xi8>
// CHECK-DAG: %[[W:.*]] = gantry.constant dense<{{\[\[}}-128, 0], [127, 1]]> : tensor<2x2xi8>
// CHECK-DAG: %[[BIT:.*]] = gantry.constant dense<-128> : tensor<i8>
// CHECK: %[[TURNED:.*]] = gantry.bitwise_xor %[[X]], %[[BIT]]
// CHECK: %[[U:.*]] = gantry.cast %[[TURNED]] : (tensor<1x2xi8>) -> tensor<1x2xui8>
// CHECK: %[[SUMS:.*]] = gantry.matmul %[[U]], %[[W]]
// CHECK: %[[OFFSET:.*]] = gantry.constant dense<[128, -128]> : tensor<2xi32>
// CHECK: gantry.add %[[SUMS]], %[[OFFSET]]
func.func @signed(%x: tensor<1x2xi8>) -> tensor<1x2xi32> {
  %w = gantry.constant dense<[[0, 128], [255, 129]]> : tensor<2x2xui8>
  %zero = gantry.constant dense<128> : tensor<i32>
  %0 = gantry.cast %x : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %1 = gantry.cast %w : (tensor<2x2xui8>) -> tensor<2x2xi32>
  %2 = gantry.sub %1, %zero : (tensor<2x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  %y = gantry.matmul %0, %2 : (tensor<1x2xi32>, tensor<2x2xi32>) -> tensor<1x2xi32>
  return %y : tensor<1x2xi32>
}

// -----

// Weights that do not fit signed bytes without their zero point are moved: what that adds is taken off, times the sums of
// the other operand. The second column fits and stays.

// CHECK-LABEL: @moved(
// CHECK-SAME: %[[X:.*]]: tensor<2x2xui8>
// CHECK-DAG: %[[W:.*]] = gantry.constant dense<{{\[\[}}127, -1], [-128, 2]]> : tensor<2x2xi8>
// CHECK: %[[SUMS:.*]] = gantry.matmul %[[X]], %[[W]] : (tensor<2x2xui8>, tensor<2x2xi8>) -> tensor<2x2xi32>
// CHECK: %[[MOVES:.*]] = gantry.constant dense<[-28, 0]> : tensor<2xi32>
// CHECK: %[[ONES:.*]] = gantry.constant dense<1> : tensor<2x1xi8>
// CHECK: %[[OF_X:.*]] = gantry.matmul %[[X]], %[[ONES]] : (tensor<2x2xui8>, tensor<2x1xi8>) -> tensor<2x1xi32>
// CHECK: %[[ADDED:.*]] = gantry.mul %[[OF_X]], %[[MOVES]]
// CHECK: %[[Y:.*]] = gantry.sub %[[SUMS]], %[[ADDED]]
// CHECK: return %[[Y]]
func.func @moved(%x: tensor<2x2xui8>) -> tensor<2x2xi32> {
  %w = gantry.constant dense<[[255, 99], [0, 102]]> : tensor<2x2xui8>
  %zero = gantry.constant dense<100> : tensor<i32>
  %0 = gantry.cast %x : (tensor<2x2xui8>) -> tensor<2x2xi32>
  %1 = gantry.cast %w : (tensor<2x2xui8>) -> tensor<2x2xi32>
  %2 = gantry.sub %1, %zero : (tensor<2x2xi32>, tensor<i32>) -> tensor<2x2xi32>
  %y = gantry.matmul %0, %2 : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  return %y : tensor<2x2xi32>
}

// -----

// Of a convolution, channels are added up first, then pixels.

// CHECK-LABEL: @moved_filter(
// CHECK-SAME: %[[X:.*]]: tensor<1x2x4xui8>
// CHECK: %[[SUMS:.*]] = gantry.conv %[[X]], %{{.*}} : (tensor<1x2x4xui8>, tensor<1x2x3xi8>) -> tensor<1x1x2xi32>
// CHECK: %[[PIXELS:.*]] = gantry.conv %[[X]], %{{.*}} {{{.*}}strides = array<i64: 1>{{.*}} : (tensor<1x2x4xui8>, tensor<1x2x1xi8>) -> tensor<1x1x4xi32>
// CHECK: %[[WINDOWS:.*]] = gantry.conv %[[PIXELS]], %{{.*}} {{{.*}}pads_high = array<i64: 1>, pads_low = array<i64: 0>, strides = array<i64: 2>{{.*}} : (tensor<1x1x4xi32>, tensor<1x1x3xi32>) -> tensor<1x1x2xi32>
// CHECK: %[[ADDED:.*]] = gantry.mul %[[WINDOWS]]
// CHECK: gantry.sub %[[SUMS]], %[[ADDED]]
func.func @moved_filter(%x: tensor<1x2x4xui8>) -> tensor<1x1x2xi32> {
  %w = gantry.constant dense<[[[0, 255, 3], [4, 5, 6]]]> : tensor<1x2x3xui8>
  %0 = gantry.cast %x : (tensor<1x2x4xui8>) -> tensor<1x2x4xi32>
  %1 = gantry.cast %w : (tensor<1x2x3xui8>) -> tensor<1x2x3xi32>
  %y = gantry.conv %0, %1 {strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 1>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x2x4xi32>, tensor<1x2x3xi32>) -> tensor<1x1x2xi32>
  return %y : tensor<1x1x2xi32>
}

// -----

// What is farther apart than bytes stays numbers of i32.

// CHECK-LABEL: @wide(
// CHECK: gantry.matmul {{.*}} : (tensor<1x2xi32>, tensor<2x1xi32>) -> tensor<1x1xi32>
func.func @wide(%x: tensor<1x2xui8>) -> tensor<1x1xi32> {
  %w = gantry.constant dense<[[255], [-1]]> : tensor<2x1xi32>
  %0 = gantry.cast %x : (tensor<1x2xui8>) -> tensor<1x2xi32>
  %y = gantry.matmul %0, %w : (tensor<1x2xi32>, tensor<2x1xi32>) -> tensor<1x1xi32>
  return %y : tensor<1x1xi32>
}

// -----

// The borders of a convolution hold the zero point, here one that is computed.

// CHECK-LABEL: @borders(
// CHECK-SAME: %[[X:.*]]: tensor<1x1x4xui8>, %[[ZERO:.*]]: tensor<i32>
// CHECK: %[[BORDER:.*]] = gantry.cast %{{.*}} : (tensor<i32>) -> tensor<ui8>
// CHECK: %[[PADDED:.*]] = gantry.pad %[[X]], %[[BORDER]] {{.*}} -> tensor<1x1x6xui8>
// CHECK: %[[SUMS:.*]] = gantry.conv %[[PADDED]], %{{.*}} {{{.*}}pads_high = array<i64: 0>, pads_low = array<i64: 0>
// CHECK: %[[SUM:.*]] = gantry.constant dense<6> : tensor<i32>
// CHECK: %[[OFFSET:.*]] = gantry.mul %[[ZERO]], %[[SUM]]
// CHECK: gantry.sub %[[SUMS]], %[[OFFSET]]
func.func @borders(%x: tensor<1x1x4xui8>, %zero: tensor<i32>) -> tensor<1x1x4xi32> {
  %w = gantry.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xi8>
  %0 = gantry.cast %x : (tensor<1x1x4xui8>) -> tensor<1x1x4xi32>
  %1 = gantry.sub %0, %zero : (tensor<1x1x4xi32>, tensor<i32>) -> tensor<1x1x4xi32>
  %2 = gantry.cast %w : (tensor<1x1x3xi8>) -> tensor<1x1x3xi32>
  %y = gantry.conv %1, %2 {strides = array<i64: 1>, pads_low = array<i64: 1>, pads_high = array<i64: 1>, dilations = array<i64: 1>, groups = 1 : i64} : (tensor<1x1x4xi32>, tensor<1x1x3xi32>) -> tensor<1x1x4xi32>
  return %y : tensor<1x1x4xi32>
}

// -----

// Dequantised operands, a quantised bias, relu, and the result quantised: one scale behind the sums.

// CHECK-LABEL: @dequantised(
// CHECK-SAME: %[[X:.*]]: tensor<2x1xui8>
// CHECK: %[[SUMS:.*]] = gantry.matmul %[[X]], %{{.*}} -> tensor<2x2xi32>
// CHECK: %[[BIAS:.*]] = gantry.constant dense<[7, -7]> : tensor<2xi32>
// CHECK: %[[BIASED:.*]] = gantry.add %[[SUMS]], %[[BIAS]]
// CHECK: %[[NUMBER:.*]] = gantry.cast %[[BIASED]] : (tensor<2x2xi32>) -> tensor<2x2xf32>
// CHECK: %[[SCALE:.*]] = gantry.constant dense<[2.500000e-01, 5.000000e-01]> : tensor<2xf32>
// CHECK: %[[SCALED:.*]] = gantry.mul %[[NUMBER]], %[[SCALE]]
// CHECK: %[[RELU:.*]] = gantry.relu %[[SCALED]]
// CHECK: %[[ROUND:.*]] = gantry.round %[[RELU]]
// CHECK: %[[Y:.*]] = gantry.cast %[[ROUND]] : (tensor<2x2xf32>) -> tensor<2x2xui8>
// CHECK: return %[[Y]]
func.func @dequantised(%x: tensor<2x1xui8>) -> tensor<2x2xui8> {
  %w = gantry.constant dense<[[3, -4]]> : tensor<1x2xi8>
  %q = gantry.constant dense<[7, -7]> : tensor<2xi32>
  %sx = gantry.constant dense<0.5> : tensor<f32>
  %sw = gantry.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %sb = gantry.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %sy = gantry.constant dense<2.0> : tensor<f32>
  %low = gantry.constant dense<0.0> : tensor<f32>
  %high = gantry.constant dense<255.0> : tensor<f32>
  %0 = gantry.cast %x : (tensor<2x1xui8>) -> tensor<2x1xf32>
  %1 = gantry.mul %0, %sx : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %2 = gantry.cast %w : (tensor<1x2xi8>) -> tensor<1x2xf32>
  %3 = gantry.mul %2, %sw : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %4 = gantry.matmul %1, %3 : (tensor<2x1xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %5 = gantry.cast %q : (tensor<2xi32>) -> tensor<2xf32>
  %6 = gantry.mul %5, %sb : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %7 = gantry.add %4, %6 : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %8 = gantry.relu %7 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %9 = gantry.div %8, %sy : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %10 = gantry.round %9 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %11 = gantry.clamp %10, %low, %high : (tensor<2x2xf32>, tensor<f32>, tensor<f32>) -> tensor<2x2xf32>
  %y = gantry.cast %11 : (tensor<2x2xf32>) -> tensor<2x2xui8>
  return %y : tensor<2x2xui8>
}

// -----

// Both sides of a sum in units of the result.

// CHECK-LABEL: @residual(
// CHECK-DAG: %[[HALF:.*]] = gantry.constant dense<5.000000e-01> : tensor<f32>
// CHECK-DAG: %[[QUARTER:.*]] = gantry.constant dense<2.500000e-01> : tensor<f32>
// CHECK-DAG: gantry.mul %{{.*}}, %[[HALF]]
// CHECK-DAG: gantry.mul %{{.*}}, %[[QUARTER]]
// CHECK-NOT: gantry.div
func.func @residual(%a: tensor<4xui8>, %b: tensor<4xi8>) -> tensor<4xf32> {
  %sa = gantry.constant dense<2.0> : tensor<f32>
  %sb = gantry.constant dense<1.0> : tensor<f32>
  %sy = gantry.constant dense<4.0> : tensor<f32>
  %0 = gantry.cast %a : (tensor<4xui8>) -> tensor<4xf32>
  %1 = gantry.mul %0, %sa : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = gantry.cast %b : (tensor<4xi8>) -> tensor<4xf32>
  %3 = gantry.mul %sb, %2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.add %1, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = gantry.div %4, %sy : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = gantry.round %5 : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A division of what comes from no integers stays as it is, and one that nobody rounds.

// CHECK-LABEL: @plain(
// CHECK: gantry.div
// CHECK: gantry.div
func.func @plain(%a: tensor<4xf32>, %b: tensor<4xui8>) -> (tensor<4xf32>, tensor<4xf32>) {
  %sb = gantry.constant dense<3.0> : tensor<f32>
  %sy = gantry.constant dense<4.0> : tensor<f32>
  %0 = gantry.div %a, %sy : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = gantry.round %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.cast %b : (tensor<4xui8>) -> tensor<4xf32>
  %3 = gantry.mul %2, %sb : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = gantry.div %3, %sy : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1, %4 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Maxima over windows are those of the bytes.

// CHECK-LABEL: @maxima(
// CHECK-SAME: %[[X:.*]]: tensor<1x1x4xui8>
// CHECK: gantry.max_pool %[[X]] {{.*}} -> tensor<1x1x2xui8>
func.func @maxima(%x: tensor<1x1x4xui8>) -> tensor<1x1x2xf32> {
  %s = gantry.constant dense<2.0> : tensor<f32>
  %0 = gantry.cast %x : (tensor<1x1x4xui8>) -> tensor<1x1x4xf32>
  %1 = gantry.mul %0, %s : (tensor<1x1x4xf32>, tensor<f32>) -> tensor<1x1x4xf32>
  %y = gantry.max_pool %1 {window = array<i64: 2>, strides = array<i64: 2>, pads_low = array<i64: 0>, pads_high = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x1x4xf32>) -> tensor<1x1x2xf32>
  return %y : tensor<1x1x2xf32>
}

// -----

// Weights that are turned in front of the product, with a scale for each output.

// CHECK-LABEL: @turned(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xui8>
// CHECK: %[[W:.*]] = gantry.constant dense<{{\[\[}}1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
// CHECK: %[[SUMS:.*]] = gantry.matmul %[[X]], %[[W]] {transpose_b} : (tensor<2x3xui8>, tensor<2x3xi8>) -> tensor<2x2xi32>
// CHECK: %[[SCALE:.*]] = gantry.constant dense<[5.000000e-01, 1.000000e+00]> : tensor<2xf32>
// CHECK: %[[NUMBER:.*]] = gantry.cast %[[SUMS]]
// CHECK: gantry.mul %[[NUMBER]], %[[SCALE]]
func.func @turned(%x: tensor<2x3xui8>) -> tensor<2x2xf32> {
  %w = gantry.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %sx = gantry.constant dense<0.5> : tensor<f32>
  %sw = gantry.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %0 = gantry.cast %x : (tensor<2x3xui8>) -> tensor<2x3xf32>
  %1 = gantry.mul %0, %sx : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %2 = gantry.cast %w : (tensor<2x3xi8>) -> tensor<2x3xf32>
  %3 = gantry.mul %2, %sw : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %4 = gantry.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %y = gantry.matmul %1, %4 : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// What was asked to run elsewhere than the product stays there.

// CHECK-LABEL: @elsewhere(
// CHECK: gantry.matmul {{.*}} : (tensor<1x1xi32>, tensor<1x1xi32>)
func.func @elsewhere(%x: tensor<1x1xui8>) -> tensor<1x1xi32> {
  %w = gantry.constant dense<5> : tensor<1x1xi8>
  %0 = gantry.cast %x {gantry.device = #gantry.device<"CPU:0">} : (tensor<1x1xui8>) -> tensor<1x1xi32>
  %1 = gantry.cast %w : (tensor<1x1xi8>) -> tensor<1x1xi32>
  %y = gantry.matmul %0, %1 {gantry.device = #gantry.device<"CPU:1">} : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x1xi32>
  return %y : tensor<1x1xi32>
}

// -----

// Both factors are computed: what their zero points add is taken off by the sums of the other one's bytes. The right one
// becomes signed, and its zero point moves with it.

// CHECK-LABEL: @both_computed(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xui8>, %[[W:.*]]: tensor<2x4x5xui8>
// CHECK: %[[SIGNED:.*]] = gantry.cast %[[W]] : (tensor<2x4x5xui8>) -> tensor<2x4x5xi8>
// CHECK: %[[BIT:.*]] = gantry.constant dense<-128> : tensor<i8>
// CHECK: %[[TURNED:.*]] = gantry.bitwise_xor %[[SIGNED]], %[[BIT]]
// CHECK: %[[SUMS:.*]] = gantry.matmul %[[X]], %[[TURNED]] : (tensor<2x3x4xui8>, tensor<2x4x5xi8>) -> tensor<2x3x5xi32>
// CHECK: %[[ROW:.*]] = gantry.constant dense<1> : tensor<1x4xui8>
// CHECK: %[[OF_W:.*]] = gantry.matmul %[[ROW]], %[[TURNED]] : (tensor<1x4xui8>, tensor<2x4x5xi8>) -> tensor<2x1x5xi32>
// CHECK: %[[ZX:.*]] = gantry.constant dense<10> : tensor<i32>
// CHECK: %[[BY_X:.*]] = gantry.mul %[[OF_W]], %[[ZX]]
// CHECK: %[[LESS:.*]] = gantry.sub %[[SUMS]], %[[BY_X]]
// CHECK: %[[COLUMN:.*]] = gantry.constant dense<1> : tensor<4x1xi8>
// CHECK: %[[OF_X:.*]] = gantry.matmul %[[X]], %[[COLUMN]] : (tensor<2x3x4xui8>, tensor<4x1xi8>) -> tensor<2x3x1xi32>
// CHECK: %[[ZW:.*]] = gantry.constant dense<3> : tensor<i32>
// CHECK: %[[BY_W:.*]] = gantry.mul %[[OF_X]], %[[ZW]]
// CHECK: %[[LESSER:.*]] = gantry.sub %[[LESS]], %[[BY_W]]
// CHECK: %[[BOTH:.*]] = gantry.constant dense<120> : tensor<i32>
// CHECK: %[[Y:.*]] = gantry.add %[[LESSER]], %[[BOTH]]
// CHECK: return %[[Y]]
func.func @both_computed(%x: tensor<2x3x4xui8>, %w: tensor<2x4x5xui8>) -> tensor<2x3x5xi32> {
  %left = gantry.constant dense<10> : tensor<i32>
  %right = gantry.constant dense<131> : tensor<i32>
  %0 = gantry.cast %x : (tensor<2x3x4xui8>) -> tensor<2x3x4xi32>
  %1 = gantry.sub %0, %left : (tensor<2x3x4xi32>, tensor<i32>) -> tensor<2x3x4xi32>
  %2 = gantry.cast %w : (tensor<2x4x5xui8>) -> tensor<2x4x5xi32>
  %3 = gantry.sub %2, %right : (tensor<2x4x5xi32>, tensor<i32>) -> tensor<2x4x5xi32>
  %y = gantry.matmul %1, %3 : (tensor<2x3x4xi32>, tensor<2x4x5xi32>) -> tensor<2x3x5xi32>
  return %y : tensor<2x3x5xi32>
}

// -----

// A zero point at the end of the type is 0 when the first bit is turned, and the scales are one behind the product.

// CHECK-LABEL: @both_scaled(
// CHECK-SAME: %[[X:.*]]: tensor<3x4xi8>, %[[W:.*]]: tensor<5x4xi8>
// CHECK: %[[TURNED:.*]] = gantry.bitwise_xor %[[X]]
// CHECK: %[[U:.*]] = gantry.cast %[[TURNED]] : (tensor<3x4xi8>) -> tensor<3x4xui8>
// CHECK: %[[SUMS:.*]] = gantry.matmul %[[U]], %[[W]] {transpose_b} : (tensor<3x4xui8>, tensor<5x4xi8>) -> tensor<3x5xi32>
// CHECK: %[[SCALE:.*]] = gantry.constant dense<1.250000e-01> : tensor<f32>
// CHECK: %[[NUMBER:.*]] = gantry.cast %[[SUMS]]
// CHECK: %[[Y:.*]] = gantry.mul %[[NUMBER]], %[[SCALE]]
// CHECK: return %[[Y]]
func.func @both_scaled(%x: tensor<3x4xi8>, %w: tensor<5x4xi8>) -> tensor<3x5xf32> {
  %left = gantry.constant dense<-128> : tensor<i32>
  %s = gantry.constant dense<0.5> : tensor<f32>
  %t = gantry.constant dense<0.25> : tensor<f32>
  %0 = gantry.cast %x : (tensor<3x4xi8>) -> tensor<3x4xi32>
  %1 = gantry.sub %0, %left : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  %2 = gantry.cast %1 : (tensor<3x4xi32>) -> tensor<3x4xf32>
  %3 = gantry.mul %2, %s : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %4 = gantry.cast %w : (tensor<5x4xi8>) -> tensor<5x4xf32>
  %5 = gantry.mul %4, %t : (tensor<5x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  %y = gantry.matmul %3, %5 {transpose_b} : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// A zero point for each row stays with the integers.

// CHECK-LABEL: @zero_of_rows(
// CHECK: gantry.matmul {{.*}} : (tensor<3x4xi32>, tensor<4x5xi32>) -> tensor<3x5xi32>
func.func @zero_of_rows(%x: tensor<3x4xui8>, %w: tensor<4x5xi8>) -> tensor<3x5xi32> {
  %left = gantry.constant dense<[[1], [2], [3]]> : tensor<3x1xi32>
  %0 = gantry.cast %x : (tensor<3x4xui8>) -> tensor<3x4xi32>
  %1 = gantry.sub %0, %left : (tensor<3x4xi32>, tensor<3x1xi32>) -> tensor<3x4xi32>
  %2 = gantry.cast %w : (tensor<4x5xi8>) -> tensor<4x5xi32>
  %y = gantry.matmul %1, %2 : (tensor<3x4xi32>, tensor<4x5xi32>) -> tensor<3x5xi32>
  return %y : tensor<3x5xi32>
}

// -----

// Bytes that are scaled and quantised again are the same, but with another zero point they are not.

// CHECK-LABEL: @quantised_again(
// CHECK-SAME: %[[X:.*]]: tensor<4xui8>
// CHECK: %[[MOVED:.*]] = gantry.add
// CHECK: %[[OTHER:.*]] = gantry.cast %[[MOVED]]
// CHECK: return %[[X]], %[[OTHER]]
func.func @quantised_again(%x: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>) {
  %zero = gantry.constant dense<10> : tensor<i32>
  %s = gantry.constant dense<0.3> : tensor<f32>
  %same = gantry.constant dense<10.0> : tensor<f32>
  %other = gantry.constant dense<11.0> : tensor<f32>
  %0 = gantry.cast %x : (tensor<4xui8>) -> tensor<4xi32>
  %1 = gantry.sub %0, %zero : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %2 = gantry.cast %1 : (tensor<4xi32>) -> tensor<4xf32>
  %3 = gantry.mul %2, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = gantry.div %3, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = gantry.round %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = gantry.add %5, %same : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %7 = gantry.cast %6 : (tensor<4xf32>) -> tensor<4xui8>
  %8 = gantry.add %5, %other : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %9 = gantry.cast %8 : (tensor<4xf32>) -> tensor<4xui8>
  return %7, %9 : tensor<4xui8>, tensor<4xui8>
}

// -----

// A zero point that is known when the model runs moves then.

// CHECK-LABEL: @zero_computed(
// CHECK-SAME: %[[X:.*]]: tensor<3x4xi8>, %[[W:.*]]: tensor<4x5xi8>, %[[Z:.*]]: tensor<i32>
// CHECK: %[[BY:.*]] = gantry.constant dense<128> : tensor<i32>
// CHECK: %[[MOVED:.*]] = gantry.add %[[Z]], %[[BY]]
// CHECK: gantry.matmul {{.*}}, %[[W]] : (tensor<3x4xui8>, tensor<4x5xi8>) -> tensor<3x5xi32>
// CHECK: %[[OF_W:.*]] = gantry.matmul {{.*}}, %[[W]] : (tensor<1x4xui8>, tensor<4x5xi8>) -> tensor<1x5xi32>
// CHECK: gantry.mul %[[OF_W]], %[[MOVED]]
func.func @zero_computed(%x: tensor<3x4xi8>, %w: tensor<4x5xi8>, %zero: tensor<i32>) -> tensor<3x5xi32> {
  %0 = gantry.cast %x : (tensor<3x4xi8>) -> tensor<3x4xi32>
  %1 = gantry.sub %0, %zero : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x4xi32>
  %2 = gantry.cast %w : (tensor<4x5xi8>) -> tensor<4x5xi32>
  %y = gantry.matmul %1, %2 : (tensor<3x4xi32>, tensor<4x5xi32>) -> tensor<3x5xi32>
  return %y : tensor<3x5xi32>
}
