// Attention on CPUs gets factors of bf16; sums and softmax stay f32.

// RUN: gantry-opt %s --gantry-set-targets=math=bf16 --gantry-reduce-precision | FileCheck %s

// What is multiplied is rounded in front of moves that are for the product alone, the weights behind softmax.
// CHECK-LABEL: @heads(
// CHECK-SAME: %[[Q:.*]]: tensor<20x3x16xf32>, %[[K:.*]]: tensor<40x48xf32>, %[[V:.*]]: tensor<3x40x16xf32>
// CHECK-DAG: %[[QN:.*]] = gantry.cast %[[Q]] : (tensor<20x3x16xf32>) -> tensor<20x3x16xbf16>
// CHECK-DAG: %[[KN:.*]] = gantry.cast %[[K]] : (tensor<40x48xf32>) -> tensor<40x48xbf16>
// CHECK-DAG: %[[QT:.*]] = gantry.transpose %[[QN]] {{.*}} -> tensor<3x20x16xbf16>
// CHECK-DAG: %[[KR:.*]] = gantry.reshape %[[KN]] {{.*}} -> tensor<40x3x16xbf16>
// CHECK-DAG: %[[KT:.*]] = gantry.transpose %[[KR]] {{.*}} -> tensor<3x16x40xbf16>
// CHECK: %[[S:.*]] = gantry.matmul %[[QT]], %[[KT]] {accumulate_type = f32} : {{.*}} -> tensor<3x20x40xf32>
// CHECK: %[[W:.*]] = gantry.softmax %[[S]] {{.*}} -> tensor<3x20x40xf32>
// CHECK: %[[WN:.*]] = gantry.cast %[[W]] : (tensor<3x20x40xf32>) -> tensor<3x20x40xbf16>
// CHECK: %[[VN:.*]] = gantry.cast %[[V]] : (tensor<3x40x16xf32>) -> tensor<3x40x16xbf16>
// CHECK: %[[C:.*]] = gantry.matmul %[[WN]], %[[VN]] {accumulate_type = f32} : {{.*}} -> tensor<3x20x16xf32>
// CHECK: return %[[C]]
func.func @heads(%q: tensor<20x3x16xf32>, %k: tensor<40x48xf32>, %v: tensor<3x40x16xf32>) -> tensor<3x20x16xf32> {
  %0 = gantry.transpose %q {permutation = array<i64: 1, 0, 2>} : (tensor<20x3x16xf32>) -> tensor<3x20x16xf32>
  %1 = gantry.reshape %k : (tensor<40x48xf32>) -> tensor<40x3x16xf32>
  %2 = gantry.transpose %1 {permutation = array<i64: 1, 2, 0>} : (tensor<40x3x16xf32>) -> tensor<3x16x40xf32>
  %3 = gantry.matmul %0, %2 : (tensor<3x20x16xf32>, tensor<3x16x40xf32>) -> tensor<3x20x40xf32>
  %4 = gantry.softmax %3 {axis = 2 : i64} : (tensor<3x20x40xf32>) -> tensor<3x20x40xf32>
  %5 = gantry.matmul %4, %v : (tensor<3x20x40xf32>, tensor<3x40x16xf32>) -> tensor<3x20x16xf32>
  return %5 : tensor<3x20x16xf32>
}

// A move that others read is not made twice; what is rounded for attention and for another product is one value.
// CHECK-LABEL: @shared(
// CHECK: %[[T:.*]] = gantry.transpose {{.*}} -> tensor<20x16xf32>
// CHECK: %[[N:.*]] = gantry.cast %[[T]]
// CHECK: gantry.matmul %[[N]], %{{.*}} {accumulate_type = f32, transpose_b}
// CHECK: gantry.matmul {{.*}}accumulate_type = f32
// CHECK: gantry.matmul %[[N]], %{{.*}} {accumulate_type = f32} : {{.*}} -> tensor<20x4xf32>
func.func @shared(%q: tensor<16x20xf32>, %k: tensor<40x16xf32>, %v: tensor<40x16xf32>, %w: tensor<16x4xf32>) -> (tensor<20x16xf32>, tensor<20x4xf32>) {
  %0 = gantry.transpose %q {permutation = array<i64: 1, 0>} : (tensor<16x20xf32>) -> tensor<20x16xf32>
  %1 = gantry.matmul %0, %k {transpose_b} : (tensor<20x16xf32>, tensor<40x16xf32>) -> tensor<20x40xf32>
  %2 = gantry.softmax %1 {axis = 1 : i64} : (tensor<20x40xf32>) -> tensor<20x40xf32>
  %3 = gantry.matmul %2, %v : (tensor<20x40xf32>, tensor<40x16xf32>) -> tensor<20x16xf32>
  %4 = gantry.matmul %0, %w : (tensor<20x16xf32>, tensor<16x4xf32>) -> tensor<20x4xf32>
  return %3, %4 : tensor<20x16xf32>, tensor<20x4xf32>
}

// Spread over devices it is what it is on one.
// CHECK-LABEL: @spread(
// CHECK: gantry.matmul {{.*}}accumulate_type = f32
// CHECK: gantry.copy
// CHECK: gantry.softmax
// CHECK: %[[W:.*]] = gantry.copy
// CHECK: %[[N:.*]] = gantry.cast %[[W]]
// CHECK: gantry.matmul %[[N]], %{{.*}} {accumulate_type = f32}
func.func @spread(%q: tensor<20x16xf32>, %k: tensor<40x16xf32>, %v: tensor<40x16xf32>) -> tensor<20x16xf32> {
  %0 = gantry.matmul %q, %k {transpose_b} : (tensor<20x16xf32>, tensor<40x16xf32>) -> tensor<20x40xf32>
  %1 = gantry.copy %0 to "/job:localhost/replica:0/task:0/device:CPU:0" : tensor<20x40xf32>
  %2 = gantry.softmax %1 {axis = 1 : i64} : (tensor<20x40xf32>) -> tensor<20x40xf32>
  %3 = gantry.copy %2 to "/job:localhost/replica:0/task:0/device:CPU:0" : tensor<20x40xf32>
  %4 = gantry.matmul %3, %v : (tensor<20x40xf32>, tensor<40x16xf32>) -> tensor<20x16xf32>
  return %4 : tensor<20x16xf32>
}
