// Products on CPUs read weights of few bits, block by block with scales and zero points.

// RUN: gantry-opt %s --gantry-keep-few-bits | FileCheck %s

// As MatMulNBits has them: 32 numbers of 4 bits, two columns. A record is the scale 1, then the bytes of its numbers.
// CHECK-LABEL: @packed(
// CHECK: %[[W:.*]] = gantry.constant {{.*}}dense<{{\[}}[0, 0, 128, 63, 16, 50, 84, 118, 152, 186, 220, 254], [0, 0, 0, 64, 1, 2, 3, 4, 5, 6, 7, 8]]> : tensor<2x12xui8>
// CHECK-NOT: gantry.shift_right
// CHECK-NOT: gantry.mul
// CHECK: gantry.matmul %{{.*}}, %[[W]] {block_quantized = #gantry.block_quantized<bits = 4, block = 16, k = 16, zero = 8>, gantry.name = "y", transpose_b} : (tensor<1x16xf32>, tensor<2x12xui8>) -> tensor<1x2xf32>
func.func @packed(%x: tensor<1x16xf32>) -> tensor<1x2xf32> {
  %bytes = gantry.constant dense<[[[[16], [50], [84], [118], [152], [186], [220], [254]]], [[[1], [2], [3], [4], [5], [6], [7], [8]]]]> : tensor<2x1x8x1xui8>
  %shifts = gantry.constant dense<[0, 4]> : tensor<2xui8>
  %mask = gantry.constant dense<15> : tensor<ui8>
  %middle = gantry.constant dense<8.0> : tensor<f32>
  %scales = gantry.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %0 = gantry.shift_right %bytes, %shifts : (tensor<2x1x8x1xui8>, tensor<2xui8>) -> tensor<2x1x8x2xui8>
  %1 = gantry.bitwise_and %0, %mask : (tensor<2x1x8x2xui8>, tensor<ui8>) -> tensor<2x1x8x2xui8>
  %2 = gantry.reshape %1 : (tensor<2x1x8x2xui8>) -> tensor<2x1x16xui8>
  %3 = gantry.cast %2 : (tensor<2x1x16xui8>) -> tensor<2x1x16xf32>
  %4 = gantry.sub %3, %middle : (tensor<2x1x16xf32>, tensor<f32>) -> tensor<2x1x16xf32>
  %5 = gantry.mul %4, %scales : (tensor<2x1x16xf32>, tensor<2x1x1xf32>) -> tensor<2x1x16xf32>
  %6 = gantry.reshape %5 : (tensor<2x1x16xf32>) -> tensor<2x16xf32>
  %7 = gantry.matmul %x, %6 {transpose_b, gantry.name = "y"} : (tensor<1x16xf32>, tensor<2x16xf32>) -> tensor<1x2xf32>
  return %7 : tensor<1x2xf32>
}

// As DequantizeLinear has them: signed bytes that fit 2 bits, a scale and a zero point for each column; the rest of a word
// is zeros. Numbers and zero points are counted from -2 on: the zero points are 1 + 2 and 0 + 2.
// CHECK-LABEL: @bytes(
// CHECK: gantry.constant {{.*}}dense<{{\[}}[0, 0, 128, 63, 0, 0, 64, 64, 228, 2, 0, 0], [0, 0, 0, 64, 0, 0, 0, 64, 27, 1, 0, 0]]> : tensor<2x12xui8>
// CHECK: block_quantized = #gantry.block_quantized<bits = 2, block = 16, k = 5>
func.func @bytes(%x: tensor<3x5xf32>) -> tensor<3x2xf32> {
  %bytes = gantry.constant dense<[[-2, 1], [-1, 0], [0, -1], [1, -2], [0, -1]]> : tensor<5x2xi8>
  %zeros = gantry.constant dense<[[1, 0]]> : tensor<1x2xi32>
  %scales = gantry.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %0 = gantry.cast %bytes : (tensor<5x2xi8>) -> tensor<5x2xi32>
  %1 = gantry.sub %0, %zeros : (tensor<5x2xi32>, tensor<1x2xi32>) -> tensor<5x2xi32>
  %2 = gantry.cast %1 : (tensor<5x2xi32>) -> tensor<5x2xf32>
  %3 = gantry.mul %2, %scales : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x2xf32>
  %4 = gantry.matmul %x, %3 : (tensor<3x5xf32>, tensor<5x2xf32>) -> tensor<3x2xf32>
  return %4 : tensor<3x2xf32>
}

