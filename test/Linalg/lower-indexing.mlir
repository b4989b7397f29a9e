// No index reads or writes outside: negative ones count from the end, then all are clamped.

// RUN: gantry-opt --gantry-lower-kernels-to-linalg -canonicalize -cse %s | FileCheck %s

// An i64 stays one until it is inside: on GPUs an index may have 32 bits.

// CHECK-LABEL: func.func private @gather(
// CHECK-SAME:    %[[X:.*]]: tensor<9x4xf32>
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 8 : i64
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : i64
// CHECK-DAG:     %[[SIZE:.*]] = arith.constant 9 : i64
// CHECK:       ^bb0(%[[I:.*]]: i64, %{{.*}}: f32):
// CHECK:         %[[NEGATIVE:.*]] = arith.cmpi slt, %[[I]], %[[ZERO]]
// CHECK:         %[[FROM_END:.*]] = arith.addi %[[I]], %[[SIZE]]
// CHECK:         %[[WRAPPED:.*]] = arith.select %[[NEGATIVE]], %[[FROM_END]], %[[I]]
// CHECK:         %[[LOW:.*]] = arith.maxsi %[[WRAPPED]], %[[ZERO]]
// CHECK:         %[[INSIDE:.*]] = arith.minsi %[[LOW]], %[[LAST]]
// CHECK:         %[[AT:.*]] = arith.index_cast %[[INSIDE]] : i64 to index
// CHECK:         tensor.extract %[[X]][%[[AT]], %{{.*}}]
gantry.kernel @gather {
^bb0(%x: tensor<9x4xf32>, %i: tensor<2x3xi64>):
  %0 = gantry.gather %x, %i {axis = 0 : i64} : (tensor<9x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  gantry.yield %0 : tensor<2x3x4xf32>
}

// Updates apply one after the other, to a copy that canonicalisation leaves alone: it is where the
// result goes.
// CHECK-LABEL: func.func private @scatter(
// CHECK:         %[[COPY:.*]] = linalg.generic
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[COPY]])
// CHECK:           arith.minsi
// CHECK:           arith.maxui
// CHECK:           tensor.insert
gantry.kernel @scatter {
^bb0(%x: tensor<8xui8>, %i: tensor<4x1xi64>, %u: tensor<4xui8>):
  %0 = gantry.scatter_nd %x, %i, %u {reduction = #gantry<reduction max>} : (tensor<8xui8>, tensor<4x1xi64>, tensor<4xui8>) -> tensor<8xui8>
  gantry.yield %0 : tensor<8xui8>
}

// Whole enlargements read element i / scale; no coordinate is computed.
// CHECK-LABEL: func.func private @resize_nearest(
// CHECK-NOT:     f64
// CHECK:         arith.divui
// CHECK:         tensor.extract
gantry.kernel @resize_nearest {
^bb0(%x: tensor<1x4xf32>):
  %0 = gantry.resize %x {mode = #gantry<resize_mode nearest>, coordinate_mode = #gantry<coordinate_mode asymmetric>, nearest_mode = #gantry<nearest_mode floor>, scales = array<f64: 1.0, 2.0>, roi = array<f64>, cubic_coefficient = -0.75 : f64, extrapolation = 0.0 : f64} : (tensor<1x4xf32>) -> tensor<1x8xf32>
  gantry.yield %0 : tensor<1x8xf32>
}

// Ten rounds of two products each, from the element's position alone; a few need one half only.
// CHECK-LABEL: func.func private @random(
// CHECK:         linalg.index 0
// CHECK-COUNT-16: arith.mului_extended
gantry.kernel @random {
  %0 = gantry.random_uniform {seed = 7 : i64, low = 0.0 : f64, high = 1.0 : f64} : () -> tensor<16xf32>
  gantry.yield %0 : tensor<16xf32>
}

// Equal elements keep their order: a later one moves up only while it is strictly better.
// CHECK-LABEL: func.func private @top_k(
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK:             scf.while
gantry.kernel @top_k {
^bb0(%x: tensor<8xi32>):
  %0, %1 = gantry.top_k %x {axis = 0 : i64, k = 2 : i64} : (tensor<8xi32>) -> (tensor<2xi32>, tensor<2xi64>)
  gantry.yield %0, %1 : tensor<2xi32>, tensor<2xi64>
}

// A slice is written into a copy; negative indices count from the end, others are clamped.
// CHECK-LABEL: func.func private @set_slice(
// CHECK-SAME:    %{{[^:]*}}: tensor<9x4xf32>, %[[U:[^:]*]]: tensor<9xf32>
// CHECK:         %[[COPY:.*]] = linalg.generic
// CHECK:         arith.maxsi
// CHECK:         arith.minsi
// CHECK:         %[[AT:.*]] = arith.index_cast
// CHECK:         tensor.insert_slice %[[U]] into %[[COPY]][0, %[[AT]]] [9, 1] [1, 1] : tensor<9xf32> into tensor<9x4xf32>
gantry.kernel @set_slice {
^bb0(%x: tensor<9x4xf32>, %u: tensor<9xf32>, %i: tensor<i64>):
  %0 = gantry.set_slice %x, %u, %i {axis = 1 : i64} : (tensor<9x4xf32>, tensor<9xf32>, tensor<i64>) -> tensor<9x4xf32>
  gantry.yield %0 : tensor<9x4xf32>
}

// The first index that is out of range stays, whatever comes after it; each component has its size.
// CHECK-LABEL: func.func private @first_bad_index(
// CHECK-DAG:     %[[NONE:.*]] = arith.constant -1 : i64
// CHECK-DAG:     %[[SIX:.*]] = arith.constant 6 : index
// CHECK:         %[[FOUND:.*]]:2 = scf.for %[[I:.*]] = %{{.*}} to %[[SIX]] step %{{.*}} iter_args(%[[AT:.*]] = %[[NONE]], %{{.*}} = %{{.*}}) -> (i64, i64)
// CHECK:           %[[X:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK:           arith.remui %[[I]]
// CHECK:           arith.cmpi slt, %[[X]]
// CHECK:           arith.cmpi sge, %[[X]]
// CHECK:           arith.cmpi eq, %[[AT]], %[[NONE]]
// CHECK:         tensor.insert %[[FOUND]]#0
// CHECK:         tensor.insert %[[FOUND]]#1
gantry.kernel @first_bad_index {
^bb0(%i: tensor<3x2xi32>):
  %0 = gantry.first_bad_index %i {sizes = array<i64: 4, 5>} : (tensor<3x2xi32>) -> tensor<2xi64>
  gantry.yield %0 : tensor<2xi64>
}
