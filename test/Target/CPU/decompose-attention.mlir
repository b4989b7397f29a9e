// Attention of more keys than a tile of scores has room for becomes products and a softmax; with few queries, or where a
// tile has room, it stays one op.
// RUN: gantry-opt %s --gantry-decompose-attention | FileCheck %s

// CHECK-LABEL: func.func @long(
// CHECK-SAME: %[[Q:.*]]: tensor<2x32x64xf32>, %[[K:.*]]: tensor<2x8000x64xf32>, %[[V:.*]]: tensor<2x8000x16xf32>, %[[M:.*]]: tensor<8000xf32>
// CHECK: %[[S:.*]] = gantry.matmul %[[Q]], %[[K]] {gantry.name = "a/scores", transpose_b} : {{.*}} -> tensor<2x32x8000xf32>
// CHECK: %[[F:.*]] = gantry.constant dense<1.250000e-01> : tensor<f32>
// CHECK: %[[T:.*]] = gantry.mul %[[S]], %[[F]]
// CHECK: %[[A:.*]] = gantry.add %[[T]], %[[M]]
// CHECK: %[[R:.*]] = gantry.iota {axis = 0 : i64, gantry.name = "a/rows"} : () -> tensor<32x8000xi64>
// CHECK: %[[C:.*]] = gantry.iota {axis = 1 : i64, gantry.name = "a/columns"} : () -> tensor<32x8000xi64>
// CHECK: %[[H:.*]] = gantry.compare gt, %[[C]], %[[R]]
// CHECK: %[[I:.*]] = gantry.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[X:.*]] = gantry.select %[[H]], %[[I]], %[[A]]
// CHECK: %[[W:.*]] = gantry.softmax %[[X]] {axis = 2 : i64
// CHECK: %[[Y:.*]] = gantry.matmul %[[W]], %[[V]] {gantry.name = "a"}
// CHECK: return %[[Y]]
func.func @long(%q: tensor<2x32x64xf32>, %k: tensor<2x8000x64xf32>, %v: tensor<2x8000x16xf32>, %m: tensor<8000xf32>) -> tensor<2x32x16xf32> {
  %y = gantry.attention %q, %k, %v, %m {causal, gantry.name = "a", scale = 0.125 : f64} : (tensor<2x32x64xf32>, tensor<2x8000x64xf32>, tensor<2x8000x16xf32>, tensor<8000xf32>) -> tensor<2x32x16xf32>
  return %y : tensor<2x32x16xf32>
}

// CHECK-LABEL: func.func @halves(
// CHECK-COUNT-2: gantry.cast {{.*}} -> tensor<2x{{.*}}xf32>
// CHECK: gantry.matmul {{.*}} -> tensor<2x32x8000xf32>
// CHECK: gantry.cast {{.*}} -> tensor<2x8000x16xf32>
// CHECK: gantry.matmul
// CHECK: gantry.cast {{.*}} -> tensor<2x32x16xf16>
func.func @halves(%q: tensor<2x32x64xf16>, %k: tensor<2x8000x64xf16>, %v: tensor<2x8000x16xf16>) -> tensor<2x32x16xf16> {
  %y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x32x64xf16>, tensor<2x8000x64xf16>, tensor<2x8000x16xf16>) -> tensor<2x32x16xf16>
  return %y : tensor<2x32x16xf16>
}

// CHECK-LABEL: func.func @short(
// CHECK-COUNT-2: gantry.attention
// CHECK-NOT: gantry.matmul
func.func @short(%q: tensor<2x32x64xf32>, %k: tensor<2x100x64xf32>, %v: tensor<2x100x16xf32>,
                 %q1: tensor<2x1x64xf32>, %k1: tensor<2x8000x64xf32>, %v1: tensor<2x8000x16xf32>) -> (tensor<2x32x16xf32>, tensor<2x1x16xf32>) {
  %y = gantry.attention %q, %k, %v {scale = 0.125 : f64} : (tensor<2x32x64xf32>, tensor<2x100x64xf32>, tensor<2x100x16xf32>) -> tensor<2x32x16xf32>
  %z = gantry.attention %q1, %k1, %v1 {scale = 0.125 : f64} : (tensor<2x1x64xf32>, tensor<2x8000x64xf32>, tensor<2x8000x16xf32>) -> tensor<2x1x16xf32>
  return %y, %z : tensor<2x32x16xf32>, tensor<2x1x16xf32>
}