// Blocks along rows that are columns of the product, with zero points that are bytes themselves, repeated for their terms.
// CHECK-LABEL: @blocks(
// CHECK: gantry.constant {{.*}}dense<{{\[}}[0, 0, 128, 63, 0, 0, 64, 64, 33, 67, 0, 0, 0, 0, 0, 64, 0, 0, 128, 64, 68, 84, 0, 0]]> : tensor<1x24xui8>
// CHECK: gantry.matmul {{.*}} {block_quantized = #gantry.block_quantized<bits = 4, block = 8, k = 16>, transpose_b}
func.func @blocks(%x: tensor<3x16xf32>) -> tensor<3x1xf32> {
  %bytes = gantry.constant dense<[[1, 2, 3, 4, 0, 0, 0, 0, 4, 4, 4, 5, 0, 0, 0, 0]]> : tensor<1x16xui8>
  %zeros = gantry.constant dense<[[3, 4]]> : tensor<1x2xui8>
  %scales = gantry.constant dense<[[[1.0], [2.0]]]> : tensor<1x2x1xf32>
  %0 = gantry.cast %bytes : (tensor<1x16xui8>) -> tensor<1x16xi32>
  %1 = gantry.cast %zeros : (tensor<1x2xui8>) -> tensor<1x2xi32>
  %2 = gantry.reshape %1 : (tensor<1x2xi32>) -> tensor<1x2x1xi32>
  %3 = gantry.broadcast %2 : (tensor<1x2x1xi32>) -> tensor<1x2x8xi32>
  %4 = gantry.reshape %3 : (tensor<1x2x8xi32>) -> tensor<1x16xi32>
  %5 = gantry.sub %0, %4 : (tensor<1x16xi32>, tensor<1x16xi32>) -> tensor<1x16xi32>
  %6 = gantry.cast %5 : (tensor<1x16xi32>) -> tensor<1x16xf32>
  %7 = gantry.broadcast %scales : (tensor<1x2x1xf32>) -> tensor<1x2x8xf32>
  %8 = gantry.reshape %7 : (tensor<1x2x8xf32>) -> tensor<1x16xf32>
  %9 = gantry.mul %6, %8 : (tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<1x16xf32>
  %10 = gantry.transpose %9 {permutation = array<i64: 1, 0>} : (tensor<1x16xf32>) -> tensor<16x1xf32>
  %11 = gantry.matmul %x, %10 : (tensor<3x16xf32>, tensor<16x1xf32>) -> tensor<3x1xf32>
  return %11 : tensor<3x1xf32>
}

// What something else reads as numbers is kept in one form, and what runs on GPUs stays.
// CHECK-LABEL: @others(
// CHECK-NOT: block_quantized
func.func @others(%x: tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<4x2xf32>, tensor<3x2xf32>) {
  %bytes = gantry.constant dense<[[-2, 1], [-1, 0], [0, -1], [1, -2]]> : tensor<4x2xi8>
  %scales = gantry.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %0 = gantry.cast %bytes : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %1 = gantry.mul %0, %scales : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %2 = gantry.matmul %x, %1 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %3 = gantry.mul %0, %scales {gantry.name = "apart"} : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %4 = gantry.matmul %x, %3 {gantry.device = #gantry.device<"GPU:0">} : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  return %2, %1, %4 : tensor<3x2xf32>, tensor<4x2xf32>, tensor<3x2xf32>
}

// Attention is left alone, and so are its factors.
// CHECK-LABEL: @attention(
// CHECK-NOT: block_quantized
func.func @attention(%x: tensor<40x4xf32>, %v: tensor<2x8xf32>) -> tensor<40x8xf32> {
  %bytes = gantry.constant dense<[[-2, 1], [-1, 0], [0, -1], [1, -2]]> : tensor<4x2xi8>
  %scales = gantry.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %0 = gantry.cast %bytes : (tensor<4x2xi8>) -> tensor<4x2xf32>
  %1 = gantry.mul %0, %scales : (tensor<4x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  %2 = gantry.matmul %x, %1 : (tensor<40x4xf32>, tensor<4x2xf32>) -> tensor<40x2xf32>
  %3 = gantry.softmax %2 {axis = 1 : i64} : (tensor<40x2xf32>) -> tensor<40x2xf32>
  %4 = gantry.matmul %3, %v : (tensor<40x2xf32>, tensor<2x8xf32>) -> tensor<40x8xf32>
  return %4 : tensor<40x8xf32>
}
