// Reductions, softmax and normalisations share the outer loops of the ops they are made of.

// RUN: gantry-opt --gantry-lower-kernels-to-linalg %s | FileCheck %s

// CHECK-LABEL: func.func private @sum_half(
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%{{.*}} : tensor<3x4xf16>) outs(%{{.*}} : tensor<4xf32>)
// CHECK:           arith.addf %{{.*}} fastmath<reassoc,nsz> : f32
// CHECK:         tensor.expand_shape %{{.*}} {{\[}}[0, 1]] output_shape [1, 4] : tensor<4xf16> into tensor<1x4xf16>
gantry.kernel @sum_half {
^bb0(%x: tensor<3x4xf16>):
  %0 = gantry.reduce_sum %x {axes = array<i64: 0>, keep_dims} : (tensor<3x4xf16>) -> tensor<1x4xf16>
  gantry.yield %0 : tensor<1x4xf16>
}

// CHECK-LABEL: func.func private @unsigned_maximum(
// CHECK:         arith.constant 0 : i8
// CHECK:         arith.maxui
gantry.kernel @unsigned_maximum {
^bb0(%x: tensor<3x4xui8>):
  %0 = gantry.reduce_max %x {axes = array<i64: 1>} : (tensor<3x4xui8>) -> tensor<3xui8>
  gantry.yield %0 : tensor<3xui8>
}

// Exponentials of differences to the maximum, each computed once.
// CHECK-LABEL: func.func private @softmax(
// CHECK:         arith.maximumf
// CHECK:         %[[EXP:.*]] = linalg.generic
// CHECK:           math.exp
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[EXP]] :
// CHECK:           arith.divf
// CHECK:         linalg.generic {{.*}} ins(%[[EXP]], %{{.*}} :
// CHECK:           arith.mulf
gantry.kernel @softmax {
^bb0(%x: tensor<2x10xf32>):
  %0 = gantry.softmax %x {axis = 1 : i64} : (tensor<2x10xf32>) -> tensor<2x10xf32>
  gantry.yield %0 : tensor<2x10xf32>
}

// CHECK-LABEL: func.func private @argmax(
// CHECK:         %{{.*}}:2 = linalg.generic
// CHECK:           arith.cmpf ugt
// CHECK:           linalg.index 1
gantry.kernel @argmax {
^bb0(%x: tensor<2x3xf32>):
  %0 = gantry.argmax %x {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2xi64>
  gantry.yield %0 : tensor<2xi64>
}

// The variance is summed around the mean.
// CHECK-LABEL: func.func private @layer_norm(
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK:         %[[MEAN:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]
// CHECK:           arith.divf
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%{{.*}}, %[[MEAN]] :
// CHECK:           arith.subf
// CHECK:           arith.mulf
// CHECK:           arith.addf
// CHECK:         math.rsqrt
gantry.kernel @layer_norm {
^bb0(%x: tensor<2x8xf32>, %s: tensor<8xf32>, %b: tensor<8xf32>):
  %0 = gantry.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  gantry.yield %0 : tensor<2x8xf32>
}

// One loop along the axis carries the running sums; the exclusive sum is stored before the addition.
// CHECK-LABEL: func.func private @cumsum(
// CHECK:         scf.for
// CHECK:           tensor.insert_slice
// CHECK:           arith.addf
// CHECK:           scf.yield
gantry.kernel @cumsum {
^bb0(%x: tensor<5x3xf32>):
  %0 = gantry.cumsum %x {axis = 0 : i64, exclusive} : (tensor<5x3xf32>) -> tensor<5x3xf32>
  gantry.yield %0 : tensor<5x3xf32>
}
